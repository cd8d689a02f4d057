/*
 * app.h - what the routes of a worker share: one struct, made once.
 */
#ifndef NB2_ROUTES_APP_H
#define NB2_ROUTES_APP_H

#include <stdint.h>

#include "context/context.h"
#include "http/auth.h"
#include "http/request.h"
#include "http/router.h"
#include "loop/loop.h"

struct app {
	struct loop *loop;
	struct contexts *contexts;
	struct auth *auth; /* replaced on SIGHUP, from the loop */
	unsigned slots;	   /* bits: the slots this worker owns */
	unsigned index;	   /* which worker, of how many */
	unsigned of;
	uint64_t began_ms; /* clock_ms() at start */
	size_t max_code;
	unsigned keepalive_s;
	unsigned heartbeat_ms;
	const char *workspace;
	const char *default_directory; /* NULL: not set */
	bool stopping;
};

/* The http server's handler; arg is the struct app. */
void app_handle(void *arg, struct request *r);

/* The user a request acts for, as the dispatcher found it. NULL: nobody. */
const struct auth_user *app_user(const struct app *app, struct request *r);

#endif
