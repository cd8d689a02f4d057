/*
 * fcgi_mutate.c - mutated FastCGI conversations on a running slot's socket.
 *
 *     fcgi_mutate SOCKET [-n CASES] [-s SEED] [-p PID]
 *
 * Each case is a conversation out of good ones (whole, joined, records out of
 * order), with up to a handful of edits, sent in pieces and left in one of four
 * ways. Every CHECK cases a good request must be answered within 5 s. With -p
 * the server's descriptors and memory are looked at: after the first tenth they
 * may not grow. The same seed sends the same bytes. Needs nothing of ours but
 * fastcgi.h, so that it tells about the server alone. The last line says the result.
 */
#include <dirent.h>
#include <errno.h>
#include <fastcgi.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CHECK 500
#define ANSWER_MS 5000
#define STUCK 64 /* connections left open in mid-conversation */
#define CASE_MAX (1u << 18)
#define FDS_MORE 16
#define KIB_MORE (16 * 1024)

struct bytes {
	unsigned char data[CASE_MAX];
	size_t len;
	size_t record[64]; /* where records begin */
	size_t records;
};

static const char *socket_path;
static uint64_t seed = 1;

/* xorshift64*: the same everywhere. */
static uint32_t rnd(uint32_t n)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (uint32_t)((seed * 2685821657736338717ull >> 32) % (n ? n : 1));
}

/* ---- good conversations ---------------------------------------------------------- */

static void put(struct bytes *b, const void *data, size_t len)
{
	if (len > CASE_MAX - b->len)
		len = CASE_MAX - b->len;
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static void put_record(struct bytes *b, int type, int id, const void *data, size_t len)
{
	unsigned char head[8] = { FCGI_VERSION_1,
				  (unsigned char)type,
				  (unsigned char)(id >> 8),
				  (unsigned char)id,
				  (unsigned char)(len >> 8),
				  (unsigned char)len,
				  (unsigned char)(rnd(4) ? 0 : rnd(256)) };
	static const unsigned char padding[256];

	if (b->records < sizeof(b->record) / sizeof(b->record[0]))
		b->record[b->records++] = b->len;
	put(b, head, 8);
	put(b, data, len);
	put(b, padding, head[6]);
}

static size_t put_pair(unsigned char *to, const char *name, const char *value)
{
	size_t n = strlen(name);
	size_t v = strlen(value);
	size_t at = 0;

	to[at++] = (unsigned char)n;
	if (v > 127 || rnd(8) == 0) {
		to[at++] = (unsigned char)(v >> 24 | 0x80);
		to[at++] = (unsigned char)(v >> 16);
		to[at++] = (unsigned char)(v >> 8);
	}
	to[at++] = (unsigned char)v;
	memcpy(to + at, name, n);
	memcpy(to + at + n, value, v);
	return at + n + v;
}

static void put_request(struct bytes *b, int id, bool keep, const char *method, const char *path,
			const char *body)
{
	unsigned char begin[8] = { 0, FCGI_RESPONDER, keep };
	unsigned char p[2048];
	size_t n = 0;
	char length[24];

	snprintf(length, sizeof(length), "%zu", strlen(body));
	n += put_pair(p + n, "REQUEST_METHOD", method);
	n += put_pair(p + n, "REQUEST_URI", path);
	n += put_pair(p + n, "DOCUMENT_URI", path);
	n += put_pair(p + n, "QUERY_STRING", "sid=a%3Ab&token=x&&=&%");
	n += put_pair(p + n, "CONTENT_LENGTH", *body ? length : "");
	n += put_pair(p + n, "CONTENT_TYPE", "application/json");
	n += put_pair(p + n, "HTTP_HOST", "localhost");
	n += put_pair(p + n, "HTTP_COOKIE", "a=b; nb2_=c");
	n += put_pair(p + n, "SERVER_ADDR", "127.0.0.1");
	n += put_pair(p + n, "NB2_LISTENER", rnd(2) ? "main" : "e2b");
	put_record(b, FCGI_BEGIN_REQUEST, id, begin, 8);
	put_record(b, FCGI_PARAMS, id, p, n);
	put_record(b, FCGI_PARAMS, id, p, 0);
	if (*body)
		put_record(b, FCGI_STDIN, id, body, strlen(body));
	put_record(b, FCGI_STDIN, id, body, 0);
}

static void put_values(struct bytes *b)
{
	unsigned char p[4096];
	size_t n = 0;

	for (uint32_t i = rnd(40); i > 0; i--)
		n += put_pair(p + n, rnd(2) ? FCGI_MPXS_CONNS : FCGI_MAX_CONNS, "");
	put_record(b, FCGI_GET_VALUES, 0, p, n);
}

static void put_good(struct bytes *b)
{
	static const char *const paths[] = { "/nb2/health", "/health", "/contexts", "/echo",
					     "/later",	    "/never",  "/stream",   "/idle",
					     "/big",	    "/",       "/nb2/auth", "/execute" };
	static const char *const bodies[] = { "", "{\"code\": 1}", "{\"token\": \"x\"}",
					      "{\"code\": ", "[[[[[[[[" };
	static const char *const verbs[] = { "GET", "POST", "HEAD", "DELETE", "OPTIONS", "X" };
	int id = rnd(4) ? 1 : (int)rnd(65536);

	switch (rnd(10)) {
	case 0:
		put_values(b);
		break;
	case 1:
		put_record(b, (int)rnd(256), 0, "whatever", rnd(9));
		break;
	case 2:
		put_record(b, FCGI_ABORT_REQUEST, id, "", 0);
		break;
	default:
		put_request(b, id, rnd(2), verbs[rnd(6)], paths[rnd(12)], bodies[rnd(5)]);
	}
}

/* ---- and what becomes of them ---------------------------------------------------- */

static void cut_out(struct bytes *b, size_t at, size_t n)
{
	if (n > b->len - at)
		n = b->len - at;
	memmove(b->data + at, b->data + at + n, b->len - at - n);
	b->len -= n;
}

static void put_in(struct bytes *b, size_t at, const unsigned char *data, size_t n)
{
	if (n > CASE_MAX - b->len)
		return;
	memmove(b->data + at + n, b->data + at, b->len - at);
	memmove(b->data + at, data, n);
	b->len += n;
}

/* Two neighbouring records change places, or one is there twice. */
static void reorder(struct bytes *b)
{
	unsigned char copy[4096];
	size_t i = b->records < 3 ? 0 : rnd((uint32_t)b->records - 2);
	size_t from = b->record[i];
	size_t mid = b->record[i + 1];
	size_t to = b->record[i + 2];

	if (b->records < 3 || to > b->len || mid - from > sizeof(copy) || from > mid || mid > to)
		return;
	memcpy(copy, b->data + from, mid - from);
	if (rnd(2)) {
		put_in(b, to, copy, mid - from);
		return;
	}
	memmove(b->data + from, b->data + mid, to - mid);
	memcpy(b->data + from + (to - mid), copy, mid - from);
}

static void edit(struct bytes *b)
{
	static const uint16_t numbers[] = { 0, 1, 7, 8, 127, 128, 255, 256, 32768, 65528, 65535 };
	size_t at = rnd((uint32_t)b->len);
	uint16_t n = numbers[rnd(sizeof(numbers) / sizeof(numbers[0]))];

	switch (rnd(8)) {
	case 0:
		b->data[at] = (unsigned char)rnd(256);
		break;
	case 1:
		b->data[at] ^= (unsigned char)(1u << rnd(8));
		break;
	case 2:
		b->len = at;
		break;
	case 3:
		cut_out(b, at, 1 + rnd(20));
		break;
	case 4:
		put_in(b, at, b->data + rnd((uint32_t)at + 1), rnd(20));
		break;
	case 5:
		b->data[at] = (unsigned char)(n >> 8);
		if (at + 1 < b->len)
			b->data[at + 1] = (unsigned char)n;
		break;
	case 6: /* a header's field */
		at = b->records ? b->record[rnd((uint32_t)b->records)] + rnd(8) : at;
		if (at < b->len)
			b->data[at] = (unsigned char)(rnd(2) ? n : rnd(256));
		break;
	default:
		reorder(b);
	}
}

static void make_case(struct bytes *b)
{
	b->len = b->records = 0;
	for (uint32_t n = 1 + rnd(3); n > 0; n--)
		put_good(b);
	for (uint32_t n = rnd(6); n > 0 && b->len > 1; n--)
		edit(b);
}

/* ---- the wire -------------------------------------------------------------------- */

static int dial(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(a.sun_path, socket_path, strlen(socket_path) + 1);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0) {
		fprintf(stderr, "%s: %s\n", socket_path, strerror(errno));
		return -1;
	}
	return fd;
}

static void send_bytes(int fd, const unsigned char *data, size_t len)
{
	while (len > 0) {
		struct pollfd p = { .fd = fd, .events = POLLOUT };
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && (errno != EAGAIN || poll(&p, 1, ANSWER_MS) != 1))
			return; /* closed on us, as it may be */
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
}

/* Read to the end, keeping what fits: 0, or -1 when the end does not come. */
static int read_all(int fd, struct bytes *b)
{
	unsigned char chunk[65536];
	ssize_t n;

	b->len = 0;
	do {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, ANSWER_MS) != 1)
			return -1;
		n = recv(fd, chunk, sizeof(chunk), 0);
		if (n > 0)
			put(b, chunk, (size_t)n);
	} while (n > 0);
	return 0;
}

/* Is it alive? One good request, its answer whole. */
static int check_alive(void)
{
	static struct bytes b;
	int fd = dial();
	int r;

	if (fd < 0)
		return -1;
	b.len = b.records = 0;
	put_request(&b, 1, false, "GET", "/nb2/health", "");
	send_bytes(fd, b.data, b.len);
	r = read_all(fd, &b);
	close(fd);
	if (r == 0 && b.len > 24 + 14 && memcmp(b.data + 8, "Status: 200 OK", 14) == 0 &&
	    b.data[b.len - 15] == FCGI_END_REQUEST)
		return 0;
	fprintf(stderr, "a good request was not answered (%zu bytes came)\n", b.len);
	return -1;
}

/* Send a case and leave: after the end, at once, or not yet. */
static int run_case(struct bytes *b)
{
	static int stuck[STUCK];
	static bool used[STUCK];
	size_t cut = rnd(3) ? b->len : rnd((uint32_t)b->len + 1);
	uint32_t way = rnd(8);
	uint32_t place;
	int fd = dial();
	int r = 0;

	if (fd < 0)
		return -1;
	send_bytes(fd, b->data, cut);
	send_bytes(fd, b->data + cut, b->len - cut);
	if (way == 0) { /* somebody else's place */
		place = rnd(STUCK);
		if (used[place])
			close(stuck[place]);
		stuck[place] = fd;
		used[place] = true;
		return 0;
	}
	if (way > 2) { /* no more is coming: to the server we have left */
		shutdown(fd, SHUT_WR);
		r = read_all(fd, b);
		if (r != 0)
			fprintf(stderr, "a connection was not closed\n");
	}
	close(fd);
	return r;
}

/* ---- the server's size ----------------------------------------------------------- */

static long fds_of(long pid)
{
	char path[64];
	DIR *d;
	long n = 0;

	snprintf(path, sizeof(path), "/proc/%ld/fd", pid);
	d = opendir(path);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static long kib_of(long pid)
{
	char path[64];
	FILE *f;
	long pages = 0;

	snprintf(path, sizeof(path), "/proc/%ld/statm", pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*d %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * sysconf(_SC_PAGESIZE) / 1024;
}

static int run(long cases, long pid)
{
	static struct bytes b;
	time_t began = time(NULL);
	long fds = 0;
	long kib = 0;

	for (long i = 0; i < cases; i++) {
		make_case(&b);
		if (run_case(&b) != 0 || ((i + 1) % CHECK == 0 && check_alive() != 0)) {
			printf("FAILED at case %ld\n", i);
			return -1;
		}
		if (i == cases / 10) {
			fds = fds_of(pid);
			kib = kib_of(pid);
		}
	}
	if (check_alive() != 0)
		return -1;
	printf("%ld cases in %ld s, all good requests answered", cases, (long)(time(NULL) - began));
	if (pid)
		printf("; descriptors %ld, then %ld; KiB %ld, then %ld", fds, fds_of(pid), kib,
		       kib_of(pid));
	putchar('\n');
	if (pid && (fds_of(pid) > fds + FDS_MORE + STUCK || kib_of(pid) > kib + KIB_MORE)) {
		printf("FAILED: it grows\n");
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	long cases = 100000;
	long pid = 0;
	int c;

	while ((c = getopt(argc, argv, "n:s:p:")) != -1) {
		if (c == 'n')
			cases = strtol(optarg, NULL, 10);
		else if (c == 's')
			seed = strtoull(optarg, NULL, 10) | 1ull << 40; /* never 0 */
		else if (c == 'p')
			pid = strtol(optarg, NULL, 10);
	}
	if (optind != argc - 1 || cases <= 0 || strlen(argv[optind]) > 107) {
		fprintf(stderr, "usage: %s SOCKET [-n CASES] [-s SEED] [-p PID]\n", argv[0]);
		return EXIT_FAILURE;
	}
	socket_path = argv[optind];
	return run(cases, pid) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
