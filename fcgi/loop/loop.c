/*
 * loop.c - the loop itself, turns, jobs and signals, on libuv.
 *
 * A handle's memory outlives its *_free(): libuv gives it back only in the
 * close callback. A freed handle's callback is cleared, so that it never runs.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/list.h"
#include "loop/loop_int.h"

#define JOBS_MS 1000

struct loop *loop_new(void)
{
	struct loop *l = xcalloc(1, sizeof(*l));
	int r = uv_loop_init(&l->uv);

	assert(r == 0);
	(void)r;
	list_init(&l->turns);
	turns_init(l);
	return l;
}

void loop_run(struct loop *l)
{
	uv_run(&l->uv, UV_RUN_DEFAULT);
	turns_run(l); /* the last turn's: libuv leaves before it prepares another */
}

void loop_stop(struct loop *l)
{
	uv_stop(&l->uv);
}

void loop_once(struct loop *l, bool block)
{
	uv_run(&l->uv, block ? UV_RUN_ONCE : UV_RUN_NOWAIT);
}

void *loop_foreign(struct loop *l)
{
	return &l->uv;
}

uint64_t loop_now(const struct loop *l)
{
	return uv_now(&l->uv);
}

static void on_patience(void *arg)
{
	bool *out = arg;

	*out = true;
}

/* The pool's threads write to the loop when a job ends: wait for that. */
static void jobs_wait(struct loop *l)
{
	bool out = false;
	struct timer *t = timer_new(l, on_patience, &out);

	timer_set(t, JOBS_MS);
	while (l->jobs > 0 && !out)
		uv_run(&l->uv, UV_RUN_ONCE);
	timer_free(t);
}

void loop_free(struct loop *l)
{
	jobs_wait(l);
	turns_close(l);
	/* The close callbacks. What a foreign library left behind may not hold us up. */
	for (int i = 0; i < 1000 && uv_run(&l->uv, UV_RUN_NOWAIT) != 0; i++)
		continue;
	/* A job on a dead disk will still write to it: better lost than lent. */
	if (l->jobs > 0)
		return;
	uv_loop_close(&l->uv);
	free(l);
}

void loop_closed(uv_handle_t *h)
{
	free(h->data);
}

/* ---- jobs ----------------------------------------------------------------------- */

struct job {
	uv_work_t req;
	struct loop *loop;
	loop_fn *work;
	loop_fn *done;
	void *arg;
};

static void job_work(uv_work_t *req)
{
	struct job *j = req->data;

	j->work(j->arg);
}

static void job_done(uv_work_t *req, int status)
{
	struct job *j = req->data;
	loop_fn *done = j->done;
	void *arg = j->arg;

	(void)status;
	j->loop->jobs--;
	free(j);
	done(arg);
}

void loop_job(struct loop *l, loop_fn *work, loop_fn *done, void *arg)
{
	struct job *j = xcalloc(1, sizeof(*j));

	j->req.data = j;
	j->loop = l;
	l->jobs++;
	j->work = work;
	j->done = done;
	j->arg = arg;
	uv_queue_work(&l->uv, &j->req, job_work, job_done);
}

/* ---- signals ---------------------------------------------------------------------- */

struct sig {
	uv_signal_t uv;
	loop_fn *fn;
	void *arg;
};

static void sig_fire(uv_signal_t *uv, int signum)
{
	struct sig *s = uv->data;

	(void)signum;
	if (s->fn)
		s->fn(s->arg);
}

struct sig *sig_new(struct loop *l, int signum, loop_fn *fn, void *arg)
{
	struct sig *s = xcalloc(1, sizeof(*s));

	s->fn = fn;
	s->arg = arg;
	uv_signal_init(&l->uv, &s->uv);
	s->uv.data = s;
	uv_signal_start(&s->uv, sig_fire, signum);
	return s;
}

void sig_free(struct sig *s)
{
	if (!s)
		return;
	s->fn = NULL;
	uv_close((uv_handle_t *)&s->uv, loop_closed);
}
