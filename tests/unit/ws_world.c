/*
 * ws_world.c - set-up and note-taking for test_ws.c.
 */
#include "ws_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

static void nothing(void *arg)
{
	(void)arg;
}

static void maybe_close(struct peer *p, const char *where)
{
	if (p->close_in && strcmp(p->close_in, where) == 0) {
		ws_close(p->ws);
		p->ws = NULL;
	}
}

static void on_opened(void *arg, bool v1)
{
	struct peer *p = arg;

	p->opened++;
	p->v1 = v1;
	maybe_close(p, "opened");
}

static void on_message(void *arg, struct span frame, bool binary)
{
	struct peer *p = arg;

	p->messages++;
	p->binary = binary;
	if (binary) {
		buf_printf(&p->log, "<%zu>", frame.len);
		p->damaged |= !is_pattern(frame);
	} else {
		buf_span_append(&p->log, frame);
	}
	buf_putc(&p->log, '|');
	maybe_close(p, "message");
}

static void on_oversize(void *arg, struct span head, size_t size)
{
	struct peer *p = arg;

	p->messages++;
	p->head = head.len;
	p->damaged |= !is_pattern(head);
	buf_printf(&p->log, "too large %zu|", size);
}

static void on_closed(void *arg, const char *why)
{
	struct peer *p = arg;

	p->closed++;
	p->cut = ws_cut(p->ws);
	snprintf(p->why, sizeof(p->why), "%s", why);
	maybe_close(p, "closed");
}

/* Given back together with what was noted down. */
void peer_close(struct peer *p)
{
	ws_close(p->ws);
	p->ws = NULL;
	buf_free(&p->log);
}

static const struct ws_ops ops = { on_opened, on_message, on_oversize, on_closed };

int world_setup(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->loop = loop_new();
	w->service = ws_service_new(w->loop);
	w->tick = timer_new(w->loop, nothing, NULL);
	w->server = xcalloc(1, sizeof(*w->server));
	snprintf(w->server->path, sizeof(w->server->path), "/tmp/nb2-ws-%d.sock", (int)getpid());
	server_start(w->server, listen_at(w->server->path));
	*state = w;
	return 0;
}

int world_teardown(void **state)
{
	struct world *w = *state;

	if (w->service)
		ws_service_free(w->service);
	server_stop(w->server);
	timer_free(w->tick);
	loop_free(w->loop);
	free(w->server);
	free(w);
	return 0;
}

struct ws_target world_target(const struct world *w, const char *path)
{
	return (struct ws_target){ .unix_path = w->server->path,
				   .host = "localhost",
				   .path = path,
				   .token = "secret",
				   .max_message = 32 * MIB,
				   .timeout_ms = PATIENCE_MS };
}

void peer_open(struct world *w, struct peer *p, const struct ws_target *t)
{
	buf_init(&p->log, 65536);
	p->ws = ws_open(w->service, t, &ops, p);
	assert_non_null(p->ws);
	assert_int_equal(p->opened + p->closed, 0);
}

void peer_open_path(struct world *w, struct peer *p, const char *path)
{
	struct ws_target t = world_target(w, path);

	peer_open(w, p, &t);
}
