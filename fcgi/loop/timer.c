/*
 * timer.c - one-shot timers.
 */
#include "base/alloc.h"
#include "loop/loop_int.h"

struct timer {
	uv_timer_t uv;
	loop_fn *fn;
	void *arg;
};

static void timer_fire(uv_timer_t *uv)
{
	struct timer *t = uv->data;

	if (t->fn)
		t->fn(t->arg);
}

struct timer *timer_new(struct loop *l, loop_fn *fn, void *arg)
{
	struct timer *t = xcalloc(1, sizeof(*t));

	t->fn = fn;
	t->arg = arg;
	uv_timer_init(&l->uv, &t->uv);
	t->uv.data = t;
	return t;
}

void timer_set(struct timer *t, uint64_t ms)
{
	assert(t->fn);
	uv_timer_start(&t->uv, timer_fire, ms, 0);
}

void timer_clear(struct timer *t)
{
	uv_timer_stop(&t->uv);
}

bool timer_pending(const struct timer *t)
{
	return uv_is_active((const uv_handle_t *)&t->uv);
}

void timer_free(struct timer *t)
{
	if (!t)
		return;
	t->fn = NULL;
	uv_timer_stop(&t->uv);
	uv_close((uv_handle_t *)&t->uv, loop_closed);
}
