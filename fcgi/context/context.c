/*
 * context.c - the life of one context: from cold to a kernel that is set up,
 * and back.
 *
 *   COLD -> CHOOSING (kernelspec, directory) -> STARTING (bridge) -> SETUP
 *        (init snippet) -> UP
 *
 * A context that has work or somebody waiting for it is driven forward by
 * context_step(); every accident brings it back to an earlier phase and tells
 * those who wait. What a run is, is run.c's business.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "context/context_int.h"
#include "json/scan.h"

#define TICK_MS 500
#define INIT_CODE_MAX ((size_t)8 << 20)

static const struct bridge_ops bridge_ops;
static void on_timer(void *arg);
static void on_step(void *arg);

const char *context_id(const struct context *c)
{
	return c->id;
}

const char *context_language(const struct context *c)
{
	return c->language;
}

const char *context_cwd(const struct context *c)
{
	return c->cwd;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

struct context *context_new(struct sandbox *sb, struct span language, struct span cwd)
{
	struct context *c = xcalloc(1, sizeof(*c));
	char *name;

	assert(!memchr(language.ptr, '\0', language.len)); /* it is a key by its C string */
	c->magic = CONTEXT_MAGIC;
	c->sandbox = sb;
	ids_uuid(c->id);
	c->language = xstrndup(language.ptr, language.len);
	c->lang = lang_find(language);
	c->cwd = span_absent(cwd) ? xstrdup(sb->all->default_cwd) : xstrndup(cwd.ptr, cwd.len);
	list_init(&c->waiters);
	list_init(&c->queue);
	c->timer = timer_new(sb->all->loop, on_timer, c);
	c->step = timer_new(sb->all->loop, on_step, c);
	c->wish_timer = timer_new(sb->all->loop, run_wish_timer, c);
	name = xasprintf("nb2-%u-%s", ids_slot(span_str(sb->name)), c->id);
	c->bridge = bridge_new(sb->all->server, name, &bridge_ops, c);
	free(name);
	map_put(sb->contexts, span_str(c->id), c);
	return c;
}

/* The look at the directory, on the pool; it outlives its context. */
struct dir_check {
	struct context *c; /* NULL: gone */
	char *path;
	bool ok;
};

static void unregister(struct context *c)
{
	struct sandbox *sb = c->sandbox;

	map_del(sb->contexts, span_str(c->id));
	if (map_get(sb->defaults, span_str(c->language)) == c)
		map_del(sb->defaults, span_str(c->language));
}

void context_free(struct context *c, const char *name, const char *why, session_ended_fn *done,
		  void *arg)
{
	context_lose_current(c, name, why);
	runs_fail(c, name, why);
	waiters_answer(&c->waiters, 500, why, NULL);
	unregister(c);
	spec_cancel(c->spec);
	if (c->dir)
		c->dir->c = NULL;
	bridge_shutdown(c->bridge, done, arg);
	bridge_free(c->bridge);
	timer_free(c->timer);
	timer_free(c->step);
	timer_free(c->wish_timer);
	outlog_free(c->late);
	free(c->language);
	free(c->cwd);
	free(c->kernelspec);
	c->magic = 0;
	free(c);
}

/* ---- accidents ------------------------------------------------------------------- */

void context_lose_current(struct context *c, const char *name, const char *why)
{
	struct run *r = c->current;

	if (!r)
		return;
	run_lose(r, name, why);
	assert(!c->current);
}

/* A creation failed: nothing may be left of it. */
static bool fresh_creation(const struct context *c)
{
	return !c->permanent && !c->up_once;
}

/* It cannot be had now: tell everybody who waits. The context may be gone
 * when this returns. */
static void give_up(struct context *c, int status, const char *text)
{
	struct list waiters;

	c->phase = CONTEXT_COLD;
	timer_clear(c->timer);
	list_init(&waiters);
	while (!list_empty(&c->waiters)) {
		struct list *l = c->waiters.next;

		list_del(l);
		list_push(&waiters, l);
	}
	runs_refuse(c, status, text);
	if (fresh_creation(c))
		context_free(c, "ContextDeleted", text, NULL, NULL);
	waiters_answer(&waiters, status, text, NULL);
}

/* ---- choosing ---------------------------------------------------------------------- */

static void start_bridge(struct context *c)
{
	struct span dir = server_relative(c->sandbox->all->server, span_str(c->cwd));

	c->phase = CONTEXT_STARTING;
	bridge_start(c->bridge, c->kernelspec, dir);
}

static void dir_work(void *arg)
{
	struct dir_check *d = arg;

	d->ok = is_directory(d->path);
}

static void dir_done(void *arg)
{
	struct dir_check *d = arg;
	struct context *c = d->c;
	char *text;

	if (c) {
		c->dir = NULL;
		if (d->ok) {
			start_bridge(c);
		} else {
			text = xasprintf(
				"Failed to set working directory: there is no directory %s",
				d->path);
			give_up(c, 400, text);
			free(text);
		}
	}
	free(d->path);
	free(d);
}

static void check_dir(struct context *c)
{
	struct dir_check *d = xcalloc(1, sizeof(*d));

	d->c = c;
	d->path = xstrdup(c->cwd);
	c->dir = d;
	loop_job(c->sandbox->all->loop, dir_work, dir_done, d);
}

static void refuse_language(struct context *c, const char *have)
{
	struct buf text = BUF_INIT(32768);

	/* The reference's words and shape, and what there is instead. */
	buf_printf(&text,
		   "Failed to create context: {\"message\": \"The '%s' kernel is not available. "
		   "Please pick another suitable kernel instead, or install that kernel. ",
		   c->language);
	if (c->lang)
		buf_printf(&text, "For %s install %s. ", c->language, c->lang->kernel);
	buf_printf(&text, "Installed: %s.\", \"short_message\": \"%s not found\"}", have,
		   c->language);
	give_up(c, 500, buf_error(&text) ? "Failed to create context" : text.data);
	buf_free(&text);
}

static void refuse_unreachable(struct context *c)
{
	/* On /execute a 5xx from here would read as a dead sandbox: its head is
	 * sent and a record says it. */
	runs_accept(c);
	runs_fail(c, "WebSocketError",
		  "Failed to send execution request: the Jupyter server "
		  "cannot be reached");
	give_up(c, 500, "Failed to create context: the Jupyter server cannot be reached");
}

static void spec_answered(void *arg, const struct spec_answer *a)
{
	struct context *c = arg;

	CHECK_OBJ(c, CONTEXT_MAGIC);
	c->spec = NULL;
	if (a->err != 0) {
		refuse_unreachable(c);
	} else if (!a->name) {
		refuse_language(c, a->have);
	} else {
		free(c->kernelspec);
		c->kernelspec = xstrdup(a->name);
		/* With a server elsewhere only the kernel can tell: the init
		 * snippet changes directory anyway. */
		if (strncmp(server_config(c->sandbox->all->server)->url, "unix:", 5) == 0)
			check_dir(c);
		else
			start_bridge(c);
	}
}

/* ---- set-up -------------------------------------------------------------------------- */

static void set_up(struct context *c)
{
	c->phase = CONTEXT_UP;
	c->up_once = true;
	timer_clear(c->timer);
	runs_accept(c);
	waiters_answer(&c->waiters, 200, NULL, c);
	context_step(c);
}

static int init_send(struct context *c)
{
	struct buf code = BUF_INIT(INIT_CODE_MAX);
	struct buf content = BUF_INIT(2 * INIT_CODE_MAX);
	int r;

	c->init = (struct exchange){ 0 };
	snprintf(c->init.msg_id, MSG_ID_MAX, "%.32s-i%u", bridge_session(c->bridge), c->inits++);
	r = c->lang->init(&code, c->id, span_str(c->cwd), c->sandbox->all->config.global);
	if (r == 0)
		r = jupyter_execute_content(&content,
					    &(struct jupyter_execute){ .code = buf_span(&code),
								       .silent = true });
	if (r == 0)
		r = bridge_send(c->bridge, JUPYTER_SHELL, "execute_request", c->init.msg_id,
				SPAN_NONE, buf_span(&content));
	buf_free(&code);
	buf_free(&content);
	return r;
}

/* The kernel answers and nobody uses it: set it up, or find that it is. */
static void begin_setup(struct context *c)
{
	int r;

	if (!c->lang || !c->lang->init) {
		set_up(c);
		return;
	}
	c->phase = CONTEXT_SETUP;
	timer_set(c->timer, 1000ull * server_config(c->sandbox->all->server)->kernel_start_s);
	r = init_send(c);
	if (r == -ENOTCONN) {
		c->phase = CONTEXT_STARTING; /* ready() comes again */
	} else if (r != 0) {
		log_error("%s: set-up could not be sent: %s", c->id, strerror(-r));
		give_up(c, 500, "Failed to set up the kernel");
	}
}

static void init_failed(struct context *c, struct span content)
{
	struct buf value = BUF_INIT(4096);
	bool directory;
	char *text;

	json_string_decode(json_get(content, "evalue"), JSON_LONE_REPLACE, &value);
	directory = json_string_is(json_get(content, "ename"), "FileNotFoundError") ||
		    json_string_is(json_get(content, "ename"), "NotADirectoryError") ||
		    json_string_is(json_get(content, "ename"), "PermissionError");
	text = xasprintf("Failed to set working directory: %s", value.data ? value.data : c->cwd);
	buf_free(&value);
	/* The kernel is as it was, so another try may go well: but a creation
	 * that failed leaves nothing. */
	give_up(c, directory ? 400 : 500, text);
	free(text);
}

static void init_message(struct context *c, const struct jupyter_msg *m)
{
	if (m->type != MSG_EXECUTE_REPLY || c->phase != CONTEXT_SETUP)
		return;
	if (json_string_is(json_get(m->content, "status"), "ok"))
		set_up(c);
	else
		init_failed(c, m->content);
}

static void on_timer(void *arg)
{
	struct context *c = arg;

	CHECK_OBJ(c, CONTEXT_MAGIC);
	if (c->phase == CONTEXT_SETUP) {
		bridge_shutdown(c->bridge, NULL, NULL);
		give_up(c, 500, "Failed to set up the kernel: it did not answer in time");
		return;
	}
	if (!c->current)
		return;
	timer_set(c->timer, TICK_MS);
	run_tick(c);
}

/* ---- the bridge's news ----------------------------------------------------------------- */

static void on_ready(void *arg, bool fresh)
{
	struct context *c = arg;

	CHECK_OBJ(c, CONTEXT_MAGIC);
	(void)fresh; /* the init snippet finds out by itself, and for certain */
	c->resetup = c->current != NULL || bridge_interrupting(c->bridge);
	if (c->current)
		run_reconnected(c);
	else if (bridge_interrupting(c->bridge))
		c->phase = CONTEXT_STARTING; /* the set-up must not be hit: see on_interrupted() */
	else
		begin_setup(c);
}

static void on_message(void *arg, const struct jupyter_msg *m)
{
	struct context *c = arg;

	CHECK_OBJ(c, CONTEXT_MAGIC);
	if (c->init.msg_id[0] && span_is(m->parent_id, c->init.msg_id))
		init_message(c, m);
	else
		run_message(c, m);
}

static void on_oversize(void *arg, struct span parent_id, size_t size)
{
	struct context *c = arg;

	CHECK_OBJ(c, CONTEXT_MAGIC);
	run_oversize(c, parent_id, size);
}

static void on_died(void *arg, bool again, const char *why)
{
	struct context *c = arg;
	char *text;

	CHECK_OBJ(c, CONTEXT_MAGIC);
	text = xasprintf("%s%s (cause unknown)", again ? "Context was restarted: " : "", why);
	context_lose_current(c, again ? "ContextRestarting" : "KernelDied", text);
	free(text);
	c->phase = again ? CONTEXT_STARTING : CONTEXT_COLD;
	context_step(c);
}

static void on_missed(void *arg)
{
	struct context *c = arg;

	CHECK_OBJ(c, CONTEXT_MAGIC);
	run_missed(c);
}

static void on_interrupted(void *arg)
{
	struct context *c = arg;

	CHECK_OBJ(c, CONTEXT_MAGIC);
	if (c->phase == CONTEXT_STARTING && c->resetup && !c->current &&
	    bridge_is_ready(c->bridge)) {
		c->resetup = false;
		begin_setup(c);
		return;
	}
	context_step(c); /* the next run waited, so that it is not hit */
}

static void on_failed(void *arg, enum bridge_fault fault, const char *why)
{
	struct context *c = arg;
	char *text;

	CHECK_OBJ(c, CONTEXT_MAGIC);
	context_lose_current(c, "UnexpectedEndOfExecution", why);
	if (fault == BRIDGE_UNREACHABLE) {
		refuse_unreachable(c);
		return;
	}
	text = xasprintf("Failed to create context: %s", why);
	give_up(c, 500, text);
	free(text);
}

static const struct bridge_ops bridge_ops = {
	.ready = on_ready,
	.message = on_message,
	.oversize = on_oversize,
	.missed = on_missed,
	.died = on_died,
	.interrupted = on_interrupted,
	.failed = on_failed,
};

/* ---- what others ask for ------------------------------------------------------------------ */

void context_step_soon(struct context *c)
{
	timer_set(c->step, 0);
}

static void on_step(void *arg)
{
	struct context *c = arg;

	CHECK_OBJ(c, CONTEXT_MAGIC);
	context_step(c);
}

static bool wanted(const struct context *c)
{
	return c->queued > 0 || !list_empty(&c->waiters);
}

void context_step(struct context *c)
{
	if (c->phase == CONTEXT_COLD && wanted(c)) {
		/* A kernel whose set-up failed is still there: no second one. */
		if (!bridge_resting(c->bridge)) {
			if (bridge_is_ready(c->bridge))
				begin_setup(c);
			else
				c->phase = CONTEXT_STARTING;
			return;
		}
		c->phase = CONTEXT_CHOOSING;
		c->spec = server_spec(c->sandbox->all->server, c->language, spec_answered, c);
		return;
	}
	if (c->phase != CONTEXT_UP || c->current || bridge_interrupting(c->bridge))
		return;
	if (!bridge_is_ready(c->bridge)) {
		c->phase = CONTEXT_STARTING; /* reconnecting: ready() comes, and the set-up */
		return;
	}
	if (c->resetup) {
		c->resetup = false;
		begin_setup(c);
		return;
	}
	if (c->queued > 0) {
		timer_set(c->timer, TICK_MS);
		run_begin(list_first(&c->queue, struct run, link));
	}
}

struct waiter *context_restart(struct context *c, context_fn *fn, void *arg)
{
	struct waiter *w = waiter_add(&c->waiters, fn, arg);

	context_lose_current(c, "ContextRestarted", "The context was restarted");
	runs_fail(c, "ContextRestarted", "The context was restarted");
	if (c->up_once && bridge_has_kernel(c->bridge)) {
		timer_clear(c->timer);
		c->phase = CONTEXT_STARTING;
		bridge_restart(c->bridge);
	}
	context_step_soon(c);
	return w;
}

/* Who waits for the end of a kernel whose context is gone. */
struct farewell {
	struct list waiters;
};

static void farewell_done(void *arg, bool ended)
{
	struct farewell *f = arg;

	waiters_answer(&f->waiters, ended ? 200 : 500, "Failed to remove context ID", NULL);
	free(f);
}

struct waiter *context_delete(struct context *c, context_fn *fn, void *arg)
{
	struct farewell *f = xcalloc(1, sizeof(*f));
	struct waiter *w;

	list_init(&f->waiters);
	w = waiter_add(&f->waiters, fn, arg);
	context_free(c, "ContextDeleted", "The context was deleted", farewell_done, f);
	return w;
}
