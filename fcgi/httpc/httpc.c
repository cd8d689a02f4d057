/*
 * httpc.c - libcurl's multi interface on our loop.
 *
 * curl tells which sockets it waits for (a watch each) and when it wants to be
 * called again (one timer); what it finished is picked up after every step.
 * Owns the calls under way. What an answer means is its caller's business.
 */
#include "httpc/httpc.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/list.h"

#define HTTPC_MAGIC 0x68747463u
#define CALL_MAGIC 0x63616c6cu

#define CONNECT_MS 5000
#define TIMEOUT_MS 30000
#define IDLE_CONNECTIONS 8 /* kept for the next call */
#define CONNECTIONS 64	   /* calls beyond wait inside curl */

struct httpc {
	unsigned magic;
	struct loop *loop;
	CURLM *multi;
	struct timer *timer;
	struct list calls;
	struct list sockets;
	bool delivering; /* a done() is running */
};

struct httpc_call {
	unsigned magic;
	struct list link; /* in the httpc's, until done */
	struct httpc *httpc;
	CURL *easy;
	struct curl_slist *header;
	char *body;
	struct buf answer;
	httpc_done_fn *done;
	void *arg;
	char why[CURL_ERROR_SIZE];
};

/* A socket that curl waits for. */
struct httpc_socket {
	struct list link;
	struct httpc *httpc;
	curl_socket_t fd;
	struct watch *watch;
};

/* ---- the end of a call ---------------------------------------------------- */

static void call_free(struct httpc_call *call)
{
	curl_easy_cleanup(call->easy);
	curl_slist_free_all(call->header);
	free(call->body);
	buf_free(&call->answer);
	call->magic = 0;
	free(call);
}

/* Out of curl's hands and out of the list: nothing is called any more. */
static void call_detach(struct httpc_call *call)
{
	curl_multi_remove_handle(call->httpc->multi, call->easy);
	list_del(&call->link);
}

static const struct {
	CURLcode code;
	int err;
} errors[] = {
	{ CURLE_COULDNT_CONNECT, -ECONNREFUSED },
	{ CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT },
	{ CURLE_FILESIZE_EXCEEDED, -EFBIG },
};

static int call_error(const struct httpc_call *call, CURLcode code)
{
	if (code == CURLE_OK)
		return 0;
	if (buf_error(&call->answer))
		return -EFBIG; /* curl itself only saw a writer that refused */
	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		if (errors[i].code == code)
			return errors[i].err;
	}
	return -EIO;
}

static const char *call_why(const struct httpc_call *call, int err, CURLcode code)
{
	if (err == 0)
		return "";
	if (err == -EFBIG)
		return "the answer is larger than allowed";
	return call->why[0] ? call->why : curl_easy_strerror(code);
}

static void call_deliver(struct httpc_call *call, CURLcode code)
{
	struct httpc *c = call->httpc;
	struct httpc_response res = { .err = call_error(call, code), .body = SPAN_LIT("") };
	long status = 0;

	res.why = call_why(call, res.err, code);
	if (res.err == 0) {
		curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
		res.status = (int)status;
		res.body = buf_span(&call->answer);
	}
	call_detach(call);
	c->delivering = true;
	call->done(call->arg, &res);
	c->delivering = false;
	call_free(call);
}

/* A done() may cancel any other call; curl forgets the message of a handle
 * that is removed, so each is asked for only when the last one was handled. */
static void finish(struct httpc *c)
{
	struct httpc_call *call;
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(c->multi, &left)) != NULL) {
		CURLcode code = msg->data.result; /* msg dies with the handle's removal */

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&call);
		CHECK_OBJ(call, CALL_MAGIC);
		call_deliver(call, code);
	}
}

/* ---- what curl waits for ---------------------------------------------------- */

static void step(struct httpc *c, curl_socket_t fd, int events)
{
	int running;

	curl_multi_socket_action(c->multi, fd, events, &running);
	finish(c);
}

static void on_ready(void *arg, unsigned events)
{
	struct httpc_socket *s = arg;
	int flags = 0;

	if (events & WATCH_READ)
		flags |= CURL_CSELECT_IN;
	if (events & WATCH_WRITE)
		flags |= CURL_CSELECT_OUT;
	step(s->httpc, s->fd, flags); /* s may be gone after this */
}

static void on_timer(void *arg)
{
	struct httpc *c = arg;

	CHECK_OBJ(c, HTTPC_MAGIC);
	step(c, CURL_SOCKET_TIMEOUT, 0);
}

/* curl may not be called from within this: 0 ms means the loop's next round. */
static int timer_wanted(CURLM *multi, long ms, void *arg)
{
	struct httpc *c = arg;

	(void)multi;
	CHECK_OBJ(c, HTTPC_MAGIC);
	if (ms < 0)
		timer_clear(c->timer);
	else
		timer_set(c->timer, (uint64_t)ms);
	return 0;
}

static void socket_free(struct httpc_socket *s)
{
	watch_free(s->watch);
	list_del(&s->link);
	free(s);
}

static struct httpc_socket *socket_new(struct httpc *c, curl_socket_t fd)
{
	struct httpc_socket *s = xcalloc(1, sizeof(*s));

	s->httpc = c;
	s->fd = fd;
	s->watch = watch_new(c->loop, fd, on_ready, s);
	list_init(&s->link);
	list_push(&c->sockets, &s->link);
	curl_multi_assign(c->multi, fd, s);
	return s;
}

static int socket_wanted(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket)
{
	struct httpc *c = arg;
	struct httpc_socket *s = socket;
	unsigned events = 0;

	(void)easy;
	CHECK_OBJ(c, HTTPC_MAGIC);
	if (what == CURL_POLL_REMOVE) {
		if (s)
			socket_free(s);
		return 0;
	}
	if (!s)
		s = socket_new(c, fd);
	if (what & CURL_POLL_IN)
		events |= WATCH_READ;
	if (what & CURL_POLL_OUT)
		events |= WATCH_WRITE;
	watch_set(s->watch, events);
	return 0;
}

/* ---- a call --------------------------------------------------------------- */

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct httpc_call *call = arg;

	CHECK_OBJ(call, CALL_MAGIC);
	if (buf_append(&call->answer, data, size * n) != 0)
		return 0; /* ends the transfer */
	return size * n;
}

static void header_add(struct httpc_call *call, const char *line)
{
	struct curl_slist *longer = curl_slist_append(call->header, line);

	if (!longer)
		abort(); /* out of memory, as in xmalloc() */
	call->header = longer;
}

/* "Name:" without a value takes out what curl would send by itself. */
static void call_header(struct httpc_call *call, const struct httpc_request *req)
{
	bool typed = false;

	header_add(call, "Expect:");
	for (size_t i = 0; req->header && req->header[i]; i++) {
		typed |= strncasecmp(req->header[i], "Content-Type:", 13) == 0;
		header_add(call, req->header[i]);
	}
	if (!typed)
		header_add(call, "Content-Type:");
	curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->header);
}

static void call_method(struct httpc_call *call, const struct httpc_request *req)
{
	bool get = strcmp(req->method, "GET") == 0;

	if (!span_absent(req->body) || strcmp(req->method, "POST") == 0) {
		call->body = xmalloc(req->body.len);
		if (req->body.len)
			memcpy(call->body, req->body.ptr, req->body.len);
		curl_easy_setopt(call->easy, CURLOPT_POST, 1L);
		curl_easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)req->body.len);
		curl_easy_setopt(call->easy, CURLOPT_POSTFIELDS, call->body);
	}
	if (strcmp(req->method, "HEAD") == 0)
		curl_easy_setopt(call->easy, CURLOPT_NOBODY, 1L);
	curl_easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST, req->method);
	/* curl repeats a request, of any method, that found a kept connection
	 * closed. Only a GET may be made twice; elsewhere a new connection to
	 * a local socket costs less than the doubt. */
	if (!get && strncmp(req->url, "http:", 5) == 0)
		curl_easy_setopt(call->easy, CURLOPT_FRESH_CONNECT, 1L);
}

static void call_limits(struct httpc_call *call, const struct httpc_request *req)
{
	curl_easy_setopt(call->easy, CURLOPT_CONNECTTIMEOUT_MS,
			 (long)(req->connect_ms ? req->connect_ms : CONNECT_MS));
	curl_easy_setopt(call->easy, CURLOPT_TIMEOUT_MS,
			 (long)(req->timeout_ms ? req->timeout_ms : TIMEOUT_MS));
	/* An announced length is refused at once; 0 would mean no limit. */
	curl_easy_setopt(call->easy, CURLOPT_MAXFILESIZE_LARGE,
			 (curl_off_t)(req->max_body ? req->max_body : 1));
}

static void call_protocols(CURL *easy)
{
#if LIBCURL_VERSION_NUM >= 0x075500
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

static void call_options(struct httpc_call *call, const struct httpc_request *req)
{
	CURL *easy = call->easy;

	call_protocols(easy);
	curl_easy_setopt(easy, CURLOPT_URL, req->url);
	if (req->unix_path)
		curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, req->unix_path);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->why);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
}

struct httpc_call *httpc_send(struct httpc *c, const struct httpc_request *req, httpc_done_fn *done,
			      void *arg)
{
	struct httpc_call *call = xcalloc(1, sizeof(*call));
	CURLMcode r;

	CHECK_OBJ(c, HTTPC_MAGIC);
	call->magic = CALL_MAGIC;
	call->httpc = c;
	call->done = done;
	call->arg = arg;
	buf_init(&call->answer, req->max_body);
	call->easy = curl_easy_init();
	if (!call->easy)
		abort(); /* out of memory, as in xmalloc() */
	call_options(call, req);
	call_method(call, req);
	call_header(call, req);
	call_limits(call, req);
	list_init(&call->link);
	list_push(&c->calls, &call->link);
	/* Nothing happens in there but a timer of 0 ms: a call that cannot
	 * work fails later, like any other. */
	r = curl_multi_add_handle(c->multi, call->easy);
	assert(r == CURLM_OK);
	(void)r;
	return call;
}

void httpc_cancel(struct httpc_call *call)
{
	if (!call)
		return;
	CHECK_OBJ(call, CALL_MAGIC);
	if (list_empty(&call->link))
		return; /* from within its own done(): it ends anyway */
	call_detach(call);
	call_free(call);
}

/* ---- the client ----------------------------------------------------------- */

struct httpc *httpc_new(struct loop *l)
{
	struct httpc *c = xcalloc(1, sizeof(*c));

	c->magic = HTTPC_MAGIC;
	c->loop = l;
	list_init(&c->calls);
	list_init(&c->sockets);
	c->timer = timer_new(l, on_timer, c);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	c->multi = curl_multi_init();
	if (!c->multi)
		abort(); /* out of memory, as in xmalloc() */
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, socket_wanted);
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, timer_wanted);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS);
	curl_multi_setopt(c->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)CONNECTIONS);
	return c;
}

void httpc_drain(struct httpc *c)
{
	struct httpc_response res = { .err = -ECANCELED,
				      .body = SPAN_LIT(""),
				      .why = "the client is being closed" };
	struct httpc_call *call;

	CHECK_OBJ(c, HTTPC_MAGIC);
	assert(!c->delivering);
	while ((call = list_first(&c->calls, struct httpc_call, link)) != NULL) {
		call_detach(call);
		c->delivering = true;
		call->done(call->arg, &res);
		c->delivering = false;
		call_free(call);
	}
}

void httpc_free(struct httpc *c)
{
	struct httpc_call *call;
	struct httpc_socket *s;

	CHECK_OBJ(c, HTTPC_MAGIC);
	assert(!c->delivering);
	while ((call = list_first(&c->calls, struct httpc_call, link)) != NULL)
		httpc_cancel(call);
	/* It closes what it kept, without telling. */
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, NULL);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, NULL);
	while ((s = list_first(&c->sockets, struct httpc_socket, link)) != NULL)
		socket_free(s);
	curl_multi_cleanup(c->multi);
	curl_global_cleanup();
	timer_free(c->timer);
	c->magic = 0;
	free(c);
}
