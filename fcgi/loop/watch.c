/*
 * watch.c - readiness of file descriptors.
 */
#include "base/alloc.h"
#include "loop/loop_int.h"

struct watch {
	uv_poll_t uv;
	watch_fn *fn;
	void *arg;
	unsigned events;
};

static void watch_fire(uv_poll_t *uv, int status, int ready);

static void watch_arm(struct watch *w)
{
	int want = 0;

	if (w->events & WATCH_READ)
		want |= UV_READABLE;
	if (w->events & WATCH_WRITE)
		want |= UV_WRITABLE;
	if (w->events & WATCH_HUP)
		want |= UV_DISCONNECT;
	if (want)
		uv_poll_start(&w->uv, want, watch_fire);
	else
		uv_poll_stop(&w->uv);
}

static void watch_fire(uv_poll_t *uv, int status, int ready)
{
	struct watch *w = uv->data;
	unsigned events = 0;

	if (!w->fn)
		return;
	if (ready & UV_READABLE)
		events |= WATCH_READ;
	if (ready & UV_WRITABLE)
		events |= WATCH_WRITE;
	if (ready & UV_DISCONNECT)
		events |= WATCH_HUP;
	/* An error shows at the next read or write, whatever was asked for. libuv
	 * has stopped the handle; level-triggered is what we promised. */
	if (status < 0) {
		events |= w->events;
		watch_arm(w);
	}
	if (events & w->events)
		w->fn(w->arg, events & w->events);
}

struct watch *watch_new(struct loop *l, int fd, watch_fn *fn, void *arg)
{
	struct watch *w = xcalloc(1, sizeof(*w));
	int r = uv_poll_init(&l->uv, &w->uv, fd);

	assert(r == 0);
	(void)r;
	w->uv.data = w;
	w->fn = fn;
	w->arg = arg;
	return w;
}

void watch_set(struct watch *w, unsigned events)
{
	if (w->events == events)
		return;
	w->events = events;
	watch_arm(w);
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	w->fn = NULL;
	uv_poll_stop(&w->uv);
	uv_close((uv_handle_t *)&w->uv, loop_closed);
}
