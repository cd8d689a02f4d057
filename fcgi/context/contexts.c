/*
 * contexts.c - who owns what: sandboxes and their contexts.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "context/context_int.h"

struct contexts *contexts_new(struct server *s, const struct contexts_config *c)
{
	struct contexts *cs = xcalloc(1, sizeof(*cs));
	struct stat st;

	cs->server = s;
	cs->loop = server_loop(s);
	cs->config = *c;
	cs->config.workspace = xstrdup(c->workspace);
	cs->sandboxes = map_new();
	cs->default_cwd = stat("/home/user", &st) == 0 && S_ISDIR(st.st_mode) ?
				  "/home/user" :
				  cs->config.workspace;
	return cs;
}

/* ---- waiters ------------------------------------------------------------------- */

struct waiter *waiter_add(struct list *to, context_fn *fn, void *arg)
{
	struct waiter *w = xcalloc(1, sizeof(*w));

	w->fn = fn;
	w->arg = arg;
	list_init(&w->link);
	list_push(to, &w->link);
	return w;
}

void waiter_cancel(struct waiter *w)
{
	if (w)
		w->fn = NULL; /* freed by whom it waits for */
}

void waiters_answer(struct list *waiters, int status, const char *text, struct context *c)
{
	struct context_answer a = { .status = status, .text = text, .c = c };

	while (!list_empty(waiters)) {
		struct waiter *w = list_first(waiters, struct waiter, link);

		list_del(&w->link);
		if (w->fn)
			w->fn(w->arg, &a);
		free(w);
	}
}

/* ---- sandboxes ------------------------------------------------------------------ */

static struct sandbox *sandbox_new(struct contexts *cs, struct span name)
{
	struct sandbox *sb = xcalloc(1, sizeof(*sb));

	sb->all = cs;
	sb->name = xstrndup(name.ptr, name.len);
	sb->contexts = map_new();
	sb->defaults = map_new();
	list_init(&sb->listing);
	sandbox_default(sb, SPAN_LIT("python"))->permanent = true;
	return sb;
}

static void sandbox_free(struct sandbox *sb)
{
	struct context *c;
	size_t place = 0;

	spec_cancel(sb->js);
	waiters_answer(&sb->listing, 500, "the server is shutting down", NULL);
	while ((c = map_next(sb->contexts, &place, NULL)) != NULL)
		context_free(c, "ContextDeleted", "The sandbox was closed", NULL, NULL);
	map_free(sb->contexts);
	map_free(sb->defaults);
	free(sb->name);
	free(sb);
}

/* Was it only ever looked at? */
static bool sandbox_unused(struct sandbox *sb)
{
	struct context *c;
	size_t place = 0;

	if (!list_empty(&sb->listing))
		return false;
	while ((c = map_next(sb->contexts, &place, NULL)) != NULL) {
		if (c->phase != CONTEXT_COLD || c->up_once || c->current || c->queued ||
		    !list_empty(&c->waiters))
			return false;
	}
	return true;
}

/* A place for one more: names that were only asked about make room. */
static bool sandboxes_room(struct contexts *cs)
{
	struct sandbox *sb;
	size_t place = 0;

	if (map_len(cs->sandboxes) < cs->config.max_sandboxes)
		return true;
	while ((sb = map_next(cs->sandboxes, &place, NULL)) != NULL) {
		if (!sandbox_unused(sb))
			continue;
		map_del(cs->sandboxes, span_str(sb->name));
		sandbox_free(sb);
		return true;
	}
	return false;
}

struct sandbox *contexts_sandbox(struct contexts *cs, struct span name)
{
	struct sandbox *sb = map_get(cs->sandboxes, name);

	if (sb || !sandboxes_room(cs))
		return sb;
	sb = sandbox_new(cs, name);
	map_put(cs->sandboxes, name, sb);
	return sb;
}

/* Those who wait for this one are told now; what runs ends with its stream. */
static void context_stop(struct context *c)
{
	runs_accept(c);
	runs_fail(c, "UnexpectedEndOfExecution", "The server is shutting down");
	waiters_answer(&c->waiters, 503, "The server is shutting down", NULL);
}

void contexts_stop(struct contexts *cs)
{
	struct sandbox *sb;
	struct context *c;
	size_t at = 0;

	while ((sb = map_next(cs->sandboxes, &at, NULL)) != NULL) {
		size_t place = 0;

		while ((c = map_next(sb->contexts, &place, NULL)) != NULL)
			context_stop(c);
	}
}

void contexts_free(struct contexts *cs)
{
	struct sandbox *sb;
	size_t place = 0;

	while ((sb = map_next(cs->sandboxes, &place, NULL)) != NULL)
		sandbox_free(sb);
	map_free(cs->sandboxes);
	free((char *)cs->config.workspace);
	free(cs);
}

/* Is the session nb2-<slot>-<id> one of ours now, or none of our business? */
static bool sweep_keep(void *arg, unsigned slot, struct span id)
{
	struct contexts *cs = arg;
	struct sandbox *sb;
	size_t place = 0;

	if (!(cs->swept & 1u << slot))
		return true;
	while ((sb = map_next(cs->sandboxes, &place, NULL)) != NULL) {
		if (map_get(sb->contexts, id))
			return true;
	}
	return false;
}

void contexts_sweep(struct contexts *cs, unsigned slots)
{
	cs->swept = slots;
	sessions_sweep(cs->server, sweep_keep, cs);
}

/* ---- a sandbox's contexts ----------------------------------------------------------- */

struct context *sandbox_context(struct sandbox *sb, struct span id)
{
	return map_get(sb->contexts, id);
}

struct context *sandbox_next(struct sandbox *sb, size_t *place)
{
	return map_next(sb->contexts, place, NULL);
}

struct context *sandbox_default(struct sandbox *sb, struct span language)
{
	struct context *c = map_get(sb->defaults, language);

	if (c || map_len(sb->contexts) >= sb->all->config.max_contexts)
		return c;
	c = context_new(sb, language, SPAN_NONE);
	map_put(sb->defaults, language, c);
	return c;
}

static void js_answered(void *arg, const struct spec_answer *a)
{
	struct sandbox *sb = arg;
	struct context *c;

	sb->js = NULL;
	if (a->err == 0) {
		/* Once: a default that was deleted comes back when it is used. */
		c = a->name && !sb->js_known ? sandbox_default(sb, SPAN_LIT("javascript")) : NULL;
		if (c)
			c->permanent = true;
		sb->js_known = true;
	}
	waiters_answer(&sb->listing, 200, NULL, NULL);
}

struct waiter *sandbox_list(struct sandbox *sb, context_fn *fn, void *arg)
{
	struct waiter *w = waiter_add(&sb->listing, fn, arg);

	if (!sb->js)
		sb->js = server_spec(sb->all->server, "javascript", js_answered, sb);
	return w;
}

struct waiter *sandbox_create(struct sandbox *sb, struct span language, struct span cwd,
			      context_fn *fn, void *arg)
{
	struct context *c;
	struct waiter *w;

	if (map_len(sb->contexts) >= sb->all->config.max_contexts)
		return NULL;
	c = context_new(sb, language, cwd);
	w = waiter_add(&c->waiters, fn, arg);
	context_step_soon(c);
	return w;
}
