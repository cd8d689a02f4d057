/*
 * socket.c - a slot's listening socket.
 *
 * Made by hand: libfcgi's FCGX_OpenSocket() ends the process when it fails,
 * takes a path with a colon for TCP, and leaves the descriptor to children.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/server.h"

#define BACKLOG 4096

static int bind_listen(int fd, const struct sockaddr_un *a)
{
	mode_t old = umask(0117); /* 0660: the worker's user and nginx's group */
	int r = bind(fd, (const struct sockaddr *)a, sizeof(*a));

	umask(old);
	if (r != 0 || listen(fd, BACKLOG) != 0)
		return -errno;
	return 0;
}

/* A stale socket is in the way; the slot's lock says that nobody uses it.
 * Anything else there is somebody's, and a mistake in the settings. */
static int clear_path(const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	return unlink(path) == 0 ? 0 : -errno;
}

int http_socket_open(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t len = strlen(path);
	int fd;
	int r;

	if (len >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	memcpy(a.sun_path, path, len + 1);
	r = clear_path(path);
	if (r != 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	r = bind_listen(fd, &a);
	if (r != 0) {
		close(fd);
		return r;
	}
	return fd;
}
