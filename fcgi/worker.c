/*
 * worker.c - wiring: makes the rooms, connects them, takes them down in order.
 *
 * SIGTERM: streams end with a record, then the process; kernels stay (the next
 * worker of these slots sees to them). SIGHUP: tokens are read again.
 */
#include "worker.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/log.h"
#include "context/context.h"
#include "http/auth.h"
#include "http/server.h"
#include "kernel/server.h"
#include "loop/loop.h"
#include "routes/app.h"

#define STOP_LIMIT_MS 4000 /* SIGTERM to exit: under 5 s in all */
#define ARENA_MAX ((size_t)256 << 20)
#define CONNECTIONS_MAX 16384

struct worker {
	const struct worker_args *args;
	struct loop *loop;
	struct http_server *http;
	struct server *jupyter;
	struct app app;
	struct sig *term;
	struct sig *hup;
	struct timer *limit;
	struct env_var global[1];
};

static struct auth_config auth_settings(const struct config *c)
{
	return (struct auth_config){ .token_file = *c->token_file ? c->token_file : NULL,
				     .tokens_file = *c->tokens_file ? c->tokens_file : NULL,
				     .no_token = !*c->token_file && !*c->tokens_file,
				     .hosts = c->hosts,
				     .proxies = c->trusted_proxies,
				     .e2b_open = c->e2b_open };
}

static int auth_load(const struct config *c, struct auth **ret)
{
	struct auth_config settings = auth_settings(c);
	struct buf why = BUF_INIT(1024);
	int r = auth_new(&settings, ret, &why);

	if (r != 0)
		log_error("tokens: %s", why.data ? why.data : strerror(-r));
	buf_free(&why);
	return r;
}

/* ---- signals --------------------------------------------------------------------- */

/* What is wrong in a new file leaves the old tokens in force. */
static void on_hup(void *arg)
{
	struct worker *w = arg;
	struct auth *fresh;

	if (auth_load(w->args->config, &fresh) != 0)
		return;
	auth_free(w->app.auth);
	w->app.auth = fresh;
	log_info("tokens were read again");
}

static void on_stopped(void *arg)
{
	struct worker *w = arg;

	loop_stop(w->loop);
}

static void on_limit(void *arg)
{
	struct worker *w = arg;

	log_warn("not all requests ended in time");
	loop_stop(w->loop);
}

static void on_term(void *arg)
{
	struct worker *w = arg;

	if (w->app.stopping)
		return;
	log_info("stopping");
	w->app.stopping = true;
	timer_set(w->limit, STOP_LIMIT_MS);
	contexts_stop(w->app.contexts);
	http_server_stop(w->http, on_stopped, w);
}

/* ---- making ----------------------------------------------------------------------- */

static int jupyter_make(struct worker *w, const struct config *c)
{
	struct server_config settings = { .url = c->jupyter_url,
					  .token = c->jupyter_token,
					  .root = c->jupyter_root,
					  .max_message = c->max_message,
					  .reconnect_s = c->reconnect_s,
					  .kernel_start_s = c->kernel_start_s };
	struct buf why = BUF_INIT(512);
	int r = server_new(w->loop, &settings, &w->jupyter, &why);

	if (r != 0)
		log_error("jupyter: %s", why.data ? why.data : strerror(-r));
	buf_free(&why);
	for (size_t i = 0; r == 0 && i < c->n_kernels; i++)
		server_spec_choose(w->jupyter, c->kernels[i].language, c->kernels[i].kernelspec);
	return r;
}

/* As the reference does it where it runs on a developer's machine. */
static struct env_vars global_environment(struct worker *w)
{
	if (!getenv("E2B_LOCAL"))
		return (struct env_vars){ NULL, 0 };
	w->global[0].name = SPAN_LIT("E2B_TEST_VARIABLE");
	w->global[0].value = SPAN_LIT("true");
	return (struct env_vars){ w->global, 1 };
}

static void contexts_make(struct worker *w, const struct config *c)
{
	struct contexts_config settings = { .workspace = c->workspace,
					    .max_output = c->max_output,
					    .max_sandboxes = c->max_sandboxes,
					    .max_contexts = c->max_contexts,
					    .max_queued = c->max_queued,
					    .interrupt_grace_s = c->interrupt_grace_s,
					    .max_execution_s = c->max_execution_s,
					    .global = global_environment(w) };

	w->app.contexts = contexts_new(w->jupyter, &settings);
}

static void listen_all(struct worker *w, const struct config *c)
{
	struct http_limits limits = { .params = 256 << 10,
				      .body = c->max_body,
				      .arena = ARENA_MAX,
				      .half_ms = 1000 * c->half_request_s,
				      .connections = CONNECTIONS_MAX };

	w->http = http_server_new(w->loop, &limits, app_handle, &w->app);
	for (unsigned i = 0; i < SLOTS; i++) {
		if (w->args->slot_fd[i] < 0)
			continue;
		w->app.slots |= 1u << i;
		http_server_listen(w->http, w->args->slot_fd[i], i);
	}
}

static void app_settings(struct worker *w, const struct config *c)
{
	w->app.loop = w->loop;
	w->app.index = w->args->index;
	w->app.of = w->args->of;
	w->app.began_ms = clock_ms();
	w->app.max_code = c->max_code;
	w->app.keepalive_s = c->keepalive_s;
	w->app.heartbeat_ms = c->heartbeat_ms;
	w->app.workspace = c->workspace;
	w->app.default_directory = *c->default_directory ? c->default_directory : NULL;
}

static int worker_make(struct worker *w)
{
	const struct config *c = w->args->config;

	w->loop = loop_new();
	w->term = sig_new(w->loop, SIGTERM, on_term, w);
	w->hup = sig_new(w->loop, SIGHUP, on_hup, w);
	w->limit = timer_new(w->loop, on_limit, w);
	app_settings(w, c);
	if (auth_load(c, &w->app.auth) != 0 || jupyter_make(w, c) != 0)
		return -1;
	contexts_make(w, c);
	listen_all(w, c);
	if (!*c->token_file && !*c->tokens_file)
		log_warn("no token is asked for on loopback addresses: tokenFile is empty");
	return 0;
}

/* One 10 MB picture must not raise the worker's size for good: glibc would
 * take it for the size of things to come. Large blocks go back at once. */
static void memory_settings(void)
{
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	mallopt(M_TRIM_THRESHOLD, 512 << 10);
	mallopt(M_ARENA_MAX, 2);
}

int worker_run(const struct worker_args *args)
{
	struct worker w = { .args = args };
	char who[32];

	snprintf(who, sizeof(who), "worker %u", args->index);
	log_init(who, args->config->log_level);
	memory_settings();
	/* A worker without its master would hold the slots' sockets for ever. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGPIPE, SIG_IGN);
	if (worker_make(&w) != 0)
		return 1;
	contexts_sweep(w.app.contexts, w.app.slots);
	log_info("ready");
	loop_run(w.loop);

	http_server_free(w.http);
	contexts_free(w.app.contexts);
	server_free(w.jupyter);
	auth_free(w.app.auth);
	timer_free(w.limit);
	sig_free(w.term);
	sig_free(w.hup);
	loop_free(w.loop);
	log_info("stopped");
	return 0;
}
