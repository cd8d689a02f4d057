/*
 * bridge.c - the life of a connection to a kernel.
 *
 *   REST -start-> STARTING -201-> OPENING -101-> PROBING -answer-> READY
 *   READY -socket lost-> CHECKING -200-> OPENING …      (same process)
 *   READY -restart-> RESTARTING -200-> PROBING …        (another process)
 *   any   -dead, 404, time-out-> REST
 *
 * A WebSocket that opened proves nothing: Jupyter's own subscription to the
 * kernel's output comes later. The probe is a kernel_info_request on control
 * (on shell too for kernels that are mute there) whose *iopub* status must
 * return.
 */
#include "kernel/bridge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/ids.h"
#include "base/log.h"
#include "json/scan.h"
#include "kernel/sessions.h"

#define BRIDGE_MAGIC 0x62726467u
#define FRAME_MAX ((size_t)160 << 20)
#define PROBE_ID_LEN 40
#define PROBE_MS 100
#define PROBE_SHELL_EVERY 10 /* every tenth probe goes to shell as well */
#define RETRY_MS 200
#define PROBE_SLOW_MS 1000 /* of a kernel that is busy and mute on control */
#define PROBES_A_CHECK 30  /* is it still there at all? */
#define VERIFY_MS 3000
#define POLL_MS 1000 /* is a kernel that does not open still there? */

enum bridge_state { REST, STARTING, OPENING, PROBING, READY, CHECKING, RESTARTING };

struct bridge {
	unsigned magic;
	struct server *server;
	const struct bridge_ops *ops;
	void *arg;
	char *name;
	char session[33]; /* of the WebSocket and of our headers */
	char *session_id; /* Jupyter's session and kernel */
	char *kernel_id;
	enum bridge_state state;
	bool fresh; /* the process was not set up yet */
	bool v1;
	struct ws *ws;
	struct httpc_call *call; /* the one REST call our state waits for */
	struct httpc_call *interrupt;
	struct session_making *making; /* with STARTING */
	struct timer *timer;
	uint64_t deadline; /* loop time: give up; 0 = never */
	unsigned probes;
	unsigned starts;
	uint64_t unheard_ms; /* loop time since when the server answers nothing; 0: it does */
};

static void state_open(struct bridge *b);
static void state_check(struct bridge *b);
static void on_timer(void *arg);

static uint64_t now_ms(const struct bridge *b)
{
	return loop_now(server_loop(b->server));
}

static uint64_t seconds_from_now(const struct bridge *b, unsigned s)
{
	return now_ms(b) + (uint64_t)s * 1000;
}

static bool expired(const struct bridge *b)
{
	return b->deadline != 0 && now_ms(b) >= b->deadline;
}

struct bridge *bridge_new(struct server *s, const char *name, const struct bridge_ops *ops,
			  void *arg)
{
	struct bridge *b = xcalloc(1, sizeof(*b));

	b->magic = BRIDGE_MAGIC;
	b->server = s;
	b->ops = ops;
	b->arg = arg;
	b->name = xstrdup(name);
	b->timer = timer_new(server_loop(s), on_timer, b);
	ids_hex(b->session, 16);
	return b;
}

/* ---- the end of a kernel --------------------------------------------------- */

/* Drop everything that belongs to a kernel; the kernel itself stays. */
static void let_go(struct bridge *b)
{
	ws_close(b->ws);
	b->ws = NULL;
	httpc_cancel(b->call);
	b->call = NULL;
	httpc_cancel(b->interrupt);
	b->interrupt = NULL;
	timer_clear(b->timer);
	session_abandon(b->making);
	b->making = NULL;
	b->unheard_ms = 0;
	b->state = REST;
}

static void forget_kernel(struct bridge *b)
{
	free(b->session_id);
	free(b->kernel_id);
	b->session_id = b->kernel_id = NULL;
}

void bridge_shutdown(struct bridge *b, session_ended_fn *done, void *arg)
{
	let_go(b);
	session_end(b->server, b->session_id, done, arg);
	forget_kernel(b);
}

void bridge_free(struct bridge *b)
{
	if (!b)
		return;
	bridge_shutdown(b, NULL, NULL);
	timer_free(b->timer);
	free(b->name);
	b->magic = 0;
	free(b);
}

/* To rest, ending what may be left of the kernel, and tell. */
static void fail(struct bridge *b, enum bridge_fault fault, const char *why)
{
	char *text = xstrdup(why); /* may be the answer's, which goes with the call */

	log_warn("%s: %s", b->name, text);
	bridge_shutdown(b, NULL, NULL);
	b->ops->failed(b->arg, fault, text);
	free(text);
}

static void died(struct bridge *b, const char *why)
{
	log_info("%s: %s", b->name, why);
	bridge_shutdown(b, NULL, NULL);
	b->ops->died(b->arg, false, why);
}

/* ---- messages -------------------------------------------------------------- */

int bridge_send(struct bridge *b, enum jupyter_channel channel, const char *msg_type,
		const char *msg_id, struct span parent_header, struct span content)
{
	struct jupyter_out m = { .channel = channel,
				 .msg_type = msg_type,
				 .msg_id = msg_id,
				 .session = b->session,
				 .parent_header = parent_header,
				 .content = content };
	struct buf frame = BUF_INIT(FRAME_MAX);
	int r;

	if (!b->ws || (b->state != READY && b->state != PROBING))
		return -ENOTCONN;
	r = b->v1 ? jupyter_v1_write(&frame, &m) : jupyter_legacy_write(&frame, &m);
	if (r == 0)
		r = ws_send(b->ws, buf_span(&frame), b->v1);
	buf_free(&frame);
	return r;
}

static void probe_id(const struct bridge *b, char *out, size_t size)
{
	snprintf(out, size, "%.16s-p%u", b->session, b->probes);
}

static bool is_probe(const struct bridge *b, struct span parent_id)
{
	return parent_id.len > 18 && memcmp(parent_id.ptr, b->session, 16) == 0 &&
	       memcmp(parent_id.ptr + 16, "-p", 2) == 0;
}

static void probe(struct bridge *b)
{
	char id[PROBE_ID_LEN];

	b->probes++;
	probe_id(b, id, sizeof(id));
	bridge_send(b, JUPYTER_CONTROL, "kernel_info_request", id, SPAN_NONE, SPAN_LIT("{}"));
	if (b->probes % PROBE_SHELL_EVERY == 0)
		bridge_send(b, JUPYTER_SHELL, "kernel_info_request", id, SPAN_NONE, SPAN_LIT("{}"));
	if (b->probes % PROBES_A_CHECK == 0)
		bridge_verify(b);
	timer_set(b->timer, b->fresh || b->probes < PROBES_A_CHECK ? PROBE_MS : PROBE_SLOW_MS);
}

static void state_probe(struct bridge *b)
{
	b->state = PROBING;
	b->probes = 0;
	probe(b);
}

static void probe_answered(struct bridge *b)
{
	bool fresh = b->fresh;

	if (b->state != PROBING)
		return;
	b->state = READY;
	b->fresh = false;
	b->deadline = 0;
	timer_clear(b->timer);
	b->ops->ready(b->arg, fresh);
}

/* Jupyter says that the process died, of itself. While we restart it that is
 * no news. */
static bool on_death(struct bridge *b, const struct jupyter_msg *m)
{
	struct span state;

	if (m->type != MSG_STATUS || b->state == RESTARTING)
		return false;
	state = json_get(m->content, "execution_state");
	if (json_string_is(state, "dead")) {
		died(b, "the kernel died and could not be started again");
		return true;
	}
	if (!json_string_is(state, "restarting") && !json_string_is(state, "autorestarting"))
		return false;
	log_info("%s: the kernel died, Jupyter restarts it", b->name);
	b->fresh = true;
	b->deadline = seconds_from_now(b, server_config(b->server)->kernel_start_s);
	state_probe(b);
	b->ops->died(b->arg, true, "the kernel died");
	return true;
}

static void on_message(void *arg, struct span frame, bool binary)
{
	struct bridge *b = arg;
	struct jupyter_msg m;
	int r;

	CHECK_OBJ(b, BRIDGE_MAGIC);
	b->unheard_ms = 0;
	r = b->v1 ? jupyter_v1_parse(frame, &m) : jupyter_legacy_parse(frame, binary, &m);
	if (r != 0) {
		log_warn("%s: a frame of %zu bytes that is no Jupyter message", b->name, frame.len);
		return;
	}
	if (is_probe(b, m.parent_id)) {
		if (m.type == MSG_STATUS && m.channel == JUPYTER_IOPUB)
			probe_answered(b);
		return;
	}
	if (!on_death(b, &m))
		b->ops->message(b->arg, &m);
}

static void on_oversize(void *arg, struct span head, size_t size)
{
	struct bridge *b = arg;
	struct jupyter_msg m = { .parent_id = SPAN_LIT("") };

	CHECK_OBJ(b, BRIDGE_MAGIC);
	log_warn("%s: a message of %zu bytes was dropped", b->name, size);
	if (b->v1 && jupyter_v1_peek(head, &m) != 0)
		m.parent_id = SPAN_LIT("");
	b->ops->oversize(b->arg, m.parent_id, size);
}

/* A process that was set up is busy and answers no probe, beyond the time that
 * a lost server has: its socket is open, so it is waited for. */
static bool patient(const struct bridge *b)
{
	return b->state == PROBING && !b->fresh && expired(b);
}

/* ---- the socket ------------------------------------------------------------- */

static void on_opened(void *arg, bool v1)
{
	struct bridge *b = arg;

	CHECK_OBJ(b, BRIDGE_MAGIC);
	b->v1 = v1;
	httpc_cancel(b->call);
	b->call = NULL;
	if (b->state == OPENING)
		state_probe(b);
}

static void on_closed(void *arg, const char *why)
{
	struct bridge *b = arg;

	CHECK_OBJ(b, BRIDGE_MAGIC);
	log_debug("%s: channels closed: %s", b->name, why);
	if (ws_cut(b->ws))
		b->ops->missed(b->arg);
	ws_close(b->ws);
	b->ws = NULL;
	if (b->state == RESTARTING)
		return; /* opened again when the restart was answered */
	httpc_cancel(b->call);
	b->call = NULL;
	if (b->state == READY || patient(b)) {
		b->deadline = seconds_from_now(b, server_config(b->server)->reconnect_s);
		state_check(b); /* at once: most often it is one lost socket */
		return;
	}
	b->state = CHECKING;
	timer_set(b->timer, RETRY_MS);
}

static const struct ws_ops ws_ops = {
	.opened = on_opened,
	.message = on_message,
	.oversize = on_oversize,
	.closed = on_closed,
};

static void state_open(struct bridge *b)
{
	b->state = OPENING;
	b->ws = server_channels(b->server, b->kernel_id, b->session, &ws_ops, b);
	timer_set(b->timer, POLL_MS);
}

/* ---- is it there? ------------------------------------------------------------ */

/* A server that takes what we send and answers nothing is as good as away. */
static void check_heard(struct bridge *b, int err)
{
	if (err == 0)
		b->unheard_ms = 0;
	else if (b->unheard_ms == 0)
		b->unheard_ms = now_ms(b);
	else if (now_ms(b) - b->unheard_ms >= 1000ull * server_config(b->server)->reconnect_s)
		fail(b, BRIDGE_UNREACHABLE, "the Jupyter server does not answer");
}

static void on_checked(void *arg, const struct httpc_response *res)
{
	struct bridge *b = arg;

	CHECK_OBJ(b, BRIDGE_MAGIC);
	b->call = NULL;
	if (res->err == 0 && res->status == 404) {
		if (b->fresh)
			fail(b, BRIDGE_NO_ANSWER, "the kernel died at its start");
		else
			died(b, "the kernel is gone: the Jupyter server no longer knows it");
		return;
	}
	if (b->state != CHECKING) {
		check_heard(b, res->err); /* only asked whether it is still there */
		return;
	}
	if (res->err == 0 && res->status == 200)
		state_open(b);
	else
		timer_set(b->timer, RETRY_MS);
}

static void check_send(struct bridge *b)
{
	char *path = xasprintf("/api/kernels/%s", b->kernel_id);

	assert(!b->call);
	b->call = server_call(b->server, "GET", path, SPAN_NONE, on_checked, b);
	free(path);
}

void bridge_verify(struct bridge *b)
{
	char *path;

	if ((b->state != READY && b->state != PROBING) || b->call)
		return;
	path = xasprintf("/api/kernels/%s", b->kernel_id);
	b->call = server_call_within(b->server, VERIFY_MS, "GET", path, SPAN_NONE, on_checked, b);
	free(path);
}

static void state_check(struct bridge *b)
{
	b->state = CHECKING;
	timer_clear(b->timer);
	check_send(b);
}

static void on_expired(struct bridge *b)
{
	if (b->fresh)
		fail(b, BRIDGE_NO_ANSWER, "the kernel did not answer in time");
	else
		fail(b, BRIDGE_UNREACHABLE, "the Jupyter server stayed away");
}

static void on_timer(void *arg)
{
	struct bridge *b = arg;

	CHECK_OBJ(b, BRIDGE_MAGIC);
	if (expired(b) && !patient(b)) {
		on_expired(b);
		return;
	}
	switch (b->state) {
	case PROBING:
		probe(b);
		break;
	case OPENING:
		if (!b->call)
			check_send(b);
		timer_set(b->timer, POLL_MS);
		break;
	case CHECKING:
		state_check(b);
		break;
	default:
		break;
	}
}

/* ---- start and restart -------------------------------------------------------- */

static void on_made(void *arg, const struct session_made *made)
{
	struct bridge *b = arg;

	CHECK_OBJ(b, BRIDGE_MAGIC);
	b->making = NULL;
	if (made->err != 0) {
		fail(b, BRIDGE_UNREACHABLE, made->why);
	} else if (made->status != 201) {
		fail(b, BRIDGE_REFUSED, made->why);
	} else {
		b->session_id = xstrndup(made->session_id.ptr, made->session_id.len);
		b->kernel_id = xstrndup(made->kernel_id.ptr, made->kernel_id.len);
		state_open(b);
	}
}

void bridge_start(struct bridge *b, const char *kernelspec, struct span dir)
{
	char *name;

	assert(b->state == REST && !b->session_id);
	b->state = STARTING;
	b->fresh = true;
	b->deadline = seconds_from_now(b, server_config(b->server)->kernel_start_s);
	/* Never the same path twice: the session that has it may be on its way out. */
	name = xasprintf("%s.%u", b->name, b->starts++);
	b->making = session_make(b->server, kernelspec, dir, name, on_made, b);
	free(name);
}

static void on_restarted(void *arg, const struct httpc_response *res)
{
	struct bridge *b = arg;

	CHECK_OBJ(b, BRIDGE_MAGIC);
	b->call = NULL;
	if (res->err != 0)
		fail(b, BRIDGE_UNREACHABLE, res->why);
	else if (res->status != 200)
		fail(b, BRIDGE_REFUSED, "Jupyter could not restart the kernel");
	else if (b->ws)
		state_probe(b);
	else
		state_open(b);
}

void bridge_restart(struct bridge *b)
{
	char *path;

	assert(b->kernel_id);
	httpc_cancel(b->call);
	timer_clear(b->timer);
	/* A handshake under way would end in the former state. */
	if (b->state == OPENING) {
		ws_close(b->ws);
		b->ws = NULL;
	}
	b->state = RESTARTING;
	b->fresh = true;
	b->deadline = seconds_from_now(b, server_config(b->server)->kernel_start_s);
	path = xasprintf("/api/kernels/%s/restart", b->kernel_id);
	b->call = server_call(b->server, "POST", path, SPAN_LIT("{}"), on_restarted, b);
	free(path);
}

static void on_interrupted(void *arg, const struct httpc_response *res)
{
	struct bridge *b = arg;

	CHECK_OBJ(b, BRIDGE_MAGIC);
	b->interrupt = NULL;
	if (res->err != 0 || res->status != 204)
		log_warn("%s: interrupt: status %d %s", b->name, res->status, res->why);
	b->ops->interrupted(b->arg);
}

bool bridge_interrupt(struct bridge *b)
{
	char *path;

	if (!b->kernel_id || b->interrupt)
		return false;
	path = xasprintf("/api/kernels/%s/interrupt", b->kernel_id);
	b->interrupt = server_call(b->server, "POST", path, SPAN_LIT("{}"), on_interrupted, b);
	free(path);
	return true;
}

bool bridge_interrupting(const struct bridge *b)
{
	return b->interrupt != NULL;
}

bool bridge_resting(const struct bridge *b)
{
	return b->state == REST;
}

bool bridge_has_kernel(const struct bridge *b)
{
	return b->kernel_id != NULL;
}

bool bridge_is_ready(const struct bridge *b)
{
	return b->state == READY;
}

const char *bridge_session(const struct bridge *b)
{
	return b->session;
}
