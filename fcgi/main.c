/*
 * main.c - the command line: check a configuration, be a master, be a worker.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config.h"
#include "master.h"
#include "worker.h"

#define OPTIONS_MAX 64

static const char usage_text[] =
	"usage: nb2-fcgi -c FILE [-o key=value]... [-t]\n"
	"\n"
	"  -c FILE       the settings; conf/nb2.conf has all of them with their defaults\n"
	"  -o KEY=VALUE  one setting; wins over the file\n"
	"  -t            check the settings and exit\n"
	"  -V            print the version and exit\n"
	"\n"
	"Runs in the foreground and logs to standard error. SIGTERM stops it in order,\n"
	"SIGHUP reads the tokens again.\n";

struct command {
	const char *file;
	const char *options[OPTIONS_MAX];
	size_t n_options;
	const char *worker; /* by the master only */
	bool check;
};

/* 0: go on; else exit with this status less one. */
static int command_parse(int argc, char **argv, struct command *c)
{
	static const struct option longs[] = { { "worker", required_argument, NULL, 'w' },
					       { "help", no_argument, NULL, 'h' },
					       { "version", no_argument, NULL, 'V' },
					       { NULL, 0, NULL, 0 } };
	int o;

	while ((o = getopt_long(argc, argv, "c:o:thV", longs, NULL)) != -1) {
		switch (o) {
		case 'c':
			c->file = optarg;
			break;
		case 'o':
			if (c->n_options == OPTIONS_MAX)
				return 1 + 2;
			c->options[c->n_options++] = optarg;
			break;
		case 't':
			c->check = true;
			break;
		case 'w':
			c->worker = optarg;
			break;
		case 'V':
			puts("nb2-fcgi " NB2_VERSION);
			return 1 + 0;
		case 'h':
			fputs(usage_text, stdout);
			return 1 + 0;
		default:
			fputs(usage_text, stderr);
			return 1 + 2;
		}
	}
	if (optind == argc && (c->file || c->n_options))
		return 0;
	fputs(usage_text, stderr);
	return 1 + 2;
}

static int be_worker(const struct config *config, const struct command *c)
{
	struct worker_args args = { .config = config, .config_file = c->file };

	if (master_worker_parse(c->worker, &args) != 0) {
		fputs("nb2-fcgi: --worker is for the master's use\n", stderr);
		return 2;
	}
	return worker_run(&args);
}

int main(int argc, char **argv)
{
	struct command c = { 0 };
	struct config config;
	struct buf why = BUF_INIT(4096);
	char program[PATH_MAX];
	ssize_t n;
	int r = command_parse(argc, argv, &c);

	if (r != 0)
		return r - 1;
	if (config_load(c.file, c.options, c.n_options, &config, &why) != 0) {
		fprintf(stderr, "nb2-fcgi: %s\n", why.data ? why.data : "the settings are wrong");
		buf_free(&why);
		return 1;
	}
	if (c.check) {
		puts("the settings are fine");
		r = 0;
	} else if (c.worker) {
		r = be_worker(&config, &c);
	} else {
		n = readlink("/proc/self/exe", program, sizeof(program) - 1);
		program[n > 0 ? n : 0] = '\0';
		r = master_run(&config, program, argv, argc);
	}
	config_free(&config);
	return r;
}
