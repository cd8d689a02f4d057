/*
 * test_ids.c - names, slots, digests, patterns, clocks and log lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/regex.h"

/* ---- slots ----------------------------------------------------------------------- */

/* Computed by a second implementation, from the published algorithm. */
static void murmur_vectors(void **state)
{
	static const struct {
		struct span key;
		uint32_t hash;
		unsigned slot;
	} rows[] = {
		{ SPAN_LIT(""), 0, 0 },
		{ SPAN_LIT("a"), 0x92685f5e, 9 },
		{ SPAN_LIT("ab"), 0x1aa14063, 1 },
		{ SPAN_LIT("abc"), 0x13577c9b, 1 },
		{ SPAN_LIT("abcd"), 0x26873021, 2 },
		{ SPAN_LIT("default"), 0x198ec3e3, 1 },
		{ SPAN_LIT("sandbox-1"), 0x9e1cba36, 9 },
		{ SPAN_LIT("\xff\xfe\xfd\xfc\xfb"), 0xfae45ebc, 15 },
		{ SPAN_LIT("\0\0\0\0\0\0\0\0"), 0x93b132bc, 9 },
		{ SPAN_LIT("\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80"), 0xa24eae91, 10 },
		{ SPAN_LIT("0123456789abcdef0123456789abcdef"), 0x733233f1, 7 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(ids_murmur2(rows[i].key), rows[i].hash);
		assert_int_equal(ids_slot(rows[i].key), rows[i].slot);
	}
	assert_int_equal(ids_slot(SPAN_NONE), 0);
}

static void every_slot_has_keys(void **state)
{
	static const char *const keys[SLOTS] = { "s6", "s35", "s11", "s0", "s13", "s82",
						 "s9", "s3",  "s22", "s2", "s8",  "s7",
						 "s1", "s4",  "s26", "s32" };

	(void)state;
	for (unsigned i = 0; i < SLOTS; i++)
		assert_int_equal(ids_slot(span_str(keys[i])), i);
}

/* Keys whose hashes stand at both sides of a border: found by running the
 * hash backwards, since by chance one meets none in millions. */
static void slots_end_where_nginx_ends_them(void **state)
{
	static const struct {
		struct span key;
		unsigned slot;
	} rows[] = {
		{ { "\x86\x18\xf1\x19", 4 }, 0 },  { { "\x5d\x55\x8b\xac", 4 }, 1 },
		{ { "\x99\xcc\x0e\xeb", 4 }, 14 }, { { "\x96\xde\x0c\x0e", 4 }, 15 },
		{ { "\xa2\x41\xaa\x60", 4 }, 15 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(ids_slot(rows[i].key), rows[i].slot);
}

/* ---- names ------------------------------------------------------------------------ */

static void uuids_are_version_4(void **state)
{
	char a[UUID_LEN + 1];
	char b[UUID_LEN + 1];

	(void)state;
	ids_uuid(a);
	ids_uuid(b);
	assert_string_not_equal(a, b);
	assert_int_equal(strlen(a), UUID_LEN);
	for (size_t i = 0; i < UUID_LEN; i++) {
		if (i == 8 || i == 13 || i == 18 || i == 23)
			assert_int_equal(a[i], '-');
		else
			assert_true(isdigit((unsigned char)a[i]) || (a[i] >= 'a' && a[i] <= 'f'));
	}
	assert_int_equal(a[14], '4');
	assert_non_null(strchr("89ab", a[19]));
}

static void hex_of_any_length(void **state)
{
	char text[2 * 200 + 2];

	(void)state;
	for (size_t n = 0; n <= 200; n += 25) {
		memset(text, '#', sizeof(text));
		ids_hex(text, n);
		assert_int_equal(strlen(text), 2 * n);
		assert_int_equal(strspn(text, "0123456789abcdef"), 2 * n);
		assert_int_equal(text[2 * n + 1], '#');
	}
}

/* ---- digests ------------------------------------------------------------------------ */

static void sha256_vectors(void **state)
{
	/* FIPS 180-2, and the empty message. */
	static const char *const rows[][2] = {
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	};
	unsigned char want[DIGEST_LEN];
	unsigned char got[DIGEST_LEN];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(digest_parse(span_str(rows[i][1]), want), 0);
		digest_sha256(span_str(rows[i][0]), got);
		assert_true(digest_eq(want, got));
		got[31] ^= 1;
		assert_false(digest_eq(want, got));
	}
	digest_sha256(SPAN_NONE, got);
	assert_true(digest_eq(want, got));
}

static void digest_parse_is_strict(void **state)
{
	char hex[66] = "BA7816BF8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
	unsigned char out[DIGEST_LEN];
	unsigned char before[DIGEST_LEN];

	(void)state;
	assert_int_equal(digest_parse(span_str(hex), out), 0);
	assert_int_equal(out[0], 0xba);
	assert_int_equal(out[31], 0xad);
	memcpy(before, out, sizeof(out));
	assert_int_equal(digest_parse(span_of(hex, 63), out), -EINVAL);
	assert_int_equal(digest_parse(span_of(hex, 65), out), -EINVAL);
	assert_int_equal(digest_parse(SPAN_NONE, out), -EINVAL);
	hex[63] = 'g';
	assert_int_equal(digest_parse(span_str(hex), out), -EINVAL);
	assert_memory_equal(out, before, sizeof(out));
}

/* ---- patterns ------------------------------------------------------------------------ */

static bool matches(const char *pattern, struct span subject)
{
	struct buf why = BUF_INIT(300);
	struct regex *re = NULL;
	bool yes;

	assert_int_equal(regex_new(span_str(pattern), &re, &why), 0);
	assert_int_equal(why.len, 0);
	yes = regex_matches(re, subject);
	regex_free(re);
	buf_free(&why);
	return yes;
}

static void regex_is_anchored(void **state)
{
	(void)state;
	assert_true(matches("a+", SPAN_LIT("aaa")));
	assert_false(matches("a+", SPAN_LIT("aaab")));
	assert_false(matches("a+", SPAN_LIT("baaa")));
	assert_true(matches("a|ab", SPAN_LIT("ab"))); /* the end counts for the choice */
	assert_false(matches("a", SPAN_LIT("a\n")));
	assert_false(matches("a$", SPAN_LIT("a\n")));
	assert_true(matches("", SPAN_NONE));
	assert_true(matches("a.b", SPAN_LIT("a\0b")));
	regex_free(NULL);
}

static void regex_says_why(void **state)
{
	struct buf why = BUF_INIT(300);
	struct regex *re = NULL;

	(void)state;
	assert_int_equal(regex_new(SPAN_LIT("ab(c"), &re, &why), -EINVAL);
	assert_null(re);
	assert_non_null(strstr(why.data, "at offset 4"));
	assert_non_null(strstr(why.data, "parenthesis"));
	buf_free(&why);
}

/* Exponential without a limit: minutes, not milliseconds. */
static void regex_gives_up(void **state)
{
	uint64_t start = clock_ms();

	(void)state;
	assert_false(matches("(a+)+(b|c)", SPAN_LIT("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaad")));
	assert_in_range(clock_ms() - start, 0, 5000);
	/* Some 2^20 steps, then it would match: that is above our limit already. */
	assert_false(matches("(a+)+b|a+c", SPAN_LIT("aaaaaaaaaaaaaaaaaaaac")));
	assert_true(matches("(a+)+b|a+c", SPAN_LIT("aaaac")));
}

/* ---- clocks -------------------------------------------------------------------------- */

static void clock_iso_as_jupyter(void **state)
{
	char text[CLOCK_ISO_LEN];
	int y, mo, d, h, mi, s, us;
	char z;

	(void)state;
	clock_iso(text);
	assert_int_equal(strlen(text), 27);
	assert_int_equal(sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%6d%c", &y, &mo, &d, &h, &mi, &s,
				&us, &z),
			 8);
	assert_int_equal(z, 'Z');
	assert_true(clock_wall_ms() > UINT64_C(1600000000000));
	assert_true(clock_us() / 1000 <= clock_ms());
}

/* ---- log lines ------------------------------------------------------------------------ */

/* What one call writes on stderr. */
#define LOGGED(out, call)                                                                          \
	do {                                                                                       \
		int pipe_[2];                                                                      \
		int old_ = dup(STDERR_FILENO);                                                     \
		ssize_t n_;                                                                        \
                                                                                                   \
		assert_int_equal(pipe(pipe_), 0);                                                  \
		dup2(pipe_[1], STDERR_FILENO);                                                     \
		close(pipe_[1]);                                                                   \
		call;                                                                              \
		dup2(old_, STDERR_FILENO);                                                         \
		close(old_);                                                                       \
		n_ = read(pipe_[0], out, sizeof(out) - 1);                                         \
		close(pipe_[0]);                                                                   \
		assert_true(n_ >= 0);                                                              \
		(out)[n_] = '\0';                                                                  \
	} while (0)

static void log_writes_one_line(void **state)
{
	char out[4096];

	(void)state;
	log_init("worker 1", LOG_INFO);
	LOGGED(out, log_info("started %d", 7));
	assert_string_equal(out + 27, " info worker 1: started 7\n");
	LOGGED(out, log_debug("hidden"));
	assert_string_equal(out, "");
	LOGGED(out, log_error("bad"));
	assert_string_equal(out + 27, " error worker 1: bad\n");
}

static void log_cannot_be_forged(void **state)
{
	char out[4096];

	(void)state;
	log_init("m", LOG_INFO);
	LOGGED(out, log_warn("a\nb\r\t\x1b[31m\x7f"));
	assert_string_equal(out + 27, " warn m: a\\x0ab\\x0d\\x09\\x1b[31m\\x7f\n");
	LOGGED(out, log_warn("%s", "caf\xc3\xa9 \xc2\x85 \xe2\x80\xa8 \xff."));
	assert_string_equal(out + 27, " warn m: caf\xc3\xa9 \\xc2\\x85 \\xe2\\x80\\xa8 \\xff.\n");
}

static void log_cuts_long_lines(void **state)
{
	char text[5000];
	char out[6000];

	(void)state;
	log_init("m", LOG_INFO);
	for (size_t shift = 0; shift < 4; shift++) {
		memset(text, 'x', sizeof(text));
		for (size_t i = shift; i + 3 < sizeof(text); i += 3)
			memcpy(text + i, "\xe4\xb8\xad", 3);
		text[sizeof(text) - 1] = '\0';
		LOGGED(out, log_info("%s", text));
		assert_in_range(strlen(out), 1990, 2000);
		assert_int_equal(out[strlen(out) - 1], '\n');
		assert_null(strstr(out, "\\x")); /* cut between characters */
	}
	memset(text, '\n', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	LOGGED(out, log_info("%s", text));
	assert_in_range(strlen(out), 1990, 2000);
	assert_string_equal(out + strlen(out) - 5, "\\x0a\n");
}

static void log_keeps_errno(void **state)
{
	char out[4096];

	(void)state;
	errno = EAGAIN;
	LOGGED(out, log_info("x"); assert_int_equal(errno, EAGAIN));
}

static void log_levels(void **state)
{
	enum log_level level = LOG_ERROR;

	(void)state;
	assert_int_equal(log_level_parse("debug", &level), 0);
	assert_int_equal(level, LOG_DEBUG);
	assert_int_equal(log_level_parse("Debug", &level), -EINVAL);
	assert_int_equal(log_level_parse("", &level), -EINVAL);
	assert_int_equal(level, LOG_DEBUG);
	log_init("m", LOG_WARN);
	assert_false(log_on(LOG_INFO));
	assert_true(log_on(LOG_WARN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(murmur_vectors),
		cmocka_unit_test(every_slot_has_keys),
		cmocka_unit_test(slots_end_where_nginx_ends_them),
		cmocka_unit_test(uuids_are_version_4),
		cmocka_unit_test(hex_of_any_length),
		cmocka_unit_test(sha256_vectors),
		cmocka_unit_test(digest_parse_is_strict),
		cmocka_unit_test(regex_is_anchored),
		cmocka_unit_test(regex_says_why),
		cmocka_unit_test(regex_gives_up),
		cmocka_unit_test(clock_iso_as_jupyter),
		cmocka_unit_test(log_writes_one_line),
		cmocka_unit_test(log_cannot_be_forged),
		cmocka_unit_test(log_cuts_long_lines),
		cmocka_unit_test(log_keeps_errno),
		cmocka_unit_test(log_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
