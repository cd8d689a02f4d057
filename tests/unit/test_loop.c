/*
 * test_loop.c - timers, turns, watches, jobs, signals; freed from anywhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "loop/loop.h"

struct fixture {
	struct loop *loop;
	struct buf said; /* a letter an event */
	struct timer *a;
	struct timer *b;
	struct turn *turn;
	struct watch *watch;
	struct sig *sig;
	int fd[2];
	int again;
};

static int make(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .loop = loop_new(), .said = BUF_INIT(1000) };
	buf_puts(&f.said, "");
	*state = &f;
	return 0;
}

static int drop(void **state)
{
	struct fixture *f = *state;

	loop_free(f->loop);
	buf_free(&f->said);
	return 0;
}

static void say_a(void *arg)
{
	struct fixture *f = arg;

	buf_putc(&f->said, 'a');
}

static void say_b_and_stop(void *arg)
{
	struct fixture *f = arg;

	buf_putc(&f->said, 'b');
	loop_stop(f->loop);
}

static void timers(void **state)
{
	struct fixture *f = *state;

	f->a = timer_new(f->loop, say_a, f);
	f->b = timer_new(f->loop, say_b_and_stop, f);
	assert_false(timer_pending(f->a));
	timer_set(f->b, 30);
	timer_set(f->a, 100000);
	timer_set(f->a, 1); /* moved */
	assert_true(timer_pending(f->a));
	loop_run(f->loop);
	assert_string_equal(f->said.data, "ab");
	assert_false(timer_pending(f->a));
	timer_set(f->a, 1);
	timer_clear(f->a);
	timer_set(f->b, 10);
	loop_run(f->loop);
	assert_string_equal(f->said.data, "abb");
	timer_free(f->a);
	timer_free(f->b);
	timer_free(NULL);
}

static void free_itself(void *arg)
{
	struct fixture *f = arg;

	buf_putc(&f->said, 'f');
	timer_free(f->a);
	timer_free(f->b); /* which is due in this very turn */
}

static void freed_in_a_callback(void **state)
{
	struct fixture *f = *state;

	f->a = timer_new(f->loop, free_itself, f);
	f->b = timer_new(f->loop, say_a, f);
	timer_set(f->a, 0);
	timer_set(f->b, 0);
	for (int i = 0; i < 5; i++)
		loop_once(f->loop, false);
	assert_string_equal(f->said.data, "f");
}

static void at_the_turns_end(void *arg)
{
	struct fixture *f = arg;

	buf_putc(&f->said, 't');
	if (f->again-- > 0)
		turn_want(f->turn); /* the next turn's, which does not wait */
	else
		loop_stop(f->loop);
}

static void want_twice(void *arg)
{
	struct fixture *f = arg;

	turn_want(f->turn);
	turn_want(f->turn);
	buf_putc(&f->said, 'a');
}

static void turns(void **state)
{
	struct fixture *f = *state;

	f->turn = turn_new(f->loop, at_the_turns_end, f);
	f->again = 3;
	f->a = timer_new(f->loop, want_twice, f);
	timer_set(f->a, 0);
	loop_run(f->loop);
	assert_string_equal(f->said.data, "atttt");
	turn_want(f->turn);
	turn_free(f->turn);
	loop_once(f->loop, false);
	assert_string_equal(f->said.data, "atttt");
	timer_free(f->a);
}

static void want_and_stop(void *arg)
{
	struct fixture *f = arg;

	turn_want(f->turn);
	say_b_and_stop(arg);
}

/* The last turn has its end too. */
static void a_turn_at_the_stop(void **state)
{
	struct fixture *f = *state;

	f->turn = turn_new(f->loop, say_a, f);
	f->a = timer_new(f->loop, want_and_stop, f);
	timer_set(f->a, 0);
	loop_run(f->loop);
	assert_string_equal(f->said.data, "ba");
	turn_free(f->turn);
	timer_free(f->a);
}

static void on_fd(void *arg, unsigned events)
{
	struct fixture *f = arg;
	char byte;

	if (events & WATCH_WRITE) {
		buf_putc(&f->said, 'w');
		watch_set(f->watch, WATCH_READ | WATCH_HUP);
	} else if (read(f->fd[0], &byte, 1) == 1) {
		buf_putc(&f->said, byte);
	} else {
		buf_putc(&f->said, 'h');
		watch_free(f->watch);
		loop_stop(f->loop);
	}
}

static void watches(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, f->fd), 0);
	f->watch = watch_new(f->loop, f->fd[0], on_fd, f);
	watch_set(f->watch, WATCH_READ | WATCH_WRITE);
	assert_int_equal(write(f->fd[1], "xy", 2), 2);
	loop_once(f->loop, true);
	close(f->fd[1]);
	loop_run(f->loop);
	assert_string_equal(f->said.data, "wxyh");
	close(f->fd[0]);
}

static void on_error(void *arg, unsigned events)
{
	struct fixture *f = arg;
	char byte;

	assert_int_equal(events, WATCH_READ);
	buf_putc(&f->said, 'e');
	if (f->said.len < 3)
		return; /* level-triggered: it comes again */
	assert_int_equal(read(f->fd[0], &byte, 1), -1);
	watch_free(f->watch);
	loop_stop(f->loop);
}

/* A peer that closes with bytes of ours unread leaves an error behind. */
static void an_error_is_told_until_it_is_read(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, f->fd), 0);
	assert_int_equal(write(f->fd[0], "x", 1), 1);
	close(f->fd[1]);
	f->watch = watch_new(f->loop, f->fd[0], on_error, f);
	watch_set(f->watch, WATCH_READ);
	loop_run(f->loop);
	assert_string_equal(f->said.data, "eee");
	close(f->fd[0]);
}

static void work(void *arg)
{
	struct fixture *f = arg;

	f->again = 42; /* on the pool */
}

static void worked(void *arg)
{
	struct fixture *f = arg;

	assert_int_equal(f->again, 42);
	say_b_and_stop(arg);
}

static void jobs(void **state)
{
	struct fixture *f = *state;

	loop_job(f->loop, work, worked, f);
	loop_run(f->loop);
	assert_string_equal(f->said.data, "b");
}

static void slow_work(void *arg)
{
	work(arg);
	usleep(50000); /* nothing to wait for: it is to be late */
}

/* A loop that goes waits for its jobs, and their done is called. */
static void a_job_at_the_end(void **state)
{
	struct fixture *f = *state;

	loop_job(f->loop, slow_work, worked, f);
	loop_free(f->loop);
	assert_string_equal(f->said.data, "b");
	f->loop = loop_new();
}

static void signals(void **state)
{
	struct fixture *f = *state;

	f->sig = sig_new(f->loop, SIGUSR1, say_b_and_stop, f);
	raise(SIGUSR1);
	loop_run(f->loop);
	assert_string_equal(f->said.data, "b");
	sig_free(f->sig);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(timers),  T(freed_in_a_callback),
		T(turns),   T(a_turn_at_the_stop),
		T(watches), T(an_error_is_told_until_it_is_read),
		T(jobs),    T(a_job_at_the_end),
		T(signals),
	};

	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
