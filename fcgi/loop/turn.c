/*
 * turn.c - what is done once at the end of a turn: in libuv's order that is
 * the prepare step, after all callbacks and before the poll.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "loop/loop_int.h"

struct turn {
	struct list link; /* in the loop's, while it is wanted */
	struct loop *loop;
	loop_fn *fn;
	void *arg;
};

/* Its being active is all: uv_run then polls without waiting. */
static void idle_nothing(uv_idle_t *idle)
{
	(void)idle;
}

/* What is asked for from within waits for the next turn: take the list first. */
void turns_run(struct loop *l)
{
	struct list now;

	if (list_empty(&l->turns))
		return;
	list_init(&now);
	while (!list_empty(&l->turns)) {
		struct list *link = l->turns.next;

		list_del(link);
		list_push(&now, link);
	}
	while (!list_empty(&now)) {
		struct turn *t = list_first(&now, struct turn, link);

		list_del(&t->link);
		t->fn(t->arg);
	}
	if (list_empty(&l->turns))
		uv_idle_stop(&l->idle);
}

static void on_prepare(uv_prepare_t *prepare)
{
	turns_run(prepare->data);
}

void turns_init(struct loop *l)
{
	uv_prepare_init(&l->uv, &l->prepare);
	uv_idle_init(&l->uv, &l->idle);
	l->prepare.data = l;
	uv_prepare_start(&l->prepare, on_prepare);
	uv_unref((uv_handle_t *)&l->prepare);
}

void turns_close(struct loop *l)
{
	uv_close((uv_handle_t *)&l->prepare, NULL);
	uv_close((uv_handle_t *)&l->idle, NULL);
}

struct turn *turn_new(struct loop *l, loop_fn *fn, void *arg)
{
	struct turn *t = xcalloc(1, sizeof(*t));

	list_init(&t->link);
	t->loop = l;
	t->fn = fn;
	t->arg = arg;
	return t;
}

void turn_want(struct turn *t)
{
	if (!list_empty(&t->link))
		return;
	list_push(&t->loop->turns, &t->link);
	uv_idle_start(&t->loop->idle, idle_nothing);
}

void turn_free(struct turn *t)
{
	if (!t)
		return;
	list_del(&t->link);
	free(t);
}
