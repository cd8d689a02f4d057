/*
 * check.h - small macros that let the compiler and the core file tell more.
 *
 * A struct whose address goes through a library's void * starts with a magic
 * word; CHECK_OBJ() proves on the way back that it is still what it was.
 */
#ifndef NB2_BASE_CHECK_H
#define NB2_BASE_CHECK_H

#include <assert.h>
#include <stddef.h>

#define CHECK_OBJ(ptr, type_magic)                                                                 \
	do {                                                                                       \
		assert((ptr) != NULL);                                                             \
		assert((ptr)->magic == (type_magic));                                              \
	} while (0)

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))

#endif
