/*
 * context_int.h - what the files of this room know of each other.
 *
 * Ownership: contexts > sandboxes > contexts > waiting runs and the current
 * one. A run whose reader still reads when it is over belongs to that reader
 * (its ctx is NULL then). Waiters belong to what they wait for.
 */
#ifndef NB2_CONTEXT_CONTEXT_INT_H
#define NB2_CONTEXT_CONTEXT_INT_H

#include "base/alloc.h"
#include "base/check.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "context/context.h"
#include "kernel/bridge.h"
#include "kernel/sessions.h"
#include "loop/loop.h"
#include "session/execution.h"

#define CONTEXT_MAGIC 0x6e623263u
#define RUN_MAGIC 0x6e623272u
#define RECENT_RUNS 32

struct contexts {
	struct server *server;
	struct loop *loop;
	struct contexts_config config;
	struct map *sandboxes;
	const char *default_cwd; /* "/home/user" where E2B's users' code finds it, else workspace */
	size_t run_bytes;	 /* code and environment of runs that are not over */
	unsigned swept;		 /* slots of which nothing unknown may be left */
};

struct sandbox {
	struct contexts *all;
	char *name;
	struct map *contexts; /* by id */
	struct map *defaults; /* by language; borrowed from contexts */
	struct list listing;  /* waiters of sandbox_list() */
	struct spec_call *js; /* is there a kernel for javascript? */
	bool js_known;
};

enum context_phase {
	CONTEXT_COLD,	  /* no kernel */
	CONTEXT_CHOOSING, /* asking for kernelspec and directory */
	CONTEXT_STARTING, /* the bridge is at it (also: restarting, reconnecting) */
	CONTEXT_SETUP,	  /* the init snippet runs */
	CONTEXT_UP,
};

struct context {
	unsigned magic;
	struct sandbox *sandbox;
	char id[UUID_LEN + 1];
	char *language;
	char *cwd;
	const struct lang *lang; /* NULL: no snippets for it */
	enum context_phase phase;
	bool up_once;	/* its kernel has answered: its runs get their head at once */
	bool permanent; /* listed from the start: stays without a kernel, too */
	bool resetup;	/* the connection was made anew in mid-run: perhaps to a new process */
	struct bridge *bridge;
	struct spec_call *spec;
	char *kernelspec;
	struct dir_check *dir; /* a look at cwd on the pool */
	struct exchange init;
	unsigned inits;	     /* number of init requests sent: part of their ids */
	struct timer *step;  /* context_step() from the loop */
	struct timer *timer; /* ticks of the current run, the limit of init */
	struct list waiters; /* of creation and restart */
	/* executions */
	struct list queue; /* struct run, not sent */
	size_t queued;
	struct run *current;
	uint64_t verified_ms;
	struct timer *wish_timer;
	bool stuck; /* an interrupt was ignored beyond the grace */
	struct run_recent {
		char msg_id[MSG_ID_MAX];
	} recent[RECENT_RUNS];
	unsigned recent_next;
	struct outlog *late; /* output that came after its run's end; NULL: none */
	struct record_sink late_sink;
};

struct run {
	unsigned magic;
	struct list link;
	struct context *ctx; /* NULL: over */
	const struct run_ops *ops;
	void *arg;
	bool attached; /* the reader is there */
	bool accepted;
	bool wished; /* to be interrupted */
	bool unsent; /* the set-up is done, and the connection was gone just then */
	unsigned wishes;
	uint64_t began_ms;
	char base[33];
	size_t bytes; /* of code and environment */
	char *code;
	size_t code_len;
	struct env_var *vars;
	size_t n_vars;
	bool late_output;
	struct outlog *log;
	struct outlog_cursor cursor;
	struct execution e;
	struct timer *notify; /* accepted(), from the loop */
};

struct waiter {
	struct list link;
	context_fn *fn; /* NULL: cancelled */
	void *arg;
};

struct waiter *waiter_add(struct list *to, context_fn *fn, void *arg);
/* Answer all and free them. */
void waiters_answer(struct list *waiters, int status, const char *text, struct context *c);

struct context *context_new(struct sandbox *sb, struct span language, struct span cwd);
/* Ends its runs with this record, and the kernel. done may be NULL. */
void context_free(struct context *c, const char *name, const char *why, session_ended_fn *done,
		  void *arg);
/* Do what can be done now. */
void context_step(struct context *c);
/* The same, but not from within. */
void context_step_soon(struct context *c);
/* Everything sent is lost: the current run gets this record and the end. */
void context_lose_current(struct context *c, const char *name, const char *why);

/* run.c */
void runs_accept(struct context *c);
void runs_refuse(struct context *c, int status, const char *text);
void runs_fail(struct context *c, const char *name, const char *why); /* those that wait */
void run_begin(struct run *r);
void run_lose(struct run *r, const char *name, const char *why);
void run_message(struct context *c, const struct jupyter_msg *m);
void run_oversize(struct context *c, struct span parent_id, size_t size);
void run_missed(struct context *c);
void run_reconnected(struct context *c);
void run_tick(struct context *c);
void run_wish_timer(void *arg);

#endif
