/*
 * replay.c - runs a fuzz target over its seeds as an ordinary test.
 *
 * The program's name says which: replay_X reads tests/fuzz/corpus/X of the
 * source tree ($srcdir, as automake sets it), or the directory it is given.
 * Every seed is also tried cut at each length, since most faults of parsers
 * are at the end of their input. No seeds at all is a failure.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED_MAX 65536
#define CUT_MAX 4096 /* longer seeds are not cut: that is quadratic */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A copy of its own size lets a sanitizer see reads behind the end. */
static void run(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	if (!copy)
		abort();
	memcpy(copy, data, len);
	LLVMFuzzerTestOneInput(copy, len);
	free(copy);
}

static int replay(const char *path)
{
	static uint8_t data[SEED_MAX];
	FILE *f = fopen(path, "rb");
	size_t len;

	if (!f) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	len = fread(data, 1, sizeof(data), f);
	fclose(f);
	run(data, len);
	for (size_t n = 0; n < len && len <= CUT_MAX; n++)
		run(data, n);
	return 0;
}

static int replay_all(const char *dir)
{
	struct dirent **names;
	int n = scandir(dir, &names, NULL, alphasort);
	int seeds = 0;

	if (n < 0) {
		fprintf(stderr, "%s: %s\n", dir, strerror(errno));
		return -1;
	}
	for (int i = 0; i < n; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		if (names[i]->d_name[0] != '.' && seeds >= 0)
			seeds = replay(path) == 0 ? seeds + 1 : -1;
		free(names[i]);
	}
	free(names);
	if (seeds == 0)
		fprintf(stderr, "%s: no seeds\n", dir);
	else if (seeds > 0)
		printf("%d seeds\n", seeds);
	return seeds > 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	const char *srcdir = getenv("srcdir");
	const char *name = strstr(argv[0], "replay_");
	char dir[4096];

	if (argc > 1)
		return replay_all(argv[1]) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	if (!name) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return EXIT_FAILURE;
	}
	snprintf(dir, sizeof(dir), "%s/tests/fuzz/corpus/%s", srcdir ? srcdir : ".",
		 name + strlen("replay_"));
	return replay_all(dir) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
