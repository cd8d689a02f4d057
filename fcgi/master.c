/*
 * master.c - slots, workers, signals; knows nothing of requests.
 *
 * A slot's socket is opened once and outlives every worker: while one restarts
 * its requests wait in the backlog. A worker that dies is replaced at once; if
 * it dies young again and again, after a growing pause.
 */
#include "master.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/log.h"
#include "http/server.h"
#include "worker.h"

#define YOUNG_MS 2000	   /* a worker that dies sooner is in trouble */
#define PAUSE_MAX_MS 10000 /* between tries then */
#define STOP_LIMIT_MS 4700 /* then SIGKILL */

struct child {
	pid_t pid; /* 0: not running */
	uint64_t began_ms;
	uint64_t start_at_ms;
	unsigned pause_ms;
};

struct master {
	const struct config *config;
	const char *program;
	char *const *argv;
	int argc;
	int slot_fd[SLOTS];
	int lock_fd[SLOTS];
	struct child child[SLOTS];
	bool stopping;
	uint64_t stop_by_ms;
};

/* ---- slots ------------------------------------------------------------------------ */

static int dir_make(const char *path, mode_t mode)
{
	if (mkdir(path, mode) == 0 || errno == EEXIST)
		return 0;
	log_error("%s: %s", path, strerror(errno));
	return -errno;
}

/* Two masters on one state directory would both own every session. */
static int slot_lock(struct master *m, unsigned slot)
{
	char *path = xasprintf("%s/slots/%02u.lock", m->config->state_dir, slot);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : 0;

	if (r == 0 && flock(fd, LOCK_EX | LOCK_NB) != 0)
		r = -errno;
	if (r == -EWOULDBLOCK)
		log_error("%s is locked: another nb2-fcgi uses this state directory", path);
	else if (r != 0)
		log_error("%s: %s", path, strerror(-r));
	m->lock_fd[slot] = fd;
	free(path);
	return r;
}

static int slot_open(struct master *m, unsigned slot)
{
	char *path = xasprintf("%s/s%02u.sock", m->config->run_dir, slot);
	int fd = http_socket_open(path);

	if (fd < 0)
		log_error("%s: %s", path, strerror(-fd));
	m->slot_fd[slot] = fd;
	free(path);
	return fd < 0 ? fd : 0;
}

static int slots_open(struct master *m)
{
	char *slots = xasprintf("%s/slots", m->config->state_dir);
	int r = dir_make(m->config->state_dir, 0700);

	if (r == 0)
		r = dir_make(slots, 0700);
	if (r == 0)
		r = dir_make(m->config->run_dir, 0750);
	for (unsigned i = 0; i < SLOTS && r == 0; i++)
		r = slot_lock(m, i);
	for (unsigned i = 0; i < SLOTS && r == 0; i++)
		r = slot_open(m, i);
	free(slots);
	return r;
}

/* ---- workers ------------------------------------------------------------------------ */

/* The slots are dealt like cards. */
static char *worker_option(const struct master *m, unsigned index)
{
	struct buf b = BUF_INIT(1024);

	buf_printf(&b, "--worker=%u/%u:", index, m->config->workers);
	for (unsigned i = 0; i < SLOTS; i++) {
		if (i % m->config->workers == index)
			buf_printf(&b, "%s%d", i ? "," : "", m->slot_fd[i]);
		else
			buf_printf(&b, "%s-", i ? "," : "");
	}
	return buf_detach(&b, NULL);
}

static int fd_parse(struct span s, int *ret_fd)
{
	unsigned long long n;

	if (span_is(s, "-")) {
		*ret_fd = -1;
		return 0;
	}
	if (span_u64(s, &n) != 0 || n > 65535)
		return -EINVAL;
	*ret_fd = (int)n;
	return 0;
}

int master_worker_parse(const char *text, struct worker_args *ret)
{
	struct span rest = span_str(text);
	struct span head = span_cut(&rest, ':');
	unsigned long long index;
	unsigned long long of;
	struct span first = span_cut(&head, '/');

	if (span_u64(first, &index) != 0 || span_u64(head, &of) != 0)
		return -EINVAL;
	for (unsigned i = 0; i < SLOTS; i++) {
		if (span_absent(rest) || fd_parse(span_cut(&rest, ','), &ret->slot_fd[i]) != 0)
			return -EINVAL;
	}
	ret->index = (unsigned)index;
	ret->of = (unsigned)of;
	return 0;
}

/* In the child: only the worker's own slots stay open. */
static void child_exec(const struct master *m, unsigned index)
{
	char **argv = xcalloc((size_t)m->argc + 2, sizeof(*argv));
	sigset_t none;

	for (unsigned i = 0; i < SLOTS; i++) {
		if (i % m->config->workers == index)
			fcntl(m->slot_fd[i], F_SETFD, 0);
	}
	memcpy(argv, m->argv, (size_t)m->argc * sizeof(*argv));
	argv[m->argc] = worker_option(m, index);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv(m->program, argv);
	log_error("%s: %s", m->program, strerror(errno));
	_exit(127);
}

static void child_start(struct master *m, unsigned index)
{
	struct child *c = &m->child[index];
	pid_t pid = fork();

	if (pid == 0)
		child_exec(m, index);
	c->began_ms = clock_ms();
	if (pid < 0) {
		log_error("fork: %s", strerror(errno));
		c->start_at_ms = c->began_ms + 1000;
		return;
	}
	c->pid = pid;
	log_info("worker %u is process %ld", index, (long)pid);
}

static void child_died(struct master *m, unsigned index, int status)
{
	struct child *c = &m->child[index];
	uint64_t now = clock_ms();

	if (WIFSIGNALED(status))
		log_warn("worker %u was ended by signal %d", index, WTERMSIG(status));
	else if (!m->stopping)
		log_warn("worker %u ended with status %d", index, WEXITSTATUS(status));
	c->pid = 0;
	if (now - c->began_ms >= YOUNG_MS)
		c->pause_ms = 0;
	c->start_at_ms = now + c->pause_ms;
	/* The first one comes back at once; then 100, 200, 400 … ms. */
	c->pause_ms = c->pause_ms ? 2 * c->pause_ms : 100;
	if (c->pause_ms > PAUSE_MAX_MS)
		c->pause_ms = PAUSE_MAX_MS;
}

static void children_reap(struct master *m)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (unsigned i = 0; i < m->config->workers; i++) {
			if (m->child[i].pid == pid)
				child_died(m, i, status);
		}
	}
}

static void children_signal(const struct master *m, int signum)
{
	for (unsigned i = 0; i < m->config->workers; i++) {
		if (m->child[i].pid > 0)
			kill(m->child[i].pid, signum);
	}
}

static bool children_gone(const struct master *m)
{
	for (unsigned i = 0; i < m->config->workers; i++) {
		if (m->child[i].pid > 0)
			return false;
	}
	return true;
}

/* Start what is due; returns how long to wait for a signal, in ms. */
static uint64_t children_due(struct master *m)
{
	uint64_t now = clock_ms();
	uint64_t wait = 60000;

	for (unsigned i = 0; i < m->config->workers; i++) {
		struct child *c = &m->child[i];

		if (c->pid == 0 && c->start_at_ms <= now)
			child_start(m, i);
		if (c->pid == 0 && c->start_at_ms > now && c->start_at_ms - now < wait)
			wait = c->start_at_ms - now;
	}
	return wait;
}

/* ---- the loop -------------------------------------------------------------------------- */

static void stop(struct master *m)
{
	if (m->stopping)
		return;
	m->stopping = true;
	m->stop_by_ms = clock_ms() + STOP_LIMIT_MS;
	log_info("stopping");
	children_signal(m, SIGTERM);
}

static int wait_signal(const sigset_t *set, uint64_t ms)
{
	struct timespec t = { .tv_sec = (time_t)(ms / 1000),
			      .tv_nsec = (long)(ms % 1000) * 1000000 };

	return sigtimedwait(set, NULL, &t);
}

static void master_loop(struct master *m, const sigset_t *set)
{
	uint64_t wait;

	for (;;) {
		if (m->stopping && children_gone(m))
			return;
		wait = m->stopping ? 100 : children_due(m);
		if (m->stopping && clock_ms() > m->stop_by_ms)
			children_signal(m, SIGKILL);
		switch (wait_signal(set, wait)) {
		case SIGTERM:
		case SIGINT:
			stop(m);
			break;
		case SIGHUP:
			children_signal(m, SIGHUP);
			break;
		default:
			break;
		}
		children_reap(m); /* also when signals were merged */
	}
}

static void sockets_remove(const struct master *m)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		char *path = xasprintf("%s/s%02u.sock", m->config->run_dir, i);

		unlink(path);
		close(m->slot_fd[i]);
		free(path);
	}
}

int master_run(const struct config *c, const char *program, char *const *argv, int argc)
{
	struct master m = { .config = c, .program = program, .argv = argv, .argc = argc };
	sigset_t set;

	log_init("master", c->log_level);
	if (slots_open(&m) != 0)
		return 1;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	master_loop(&m, &set);
	sockets_remove(&m);
	log_info("stopped");
	return 0;
}
