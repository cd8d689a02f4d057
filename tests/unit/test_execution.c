/*
 * test_execution.c - the message table: every order, every loss, one end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "session/execution.h"

struct fixture {
	struct outlog *log;
	struct outlog_cursor cursor;
	struct execution e;
	struct buf out;
	uint64_t now;
	unsigned all; /* every bit that came */
};

static void begin(struct fixture *f, bool environment)
{
	f->log = outlog_new();
	outlog_open(f->log, &f->cursor);
	execution_init(&f->e, f->log, 1 << 20, "base", environment);
	assert_int_equal(execution_begin(&f->e, f->now), environment ? 0 : EXECUTION_USER);
}

static int make(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	buf_init(&f->out, SIZE_MAX);
	f->now = 1000;
	begin(f, false);
	*state = f;
	return 0;
}

static int make_env(void **state)
{
	struct fixture *f;

	make(state);
	f = *state;
	outlog_cursor_close(&f->cursor);
	outlog_free(f->log);
	begin(f, true);
	return 0;
}

static int drop(void **state)
{
	struct fixture *f = *state;

	outlog_cursor_close(&f->cursor);
	outlog_free(f->log);
	buf_free(&f->out);
	free(f);
	return 0;
}

static unsigned message(struct fixture *f, enum jupyter_channel channel, enum jupyter_type type,
			const char *parent, const char *content)
{
	struct jupyter_msg m = { .channel = channel,
				 .type = type,
				 .parent_id = span_str(parent),
				 .date = SPAN_LIT("2026-11-30T21:20:45Z"),
				 .header = SPAN_LIT("{}"),
				 .content = span_str(content) };
	unsigned todo = execution_message(&f->e, &m, f->now);

	f->all |= todo;
	return todo;
}

#define BUSY "{\"execution_state\":\"busy\"}"
#define IDLE "{\"execution_state\":\"idle\"}"
#define OK "{\"status\":\"ok\",\"execution_count\":3,\"payload\":[]}"
#define iopub(f, type, parent, content) message(f, JUPYTER_IOPUB, type, parent, content)
#define shell(f, type, parent, content) message(f, JUPYTER_SHELL, type, parent, content)

static const char *written(struct fixture *f)
{
	buf_reset(&f->out);
	buf_puts(&f->out, "");
	outlog_read(&f->cursor, &f->out, SIZE_MAX);
	return f->out.data;
}

#define COUNT3 "{\"type\": \"number_of_executions\", \"execution_count\": 3}\n"
#define RESULT2 "{\"type\": \"result\", \"text\": \"2\", \"extra\": {}, \"is_main_result\": true}\n"
#define END "{\"type\": \"end_of_execution\"}\n"

static void begin_user(struct fixture *f)
{
	iopub(f, MSG_STATUS, "base-u", BUSY);
	iopub(f, MSG_EXECUTE_INPUT, "base-u", "{\"code\":\"x\",\"execution_count\":3}");
}

static void one_plus_one(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(iopub(f, MSG_STATUS, "base-u", BUSY), EXECUTION_ACCEPTED);
	iopub(f, MSG_EXECUTE_INPUT, "base-u", "{\"execution_count\":3}");
	iopub(f, MSG_EXECUTE_RESULT, "base-u", "{\"data\":{\"text/plain\":\"2\"},\"metadata\":{}}");
	assert_int_equal(shell(f, MSG_EXECUTE_REPLY, "base-u", OK), 0);
	assert_int_equal(iopub(f, MSG_STATUS, "base-u", IDLE), EXECUTION_ENDED | EXECUTION_OVER);
	assert_string_equal(written(f), COUNT3 RESULT2 END);
}

static void idle_before_reply(void **state)
{
	struct fixture *f = *state;

	begin_user(f);
	assert_int_equal(iopub(f, MSG_STATUS, "base-u", IDLE), 0);
	assert_int_equal(shell(f, MSG_EXECUTE_REPLY, "base-u", OK),
			 EXECUTION_ENDED | EXECUTION_OVER);
	assert_string_equal(written(f), COUNT3 END);
}

static void the_count_may_come_with_the_reply(void **state)
{
	struct fixture *f = *state;

	shell(f, MSG_EXECUTE_REPLY, "base-u", OK);
	iopub(f, MSG_STATUS, "base-u", IDLE);
	assert_string_equal(written(f), COUNT3 END);
}

static void an_idle_before_anything_is_not_the_end(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(iopub(f, MSG_STATUS, "base-u", IDLE), 0);
	assert_false(execution_over(&f->e));
}

static void others_are_foreign(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(iopub(f, MSG_STREAM, "other", "{\"name\":\"stdout\",\"text\":\"x\"}"),
			 EXECUTION_FOREIGN);
	assert_int_equal(iopub(f, MSG_STATUS, "", IDLE), EXECUTION_FOREIGN);
	assert_int_equal(iopub(f, MSG_STATUS, "base-s", IDLE), EXECUTION_FOREIGN);
	assert_string_equal(written(f), "");
}

static void an_error_is_written_once(void **state)
{
	struct fixture *f = *state;
	const char *error = "{\"ename\":\"E\",\"evalue\":\"v\",\"traceback\":[\"a\",\"b\"],"
			    "\"status\":\"error\",\"execution_count\":3}";

	begin_user(f);
	iopub(f, MSG_ERROR, "base-u", error);
	shell(f, MSG_EXECUTE_REPLY, "base-u", error);
	iopub(f, MSG_STATUS, "base-u", IDLE);
	assert_string_equal(written(f),
			    COUNT3 "{\"type\": \"error\", \"name\": \"E\", \"value\": \"v\", "
				   "\"traceback\": \"ab\"}\n" END);
}

static void an_error_only_in_the_reply(void **state)
{
	struct fixture *f = *state;

	begin_user(f);
	shell(f, MSG_EXECUTE_REPLY, "base-u",
	      "{\"status\":\"error\",\"ename\":\"\",\"evalue\":\"1\"}");
	iopub(f, MSG_STATUS, "base-u", IDLE);
	assert_string_equal(written(f),
			    COUNT3 "{\"type\": \"error\", \"name\": \"\", \"value\": \"1\", "
				   "\"traceback\": \"\"}\n" END);
}

static void aborted(void **state)
{
	static const char *const statuses[] = { "{\"status\":\"aborted\"}",
						"{\"status\":\"abort\"}" };

	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		struct fixture *f = *state;

		shell(f, MSG_EXECUTE_REPLY, "base-u", statuses[i]);
		assert_int_equal(iopub(f, MSG_STATUS, "base-u", IDLE),
				 EXECUTION_ENDED | EXECUTION_OVER);
		assert_string_equal(
			written(f),
			"{\"type\": \"error\", \"name\": \"ExecutionAborted\", \"value\": "
			"\"Execution was aborted\", \"traceback\": \"\"}\n" END);
		drop(state);
		make(state);
	}
}

static void with_environment(void **state)
{
	struct fixture *f = *state;

	iopub(f, MSG_STATUS, "base-s", BUSY);
	iopub(f, MSG_STREAM, "base-s", "{\"name\":\"stdout\",\"text\":\"not the user's\"}");
	/* The user's code is sent when the set-up is known to be done. */
	assert_int_equal(shell(f, MSG_EXECUTE_REPLY, "base-s", OK), EXECUTION_USER);
	iopub(f, MSG_STATUS, "base-s", IDLE);
	begin_user(f);
	shell(f, MSG_EXECUTE_REPLY, "base-u", OK);
	/* The client's end does not wait for the clean-up; the next run does. */
	assert_int_equal(iopub(f, MSG_STATUS, "base-u", IDLE), EXECUTION_ENDED);
	assert_string_equal(written(f), COUNT3 END);
	assert_false(execution_over(&f->e));
	iopub(f, MSG_STATUS, "base-c0", BUSY);
	shell(f, MSG_EXECUTE_REPLY, "base-c0", OK);
	assert_int_equal(iopub(f, MSG_STATUS, "base-c0", IDLE), EXECUTION_OVER);
	assert_string_equal(written(f), "");
}

static void a_failed_set_up_shows_its_error_alone(void **state)
{
	struct fixture *f = *state;

	iopub(f, MSG_STATUS, "base-s", BUSY);
	iopub(f, MSG_ERROR, "base-s", "{\"ename\":\"K\",\"evalue\":\"\",\"traceback\":[]}");
	/* The user's code is never sent, what was set is given back. */
	assert_int_equal(shell(f, MSG_EXECUTE_REPLY, "base-s",
			       "{\"status\":\"error\",\"ename\":\"K\"}"),
			 EXECUTION_CLEANUP);
	assert_int_equal(iopub(f, MSG_STATUS, "base-s", IDLE), EXECUTION_ENDED);
	shell(f, MSG_EXECUTE_REPLY, "base-c0", OK);
	assert_int_equal(iopub(f, MSG_STATUS, "base-c0", IDLE), EXECUTION_OVER);
	assert_string_equal(written(f), "{\"type\": \"error\", \"name\": \"K\", \"value\": \"\", "
					"\"traceback\": \"\"}\n" END);
}

static void skipped(void **state)
{
	struct fixture *f = *state;

	shell(f, MSG_EXECUTE_REPLY, "base-s", OK);
	assert_int_equal(execution_skip(&f->e), EXECUTION_CLEANUP);
	assert_int_equal(iopub(f, MSG_STATUS, "base-c0", BUSY), EXECUTION_ENDED);
	shell(f, MSG_EXECUTE_REPLY, "base-c0", OK);
	assert_int_equal(iopub(f, MSG_STATUS, "base-c0", IDLE), EXECUTION_OVER);
	assert_non_null(strstr(written(f), "ExecutionAborted"));
}

static void an_aborted_clean_up_is_sent_again(void **state)
{
	struct fixture *f = *state;
	char id[] = "base-c0";

	shell(f, MSG_EXECUTE_REPLY, "base-s", OK);
	shell(f, MSG_EXECUTE_REPLY, "base-u", OK);
	iopub(f, MSG_STATUS, "base-u", IDLE);
	for (int i = 0; i < 5; i++) {
		id[6] = (char)('0' + i);
		shell(f, MSG_EXECUTE_REPLY, id, "{\"status\":\"aborted\"}");
		assert_int_equal(iopub(f, MSG_STATUS, id, IDLE), EXECUTION_CLEANUP);
		id[6]++;
		assert_string_equal(f->e.x[EXCHANGE_CLEANUP].msg_id, id);
		assert_false(execution_over(&f->e));
	}
	/* Not for ever. */
	shell(f, MSG_EXECUTE_REPLY, id, "{\"status\":\"aborted\"}");
	assert_int_equal(iopub(f, MSG_STATUS, id, IDLE), EXECUTION_OVER);
}

static void an_interrupted_clean_up_is_sent_again(void **state)
{
	struct fixture *f = *state;

	shell(f, MSG_EXECUTE_REPLY, "base-s", OK);
	shell(f, MSG_EXECUTE_REPLY, "base-u", OK);
	shell(f, MSG_EXECUTE_REPLY, "base-c0",
	      "{\"status\":\"error\",\"ename\":\"KeyboardInterrupt\"}");
	assert_true(iopub(f, MSG_STATUS, "base-c0", IDLE) & EXECUTION_CLEANUP);
	shell(f, MSG_EXECUTE_REPLY, "base-c1", OK);
	assert_true(iopub(f, MSG_STATUS, "base-c1", IDLE) & EXECUTION_OVER);
	assert_null(strstr(written(f), "KeyboardInterrupt"));
}

static void a_later_requests_output_proves_an_idle(void **state)
{
	struct fixture *f = *state;

	shell(f, MSG_EXECUTE_REPLY, "base-s", OK);
	begin_user(f);
	shell(f, MSG_EXECUTE_REPLY, "base-u", OK);
	assert_true(iopub(f, MSG_STATUS, "base-c0", BUSY) & EXECUTION_ENDED);
}

static void a_later_requests_reply_proves_a_death(void **state)
{
	struct fixture *f = *state;

	shell(f, MSG_EXECUTE_REPLY, "base-s", OK);
	begin_user(f);
	shell(f, MSG_EXECUTE_REPLY, "base-c0", OK);
	assert_true(iopub(f, MSG_STATUS, "base-c0", IDLE) & EXECUTION_ENDED);
	assert_non_null(strstr(written(f), "UnexpectedEndOfExecution"));
}

static void a_lost_idle_is_fenced(void **state)
{
	struct fixture *f = *state;

	begin_user(f);
	shell(f, MSG_EXECUTE_REPLY, "base-u", OK);
	f->now += 1999;
	assert_int_equal(execution_tick(&f->e, f->now), 0);
	f->now += 1;
	assert_int_equal(execution_tick(&f->e, f->now), EXECUTION_FENCE);
	assert_int_equal(shell(f, MSG_KERNEL_INFO_REPLY, f->e.fence.msg_id, "{}"), 0);
	assert_false(f->e.ended);
	iopub(f, MSG_STATUS, f->e.fence.msg_id, BUSY);
	assert_int_equal(iopub(f, MSG_STATUS, f->e.fence.msg_id, IDLE),
			 EXECUTION_ENDED | EXECUTION_OVER);
	assert_non_null(strstr(written(f), "output may be missing"));
}

/* Nothing was lost, it was slow: no notice. */
static void a_slow_idle_in_front_of_the_fence(void **state)
{
	struct fixture *f = *state;

	begin_user(f);
	shell(f, MSG_EXECUTE_REPLY, "base-u", OK);
	f->now += 3000;
	assert_int_equal(execution_tick(&f->e, f->now), EXECUTION_FENCE);
	assert_int_equal(iopub(f, MSG_STATUS, "base-u", IDLE), EXECUTION_ENDED | EXECUTION_OVER);
	iopub(f, MSG_STATUS, f->e.fence.msg_id, IDLE);
	assert_string_equal(written(f), COUNT3 END);
}

static void lost_fences_end_it(void **state)
{
	struct fixture *f = *state;
	unsigned fences = 0;
	unsigned todo = 0;

	begin_user(f);
	shell(f, MSG_EXECUTE_REPLY, "base-u", OK);
	for (int i = 0; i < 100 && !(todo & EXECUTION_ENDED); i++) {
		f->now += 500;
		todo = execution_tick(&f->e, f->now);
		fences += (todo & EXECUTION_FENCE) != 0;
	}
	assert_int_equal(fences, 3);
	assert_true(todo & EXECUTION_OVER);
	assert_int_equal(f->now, 1000 + 8000);
	assert_non_null(strstr(written(f), "output may be missing"));
	assert_null(strstr(f->out.data, "\"error\""));
}

static void a_lost_reply_is_found_by_the_fence(void **state)
{
	struct fixture *f = *state;

	begin_user(f);
	iopub(f, MSG_STATUS, "base-u", IDLE);
	f->now += 2000;
	assert_int_equal(execution_tick(&f->e, f->now), EXECUTION_FENCE);
	assert_int_equal(shell(f, MSG_KERNEL_INFO_REPLY, f->e.fence.msg_id, "{}"),
			 EXECUTION_ENDED | EXECUTION_OVER);
	assert_non_null(strstr(written(f), "UnexpectedEndOfExecution"));
}

/* One fence in the back of a silent one: it cannot end what runs. */
static void a_silent_cell_is_fenced_once(void **state)
{
	struct fixture *f = *state;

	begin_user(f);
	f->now += 9999;
	assert_int_equal(execution_tick(&f->e, f->now), 0);
	f->now += 1;
	assert_int_equal(execution_tick(&f->e, f->now), EXECUTION_FENCE);
	f->now += 3600000;
	assert_int_equal(execution_tick(&f->e, f->now), 0);
	shell(f, MSG_EXECUTE_REPLY, "base-u", OK);
	assert_true(iopub(f, MSG_STATUS, "base-u", IDLE) & EXECUTION_OVER);
	assert_string_equal(written(f), COUNT3 END);
}

static void what_vanished_without_a_word_is_found(void **state)
{
	struct fixture *f = *state;

	begin_user(f);
	f->now += 10000;
	assert_int_equal(execution_tick(&f->e, f->now), EXECUTION_FENCE);
	shell(f, MSG_KERNEL_INFO_REPLY, f->e.fence.msg_id, "{}");
	assert_true(iopub(f, MSG_STATUS, f->e.fence.msg_id, IDLE) & EXECUTION_OVER);
	assert_non_null(strstr(written(f), "UnexpectedEndOfExecution"));
}

static void reconnected_to_another_process(void **state)
{
	struct fixture *f = *state;

	begin_user(f);
	assert_int_equal(execution_reconnected(&f->e, f->now), EXECUTION_FENCE);
	assert_int_equal(shell(f, MSG_KERNEL_INFO_REPLY, f->e.fence.msg_id, "{}") & EXECUTION_ENDED,
			 0);
	assert_true(iopub(f, MSG_STATUS, f->e.fence.msg_id, IDLE) & EXECUTION_OVER);
	assert_non_null(strstr(written(f), "UnexpectedEndOfExecution"));
}

static void reconnected_to_the_same(void **state)
{
	struct fixture *f = *state;

	begin_user(f);
	execution_reconnected(&f->e, f->now);
	iopub(f, MSG_STREAM, "base-u", "{\"name\":\"stdout\",\"text\":\"replayed\"}");
	shell(f, MSG_EXECUTE_REPLY, "base-u", OK);
	iopub(f, MSG_STATUS, "base-u", IDLE);
	shell(f, MSG_KERNEL_INFO_REPLY, f->e.fence.msg_id, "{}");
	iopub(f, MSG_STATUS, f->e.fence.msg_id, IDLE);
	assert_non_null(strstr(written(f), "replayed"));
	assert_null(strstr(f->out.data, "\"error\""));
	assert_null(strstr(f->out.data, "missing"));
}

static void failing_ends_once(void **state)
{
	struct fixture *f = *state;

	begin_user(f);
	assert_int_equal(execution_fail(&f->e, "ContextDeleted", SPAN_LIT("gone")),
			 EXECUTION_ENDED | EXECUTION_OVER);
	assert_int_equal(execution_fail(&f->e, "Another", SPAN_LIT("gone")), 0);
	shell(f, MSG_EXECUTE_REPLY, "base-u", OK);
	iopub(f, MSG_STATUS, "base-u", IDLE);
	assert_string_equal(written(f),
			    COUNT3 "{\"type\": \"error\", \"name\": \"ContextDeleted\", "
				   "\"value\": \"gone\", \"traceback\": \"\"}\n" END);
}

static void cut_short_stays_in_the_kernel(void **state)
{
	struct fixture *f = *state;

	begin_user(f);
	assert_int_equal(execution_cut_short(&f->e, "MessageTooLarge", SPAN_LIT("x")),
			 EXECUTION_ENDED);
	assert_false(execution_over(&f->e));
	assert_int_equal(iopub(f, MSG_STREAM, "base-u", "{\"name\":\"stdout\",\"text\":\"x\"}"),
			 EXECUTION_LATE);
	shell(f, MSG_EXECUTE_REPLY, "base-u", OK);
	assert_int_equal(iopub(f, MSG_STATUS, "base-u", IDLE), EXECUTION_OVER);
}

static void input_is_refused_and_answered(void **state)
{
	struct fixture *f = *state;

	begin_user(f);
	assert_true(message(f, JUPYTER_STDIN, MSG_INPUT_REQUEST, "base-u", "{\"prompt\":\"? \"}") &
		    EXECUTION_INPUT);
	assert_non_null(strstr(written(f), "StdinNotImplementedError"));
}

static void muted(void **state)
{
	struct fixture *f = *state;

	begin_user(f);
	execution_mute(&f->e);
	iopub(f, MSG_STREAM, "base-u", "{\"name\":\"stdout\",\"text\":\"x\"}");
	assert_string_equal(written(f), COUNT3);
}

static void pager_text_is_output(void **state)
{
	struct fixture *f = *state;

	begin_user(f);
	shell(f, MSG_EXECUTE_REPLY, "base-u",
	      "{\"status\":\"ok\",\"payload\":[{\"source\":\"page\",\"data\":{\"text/plain\":"
	      "\"\\u001b[31mHelp\\u001b[0m\"}},{\"source\":\"set_next_input\",\"text\":\"x\"}]}");
	iopub(f, MSG_STATUS, "base-u", IDLE);
	assert_non_null(strstr(written(f), "{\"type\": \"stdout\", \"text\": \"Help\\n\""));
}

/* Whatever comes in whatever order: at most one error, exactly one end at the
 * end, and it gets over. A small generator of bad histories. */
static void any_history_ends_once(void **state)
{
	static const struct {
		enum jupyter_channel channel;
		enum jupyter_type type;
		const char *content;
	} kinds[] = {
		{ JUPYTER_IOPUB, MSG_STATUS, BUSY },
		{ JUPYTER_IOPUB, MSG_STATUS, IDLE },
		{ JUPYTER_IOPUB, MSG_STREAM, "{\"name\":\"stdout\",\"text\":\"x\"}" },
		{ JUPYTER_IOPUB, MSG_ERROR, "{\"ename\":\"E\",\"evalue\":\"\",\"traceback\":[]}" },
		{ JUPYTER_SHELL, MSG_EXECUTE_REPLY, OK },
		{ JUPYTER_SHELL, MSG_EXECUTE_REPLY, "{\"status\":\"error\"}" },
		{ JUPYTER_SHELL, MSG_EXECUTE_REPLY, "{\"status\":\"aborted\"}" },
		{ JUPYTER_SHELL, MSG_KERNEL_INFO_REPLY, "{}" },
		{ JUPYTER_STDIN, MSG_INPUT_REQUEST, "{}" },
		{ JUPYTER_IOPUB, MSG_EXECUTE_INPUT, "{\"execution_count\":3}" },
	};
	uint32_t seed = 12345;

	for (int round = 0; round < 3000; round++) {
		struct fixture *f = *state;
		const char *ids[] = { "base-s", "base-u", f->e.x[EXCHANGE_CLEANUP].msg_id,
				      f->e.fence.msg_id, "foreign" };
		const char *p;
		unsigned ends = 0;
		unsigned errors = 0;

		for (int i = 0; i < 25; i++) {
			seed = seed * 1664525u + 1013904223u;
			f->now += (seed >> 8) % 1500;
			message(f, kinds[(seed >> 16) % ARRAY_LEN(kinds)].channel,
				kinds[(seed >> 16) % ARRAY_LEN(kinds)].type, ids[(seed >> 24) % 5],
				kinds[(seed >> 16) % ARRAY_LEN(kinds)].content);
			execution_tick(&f->e, f->now);
			if ((seed >> 12) % 97 == 0)
				execution_reconnected(&f->e, f->now);
		}
		execution_fail(&f->e, "Last", SPAN_LIT("x"));
		assert_true(execution_over(&f->e));
		assert_true(f->e.ended);
		for (p = written(f); (p = strstr(p, END)) != NULL; p += strlen(END)) {
			ends++;
			assert_int_equal(p[strlen(END)], '\0');
		}
		for (p = f->out.data; (p = strstr(p, "{\"type\": \"error\"")) != NULL; p++)
			errors++;
		assert_int_equal(ends, 1);
		assert_true(errors <= 1);
		drop(state);
		(round % 2 ? make : make_env)(state);
	}
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, make, drop)
#define TE(fn) cmocka_unit_test_setup_teardown(fn, make_env, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(one_plus_one),
		T(idle_before_reply),
		T(the_count_may_come_with_the_reply),
		T(an_idle_before_anything_is_not_the_end),
		T(others_are_foreign),
		T(an_error_is_written_once),
		T(an_error_only_in_the_reply),
		T(aborted),
		TE(with_environment),
		TE(a_failed_set_up_shows_its_error_alone),
		TE(skipped),
		TE(an_aborted_clean_up_is_sent_again),
		TE(an_interrupted_clean_up_is_sent_again),
		TE(a_later_requests_output_proves_an_idle),
		TE(a_later_requests_reply_proves_a_death),
		T(a_lost_idle_is_fenced),
		T(a_slow_idle_in_front_of_the_fence),
		T(lost_fences_end_it),
		T(a_lost_reply_is_found_by_the_fence),
		T(a_silent_cell_is_fenced_once),
		T(what_vanished_without_a_word_is_found),
		T(reconnected_to_another_process),
		T(reconnected_to_the_same),
		T(failing_ends_once),
		T(cut_short_stays_in_the_kernel),
		T(input_is_refused_and_answered),
		T(muted),
		T(pager_text_is_output),
		T(any_history_ends_once),
	};

	return cmocka_run_group_tests_name("execution", tests, NULL, NULL);
}
