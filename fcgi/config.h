/*
 * config.h - the settings: conf/nb2.conf is their manual.
 *
 * One table (config.c) has each setting's name, kind and default. Strings are
 * owned by the struct; "" means not set.
 */
#ifndef NB2_CONFIG_H
#define NB2_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/log.h"

#define CONFIG_KERNELS 32

/*        key               kind      field                default */
#define SETTINGS(S)                                                                                \
	S("stateDir", STRING, state_dir, "")                                                       \
	S("runDir", STRING, run_dir, "")                                                           \
	S("workers", NUMBER, workers, "2")                                                         \
	S("workspace", STRING, workspace, "")                                                      \
	S("defaultDirectory", STRING, default_directory, "")                                       \
	S("tokenFile", STRING, token_file, NULL)                                                   \
	S("tokensFile", STRING, tokens_file, "")                                                   \
	S("jupyterUrl", STRING, jupyter_url, "")                                                   \
	S("jupyterTokenFile", STRING, jupyter_token_file, NULL)                                    \
	S("jupyterRoot", STRING, jupyter_root, "")                                                 \
	S("hosts", STRING, hosts, "")                                                              \
	S("trustedProxies", STRING, trusted_proxies, "")                                           \
	S("e2bOpen", SWITCH, e2b_open, "yes")                                                      \
	S("keepaliveS", NUMBER, keepalive_s, "5")                                                  \
	S("heartbeatMs", NUMBER, heartbeat_ms, "15000")                                            \
	S("halfRequestS", NUMBER, half_request_s, "30")                                            \
	S("maxBodyBytes", SIZE, max_body, "64M")                                                   \
	S("maxCodeBytes", SIZE, max_code, "10M")                                                   \
	S("maxOutputBytes", SIZE, max_output, "64M")                                               \
	S("maxMessageBytes", SIZE, max_message, "64M")                                             \
	S("maxContexts", NUMBER, max_contexts, "32")                                               \
	S("maxSandboxes", NUMBER, max_sandboxes, "256")                                            \
	S("maxQueued", NUMBER, max_queued, "256")                                                  \
	S("maxExecutionS", NUMBER, max_execution_s, "0")                                           \
	S("interruptGraceS", NUMBER, interrupt_grace_s, "5")                                       \
	S("reconnectS", NUMBER, reconnect_s, "20")                                                 \
	S("kernelStartS", NUMBER, kernel_start_s, "30")

typedef char *config_STRING;
typedef unsigned config_NUMBER;
typedef size_t config_SIZE;
typedef bool config_SWITCH;

struct config {
#define S(key, kind, field, def) config_##kind field;
	SETTINGS(S)
#undef S
	enum log_level log_level;
	struct config_kernel {
		char *language;
		char *kernelspec;
	} kernels[CONFIG_KERNELS]; /* kernel.<language> = <kernelspec> */
	size_t n_kernels;
	char *jupyter_token; /* read from jupyterTokenFile; NULL: none */
};

/* Read a file and "key=value" options (which win), fill in what follows from
 * others, check. 0, or a negative errno and a sentence that names the place. */
int config_load(const char *file, const char *const *options, size_t n_options, struct config *ret,
		struct buf *why);
void config_free(struct config *c);

#endif
