/*
 * ws_reach.c - is anybody there? Our own connect, given up as soon as it has
 * succeeded, before libwebsockets makes its own.
 *
 * libwebsockets 4.1 leaves a stopped poll handle in a libuv loop for ever with
 * each connect that fails, and cannot say why it failed; its name look-up
 * would block the loop. So it only gets literal addresses where somebody has
 * just answered. A server's queue of 128 connections takes WS_HANDSHAKES of
 * these and as many handshakes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "kernel/ws_int.h"

static int unix_address(struct ws *w)
{
	struct sockaddr_un *sun = (struct sockaddr_un *)&w->peer;
	size_t len = strlen(w->unix_path);

	/* libwebsockets would cut a longer one and takes a first '@' for an
	 * abstract name. */
	if (len == 0 || len >= sizeof(sun->sun_path) || w->unix_path[0] == '@') {
		ws_why(w, "the socket's path has %zu bytes, not 1 to %zu", len,
		       sizeof(sun->sun_path) - 1);
		return -EINVAL;
	}
	sun->sun_family = AF_UNIX;
	memcpy(sun->sun_path, w->unix_path, len + 1);
	w->peer_len = sizeof(*sun);
	w->address = xasprintf("+%s", w->unix_path);
	w->port = 0;
	return 0;
}

/* An address without the brackets that it has in a URL. */
static char *bare(const char *host)
{
	size_t len = strlen(host);

	if (strcmp(host, "localhost") == 0)
		return xstrdup("127.0.0.1");
	if (len > 2 && host[0] == '[' && host[len - 1] == ']')
		return xstrndup(host + 1, len - 2);
	return xstrdup(host);
}

static int tcp_address(struct ws *w)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)&w->peer;
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&w->peer;

	w->address = bare(w->host);
	if (inet_pton(AF_INET, w->address, &sin->sin_addr) == 1) {
		sin->sin_family = AF_INET;
		sin->sin_port = htons((uint16_t)w->port);
		w->peer_len = sizeof(*sin);
	} else if (inet_pton(AF_INET6, w->address, &sin6->sin6_addr) == 1) {
		sin6->sin6_family = AF_INET6;
		sin6->sin6_port = htons((uint16_t)w->port);
		w->peer_len = sizeof(*sin6);
	} else {
		ws_why(w, "%.60s is not an address: names are not looked up", w->host);
		return -EINVAL;
	}
	return 0;
}

int ws_reach_address(struct ws *w)
{
	return w->unix_path ? unix_address(w) : tcp_address(w);
}

/* A unix socket that is full does not let us wait. */
static int failed(struct ws *w, int err)
{
	if (err == EAGAIN)
		ws_why(w, "the server does not take connections: its queue is full");
	else
		ws_why(w, "cannot connect: %s", strerror(err));
	return -err;
}

static void on_connected(void *arg, unsigned events)
{
	struct ws *w = arg;
	socklen_t len = sizeof(int);
	int err = 0;

	(void)events;
	CHECK_OBJ(w, WS_MAGIC);
	if (getsockopt(w->reach_fd, SOL_SOCKET, SO_ERROR, &err, &len) != 0)
		err = errno;
	ws_reach_stop(w);
	ws_on_reached(w, err ? failed(w, err) : 0);
}

int ws_reach(struct ws *w)
{
	int r;

	w->reach_fd = socket(w->peer.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (w->reach_fd < 0)
		return failed(w, errno);
	if (connect(w->reach_fd, (struct sockaddr *)&w->peer, w->peer_len) == 0) {
		ws_reach_stop(w);
		return 0;
	}
	if (errno == EINPROGRESS) {
		w->reach_watch = watch_new(w->service->loop, w->reach_fd, on_connected, w);
		watch_set(w->reach_watch, WATCH_WRITE);
		return 1;
	}
	r = failed(w, errno);
	ws_reach_stop(w);
	return r;
}

void ws_reach_stop(struct ws *w)
{
	watch_free(w->reach_watch);
	w->reach_watch = NULL;
	if (w->reach_fd >= 0)
		close(w->reach_fd);
	w->reach_fd = -1;
}
