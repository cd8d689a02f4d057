/*
 * health.c - is it alive, and where would a kernel of this session start?
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "json/emit.h"
#include "routes/routes_int.h"

#define LOG_CAP 2000 /* nb2-http.md 3: events kept a session */
#define DIR_LEVELS 4

void e2b_health_get(void *arg, struct request *r, const struct route_match *m)
{
	(void)arg;
	(void)m;
	reply(r, 200, "application/json", SPAN_LIT("\"OK\""));
}

/* The levels that may say where a kernel starts, looked at on the pool: each
 * one fails on its own and falls through to the next. */
struct health {
	struct app *app;
	struct request *request; /* NULL: gone */
	unsigned slot;
	const char *source[DIR_LEVELS];
	char *dir[DIR_LEVELS]; /* NULL: this level says nothing */
	int chosen;	       /* -1: none */
};

static void level_add(struct health *h, int i, const char *source, const char *dir)
{
	h->source[i] = source;
	h->dir[i] = dir ? xstrdup(dir) : NULL;
}

static void health_work(void *arg)
{
	struct health *h = arg;
	struct stat st;

	h->chosen = -1;
	for (int i = 0; i < DIR_LEVELS && h->chosen < 0; i++) {
		if (h->dir[i] && stat(h->dir[i], &st) == 0 && S_ISDIR(st.st_mode))
			h->chosen = i;
	}
}

static void health_common(struct buf *b, const struct app *app)
{
	buf_printf(
		b,
		"{\"ok\":true,\"pkg\":\"nb2\",\"version\":\"%s\",\"uptimeMs\":%llu,\"logCap\":%d,"
		"\"heartbeatMs\":%u",
		NB2_VERSION, (unsigned long long)(clock_ms() - app->began_ms), LOG_CAP,
		app->heartbeat_ms);
}

static void health_reply(struct health *h)
{
	struct buf b = BUF_INIT(65536);

	health_common(&b, h->app);
	buf_puts(&b, ",\"sessions\":[],\"dir\":");
	if (h->chosen >= 0) {
		json_text_emit(&b, span_str(h->dir[h->chosen]));
		buf_printf(&b, ",\"dirSource\":\"%s\"", h->source[h->chosen]);
	} else {
		buf_puts(&b, "null,\"dirSource\":null");
	}
	buf_printf(&b, ",\"worker\":{\"index\":%u,\"of\":%u,\"pid\":%ld},\"slot\":%u}",
		   h->app->index, h->app->of, (long)getpid(), h->slot);
	reply_json(h->request, 200, buf_span(&b));
	buf_free(&b);
}

static void health_done(void *arg)
{
	struct health *h = arg;

	if (h->request)
		health_reply(h);
	for (int i = 0; i < DIR_LEVELS; i++)
		free(h->dir[i]);
	free(h);
}

static void health_gone(void *arg)
{
	struct health *h = arg;

	h->request = NULL;
}

/* Without a token a load balancer sees that it is alive, and nothing else. */
static void health_public(struct app *app, struct request *r)
{
	struct buf b = BUF_INIT(4096);

	health_common(&b, app);
	buf_putc(&b, '}');
	reply_json(r, 200, buf_span(&b));
	buf_free(&b);
}

void health_get(void *arg, struct request *r, const struct route_match *m)
{
	struct app *app = arg;
	const struct auth_user *user = auth_host_ok(app->auth, r) ? app_user(app, r) : NULL;
	struct health *h;
	char cwd[4096];

	(void)m;
	request_header(r, "Cache-Control", "no-store");
	if (!user) {
		health_public(app, r);
		return;
	}
	h = xcalloc(1, sizeof(*h));
	h->app = app;
	h->request = r;
	h->slot = ids_slot(route_sid(r));
	level_add(h, 0, "workingDirectory", user->directory);
	level_add(h, 1, "defaultDirectory", app->default_directory);
	level_add(h, 2, "sandboxPolicy", app->workspace);
	level_add(h, 3, "process.cwd", getcwd(cwd, sizeof(cwd)));
	request_on_gone(r, health_gone, h);
	loop_job(app->loop, health_work, health_done, h);
}
