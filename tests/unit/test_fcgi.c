/*
 * test_fcgi.c - FastCGI records taken apart, however they come.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fastcgi.h>

#include "http/fcgi_int.h"

static void record(struct buf *b, uint8_t type, uint16_t id, const char *content, size_t len,
		   uint8_t padding)
{
	unsigned char head[8];

	fcgi_header(head, type, id, (uint16_t)len);
	head[6] = padding;
	buf_append(b, head, 8);
	buf_append(b, content, len);
	for (int i = 0; i < padding; i++)
		buf_putc(b, 'P');
}

static void begin(struct buf *b, uint16_t id, uint16_t role, uint8_t flags)
{
	char body[8] = { (char)(role >> 8), (char)(role & 255), (char)flags };

	record(b, FCGI_BEGIN_REQUEST, id, body, 8, 0);
}

/* What the events said, as text: one letter a kind, content in brackets. */
static int told(struct span in, size_t step, struct buf *out)
{
	static const char letters[] = "BPSAVUO";
	struct fcgi_input ri = { 0 };
	struct fcgi_event ev;
	int open = -1; /* the kind whose record goes on */
	int n = 0;

	while (in.len > 0 && n >= 0) {
		struct span piece = span_of(in.ptr, step < in.len ? step : in.len);

		in = span_of(in.ptr + piece.len, in.len - piece.len);
		while ((n = fcgi_next(&ri, &piece, &ev)) == 1) {
			if (open != (int)ev.kind || ev.kind == REC_BEGIN)
				buf_printf(out, "%c%u:", letters[ev.kind], ev.id);
			buf_span_append(out, ev.data);
			if (ev.kind == REC_BEGIN)
				buf_printf(out, "%u%s", ev.role, ev.keep ? "k" : "");
			open = (int)ev.kind;
			if (ev.last || ev.kind == REC_BEGIN) {
				buf_putc(out, ';');
				open = -1;
			}
		}
		assert_int_equal(piece.len, n < 0 ? piece.len : 0);
	}
	return n;
}

static void pieces_make_no_difference(void **state)
{
	struct buf b = BUF_INIT(1 << 20);

	(void)state;
	begin(&b, 1, FCGI_RESPONDER, FCGI_KEEP_CONN);
	record(&b, FCGI_PARAMS, 1, "abc", 3, 5);
	record(&b, FCGI_PARAMS, 1, "", 0, 0);
	record(&b, FCGI_STDIN, 1, "body of some length", 19, 255);
	record(&b, FCGI_STDIN, 1, "", 0, 3);
	record(&b, FCGI_ABORT_REQUEST, 1, "", 0, 0);
	record(&b, FCGI_GET_VALUES, 0, "xy", 2, 0);
	record(&b, 99, 0, "what", 4, 1);
	record(&b, FCGI_DATA, 1, "data", 4, 0);
	begin(&b, 0x1234, 7, 0);
	for (size_t step = 1; step <= b.len; step++) {
		struct buf out = BUF_INIT(4096);

		assert_int_equal(told(buf_span(&b), step, &out), 0);
		assert_string_equal(out.data, "B1:1k;P1:abc;P1:;S1:body of some length;S1:;A1:;"
					      "V0:xy;U0:what;O1:data;B4660:7;");
		buf_free(&out);
	}
	buf_free(&b);
}

static void what_is_no_fastcgi(void **state)
{
	struct buf out = BUF_INIT(4096);
	struct buf b = BUF_INIT(4096);

	(void)state;
	assert_int_equal(told(SPAN_LIT("GET / HTTP/1.0\r\n\r\n"), 100, &out), -EBADMSG);
	/* A BEGIN body has eight bytes and no others. */
	record(&b, FCGI_BEGIN_REQUEST, 1, "1234567", 7, 0);
	assert_int_equal(told(buf_span(&b), 100, &out), -EBADMSG);
	buf_reset(&b);
	record(&b, FCGI_BEGIN_REQUEST, 1, "123456789", 9, 0);
	assert_int_equal(told(buf_span(&b), 1, &out), -EBADMSG);
	buf_free(&b);
	buf_free(&out);
}

static void pairs(void **state)
{
	char big[4 + 1 + 300 + 1];
	struct span rest = SPAN_LIT("\3\2abcde\0\1x\1\0y");
	struct span name;
	struct span value;

	(void)state;
	assert_int_equal(fcgi_pair(&rest, &name, &value), 1);
	assert_true(span_is(name, "abc") && span_is(value, "de"));
	assert_int_equal(fcgi_pair(&rest, &name, &value), 1);
	assert_true(name.len == 0 && span_is(value, "x"));
	assert_int_equal(fcgi_pair(&rest, &name, &value), 1);
	assert_true(span_is(name, "y") && value.len == 0);
	assert_int_equal(fcgi_pair(&rest, &name, &value), 0);

	/* A length of four bytes, where one of one byte would do as well. */
	memset(big, 'n', sizeof(big));
	memcpy(big, "\x80\0\1\x2c\1", 5);
	rest = span_of(big, sizeof(big));
	assert_int_equal(fcgi_pair(&rest, &name, &value), 1);
	assert_int_equal(name.len, 300);
	assert_int_equal(value.len, 1);
	assert_int_equal(rest.len, 0);
}

static void pairs_that_lie(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} cases[] = {
		{ "\1", 1 },
		{ "\1\1a", 3 },
		{ "\2\0a", 3 },
		{ "\x80\0\0", 3 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff", 8 },
		{ "\x7f\xff\xff\xff\xff", 5 },
		{ "\0\xff\xff\xff\xff", 5 },
	};
	struct span name;
	struct span value;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct span rest = span_of(cases[i].bytes, cases[i].len);

		assert_int_equal(fcgi_pair(&rest, &name, &value), -EBADMSG);
	}
}

/* The names that are known, each once however often it is asked for. */
static void values(void **state)
{
	struct buf wanted = BUF_INIT(1 << 20);
	struct buf out = BUF_INIT(1 << 20);
	struct span rest;
	struct span name;
	struct span value;

	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_append(&wanted, "\17\0FCGI_MPXS_CONNS\1\0X", 20);
	fcgi_values(&out, buf_span(&wanted));
	assert_int_equal((unsigned char)out.data[1], FCGI_GET_VALUES_RESULT);
	rest = span_of(out.data + 8, out.len - 8);
	assert_int_equal(fcgi_pair(&rest, &name, &value), 1);
	assert_true(span_is(name, "FCGI_MPXS_CONNS") && span_is(value, "0"));
	assert_int_equal(fcgi_pair(&rest, &name, &value), 0);
	buf_free(&wanted);
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_make_no_difference),
		cmocka_unit_test(what_is_no_fastcgi),
		cmocka_unit_test(pairs),
		cmocka_unit_test(pairs_that_lie),
		cmocka_unit_test(values),
	};

	return cmocka_run_group_tests_name("fcgi", tests, NULL, NULL);
}
