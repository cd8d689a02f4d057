/*
 * loop.h - the one event loop of a process. The only door to libuv.
 *
 * Everything here belongs to the loop's thread, and callbacks run on it, one
 * at a time; they must not block. Nothing of it may be called elsewhere; what
 * runs on another thread is a job's work alone.
 * Handles are made with *_new() and given back with *_free(), which may be
 * called from any callback, the handle's own included: the memory goes later,
 * the callback never comes again.
 */
#ifndef NB2_LOOP_LOOP_H
#define NB2_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct timer;
struct watch;
struct job;
struct turn;
struct sig;

typedef void loop_fn(void *arg);

struct loop *loop_new(void);
/* Runs until loop_stop(); returns at the end of that turn. */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);
/* After loop_run(): closes what is left and frees it. Everything made from it
 * must have been given back, but for jobs: they get a second, and done is
 * called for those that end in it. */
void loop_free(struct loop *l);
/* One pass: waits for events when block is true. For tests and draining. */
void loop_once(struct loop *l, bool block);
/* The uv_loop_t, for a library that runs on a foreign loop (libwebsockets). */
void *loop_foreign(struct loop *l);
/* The loop's idea of now: clock_ms() of this turn's beginning. */
uint64_t loop_now(const struct loop *l);

/* One-shot timers; set again to move them. */
struct timer *timer_new(struct loop *l, loop_fn *fn, void *arg);
void timer_set(struct timer *t, uint64_t ms);
void timer_clear(struct timer *t);
bool timer_pending(const struct timer *t);
void timer_free(struct timer *t); /* NULL is fine */

/* Readiness of a file descriptor, level-triggered. The fd stays the caller's,
 * who frees the watch before closing it. An error on the fd reports all that
 * was asked for: the next read or write tells which it is. */
#define WATCH_READ 1u
#define WATCH_WRITE 2u
#define WATCH_HUP 4u /* the peer has closed, or an error is pending; reported only if asked for */
typedef void watch_fn(void *arg, unsigned events);
struct watch *watch_new(struct loop *l, int fd, watch_fn *fn, void *arg);
void watch_set(struct watch *w, unsigned events); /* 0: none */
void watch_free(struct watch *w);		  /* NULL is fine */

/* Called once at the end of each turn in which turn_want() was called: after
 * all callbacks of the turn, before the loop waits or loop_run() returns. A turn_want() from within
 * the callback asks for the next turn, which then does not wait. */
struct turn *turn_new(struct loop *l, loop_fn *fn, void *arg);
void turn_want(struct turn *t);
void turn_free(struct turn *t); /* NULL is fine */

/* work runs on the pool, then done on the loop. arg is the caller's and must
 * live until done was called; a job cannot be called back. */
void loop_job(struct loop *l, loop_fn *work, loop_fn *done, void *arg);

/* A signal, delivered on the loop. */
struct sig *sig_new(struct loop *l, int signum, loop_fn *fn, void *arg);
void sig_free(struct sig *s);

#endif
