/*
 * ws_lws.c - libwebsockets 4.1, tamed: the only file that knows it.
 *
 * Its traps, which the code below is shaped by:
 * - a failed connect may be told by NULL from the connect call or by one of
 *   four callbacks, and the handshake's own time limit by a fifth: all of them
 *   are ws_on_end(), and our own timer comes first;
 * - killing a connection from within its callback pulls the memory from under
 *   the parser: we shut the socket down, which the peer sees at once, forget
 *   the connection and let libwebsockets find out by itself;
 * - the environment's http_proxy is used, even for unix sockets, unless the
 *   context names another: port 0 is none;
 * - it follows redirects, and looks their names up while the loop waits;
 * - it pings after 300 s of silence and hangs up 10 s later, which a busy
 *   server would not survive: Jupyter pings by itself, so that is off;
 * - its end closes a file descriptor twice: see spares_open().
 */
#include <errno.h>
#include <fcntl.h>
#include <libwebsockets.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "kernel/ws_int.h"

#define FDS_MAX 4096   /* sizes its tables; more connections fail to connect */
#define BACKSTOP_S 600 /* its own time limits: ours come before */
#define KEEPALIVE_S 30 /* TCP: a host that vanished is noticed after four of these */
#define KEEPALIVE_TRIES 3
#define HEADER_POOL (2 * WS_HANDSHAKES)

/* No pings of its own. */
static const lws_retry_bo_t no_pings;

/* ---- ends ------------------------------------------------------------------ */

/* The connection is on its way out by itself. */
static void ended(struct ws *w, struct lws *wsi)
{
	lws_set_opaque_user_data(wsi, NULL);
	w->wsi = NULL;
	if (w->connecting)
		w->lost = true; /* ws_lws_connect() will tell */
	else
		ws_on_end(w);
}

static void refused(struct ws *w, struct lws *wsi, const char *why, size_t len)
{
	unsigned status = lws_http_client_http_response(wsi);

	if (status != 0 && status != 101)
		ws_why(w, "the server answered the handshake with %u", status);
	else if (why && len)
		ws_why(w, "the handshake failed: %.*s", (int)strnlen(why, len), why);
	else
		ws_why(w, "the handshake failed");
	ended(w, wsi);
}

/* The server's close frame; it is answered, and CLIENT_CLOSED follows. */
static void goodbye(struct ws *w, const unsigned char *code, size_t len)
{
	w->state = WS_CLOSING;
	if (len >= 2)
		ws_why(w, "closed by the server, code %u", (unsigned)code[0] << 8 | code[1]);
	else
		ws_why(w, "closed by the server");
}

/* libuv reports a reset connection as an error, and libwebsockets then closes
 * without reading what is still there: messages that came and are lost. */
static bool unread(struct lws *wsi)
{
	char byte;

	return recv(lws_get_socket_fd(wsi), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static void closed(struct ws *w, struct lws *wsi)
{
	/* A piece that is not full yet was read and never handed over. */
	if (w->state == WS_OPEN && (unread(wsi) || lws_remaining_packet_payload(wsi) > 0))
		w->cut = true;
	if (w->state != WS_CLOSING)
		ws_why(w, w->state == WS_OPEN ? "the connection was lost" :
						"the connection was lost in the handshake");
	ended(w, wsi);
}

/* ---- the handshake ------------------------------------------------------------ */

static int add_token(struct ws *w, char **pos, size_t room)
{
	int n;

	if (!w->token)
		return 0;
	n = snprintf(*pos, room, "Authorization: token %s\r\n", w->token);
	if (n < 0 || (size_t)n >= room)
		return -1;
	*pos += n;
	return 0;
}

/* libwebsockets itself refuses a protocol that was not offered, and takes none
 * at all for consent. */
static void see_protocol(struct ws *w, struct lws *wsi)
{
	char name[sizeof(WS_V1)];

	w->v1 = lws_hdr_copy(wsi, name, sizeof(name), WSI_TOKEN_PROTOCOL) > 0 &&
		strcmp(name, WS_V1) == 0;
}

static void set_tcp(struct ws *w, struct lws *wsi, int option)
{
	int on = 1;

	if (!w->unix_path)
		setsockopt(lws_get_socket_fd(wsi), IPPROTO_TCP, option, &on, sizeof(on));
}

/* ---- messages ----------------------------------------------------------------- */

struct ws_out *ws_out_new(struct span frame, bool binary)
{
	struct ws_out *out = xmalloc(sizeof(*out) + LWS_PRE + frame.len);

	list_init(&out->link);
	out->len = frame.len;
	out->binary = binary;
	out->payload = out->room + LWS_PRE;
	if (frame.len)
		memcpy(out->payload, frame.ptr, frame.len);
	return out;
}

/* One message a time; what the socket does not take libwebsockets copies, and
 * it does not come back here before that is out. */
static int write_next(struct ws *w, struct lws *wsi)
{
	struct ws_out *out = list_first(&w->out, struct ws_out, link);
	int n;

	w->queued -= w->held;
	w->held = 0;
	if (!out)
		return 0;
	n = lws_write(wsi, out->payload, out->len, out->binary ? LWS_WRITE_BINARY : LWS_WRITE_TEXT);
	if (n < 0 || (size_t)n < out->len)
		return -1;
	if (lws_partial_buffered(wsi))
		w->held = out->len;
	else
		w->queued -= out->len;
	list_del(&out->link);
	free(out);
	if (w->held || !list_empty(&w->out))
		lws_callback_on_writable(wsi);
	return 0;
}

static int read_chunk(struct ws *w, struct lws *wsi, const char *data, size_t len)
{
	bool final = lws_is_final_fragment(wsi) && lws_remaining_packet_payload(wsi) == 0;

	/* Delayed acknowledgement comes back by itself after a while, and with
	 * Nagle's algorithm at the server's end it costs 40 ms an execution. */
	set_tcp(w, wsi, TCP_QUICKACK);
	ws_on_chunk(w, span_of(data, len), final, lws_frame_is_binary(wsi));
	return 0;
}

/* ---- the callback --------------------------------------------------------------- */

/* Nobody's connection any more: make libwebsockets drop it. */
static int orphan(enum lws_callback_reasons reason)
{
	switch (reason) {
	case LWS_CALLBACK_CLIENT_FILTER_PRE_ESTABLISH:
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
	case LWS_CALLBACK_CLIENT_RECEIVE:
	case LWS_CALLBACK_CLIENT_WRITEABLE:
	case LWS_CALLBACK_CLIENT_HTTP_REDIRECT:
		return -1;
	default:
		return 0;
	}
}

static int event(struct ws *w, struct lws *wsi, enum lws_callback_reasons reason, void *in,
		 size_t len)
{
	switch (reason) {
	case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
		return add_token(w, in, len);
	case LWS_CALLBACK_CLIENT_HTTP_REDIRECT:
		return -1;
	case LWS_CALLBACK_CLIENT_FILTER_PRE_ESTABLISH:
		see_protocol(w, wsi);
		return 0;
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
		set_tcp(w, wsi, TCP_NODELAY);
		set_tcp(w, wsi, TCP_QUICKACK);
		ws_on_opened(w);
		break;
	case LWS_CALLBACK_CLIENT_RECEIVE:
		read_chunk(w, wsi, in, len);
		break;
	case LWS_CALLBACK_CLIENT_WRITEABLE:
		return w->state == WS_OPEN ? write_next(w, wsi) : 0;
	case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
		goodbye(w, in, len);
		return 0;
	case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
		refused(w, wsi, in, len);
		return 0;
	case LWS_CALLBACK_CLIENT_CLOSED:
	case LWS_CALLBACK_CLOSED_CLIENT_HTTP:
	case LWS_CALLBACK_WSI_DESTROY:
		closed(w, wsi);
		return 0;
	default:
		return 0;
	}
	/* The owner was called and may have closed: w may be gone. */
	return lws_get_opaque_user_data(wsi) ? 0 : -1;
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
		    size_t len)
{
	struct ws *w = wsi ? lws_get_opaque_user_data(wsi) : NULL;

	(void)user;
	if (!w)
		return orphan(reason);
	CHECK_OBJ(w, WS_MAGIC);
	return event(w, wsi, reason, in, len);
}

/* ---- downwards ------------------------------------------------------------------- */

int ws_lws_connect(struct ws *w)
{
	struct lws_client_connect_info info = {
		.context = w->service->lws,
		.address = w->address,
		.port = w->port,
		.path = w->path,
		.host = w->host,
		.protocol = WS_V1,
		.local_protocol_name = WS_V1,
		.ietf_version_or_minus_one = -1,
		.retry_and_idle_policy = &no_pings,
		.opaque_user_data = w,
	};
	struct lws *wsi;

	ws_why(w, "cannot connect");
	w->connecting = true;
	w->lost = false;
	wsi = lws_client_connect_via_info(&info);
	w->connecting = false;
	if (!wsi || w->lost)
		return -EIO;
	w->wsi = wsi;
	return 0;
}

void ws_lws_drop(struct ws *w)
{
	struct lws *wsi = w->wsi;
	int fd;

	if (!wsi)
		return;
	w->wsi = NULL;
	lws_set_opaque_user_data(wsi, NULL);
	fd = lws_get_socket_fd(wsi);
	if (fd >= 0)
		shutdown(fd, SHUT_RDWR);
	/* Without this it would first try to send what it holds back. */
	lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

void ws_lws_want_write(struct ws *w)
{
	lws_callback_on_writable(w->wsi);
}

/* ---- the context ------------------------------------------------------------------- */

static const struct lws_protocols protocols[] = {
	{ .name = WS_V1, .callback = on_event, .rx_buffer_size = WS_CHUNK },
	{ .name = NULL },
};

/* What goes wrong for one connection is told by its closed(). */
static void on_log(int level, const char *line)
{
	int len = (int)strcspn(line, "\n");

	if (level == LLL_ERR)
		log_warn("libwebsockets: %.*s", len, line);
	else
		log_debug("libwebsockets: %.*s", len, line);
}

/* When it goes, libwebsockets closes its eventfd twice, a while apart; a file
 * that another thread opens in between (a database, say) would be closed under
 * it. A new file gets the lowest free number: so some numbers below the
 * eventfd's are held from the beginning and let go just before the end, for
 * whoever opens files then. */
static void spares_open(struct ws_service *s)
{
	for (size_t i = 0; i < WS_SPARES; i++)
		s->spares[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void spares_close(struct ws_service *s)
{
	for (size_t i = 0; i < WS_SPARES; i++) {
		if (s->spares[i] >= 0)
			close(s->spares[i]);
	}
}

int ws_lws_new(struct ws_service *s)
{
	void *loops[] = { loop_foreign(s->loop) };
	struct lws_context_creation_info info = {
		.port = CONTEXT_PORT_NO_LISTEN,
		.protocols = protocols,
		.options = LWS_SERVER_OPTION_LIBUV,
		.foreign_loops = loops,
		.fd_limit_per_thread = FDS_MAX,
		.pt_serv_buf_size = WS_CHUNK + LWS_PRE,
		.max_http_header_pool = HEADER_POOL,
		.timeout_secs = BACKSTOP_S,
		.connect_timeout_secs = BACKSTOP_S,
		.http_proxy_address = ":0",
		.ka_time = KEEPALIVE_S,
		.ka_probes = KEEPALIVE_TRIES,
		.ka_interval = KEEPALIVE_S,
		.gid = (gid_t)-1,
		.uid = (uid_t)-1,
	};

	spares_open(s);
	lws_set_log_level(LLL_ERR | LLL_WARN, on_log);
	s->lws = lws_create_context(&info);
	return s->lws ? 0 : -EIO;
}

/* On a foreign loop the first destroy only asks libuv to close handles, those
 * of connections, then those of the context: each takes one round. The second
 * frees. */
void ws_lws_free(struct ws_service *s)
{
	spares_close(s);
	lws_context_destroy(s->lws);
	for (int i = 0; i < 4; i++)
		loop_once(s->loop, false);
	lws_context_destroy(s->lws);
	s->lws = NULL;
}
