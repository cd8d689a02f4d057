/*
 * map.h - strings to pointers, insertion order kept for walking.
 *
 * Keys are copied, values borrowed. Lookup is a hash of the key with a random
 * seed a process (a peer chooses keys). Not thread-safe.
 */
#ifndef NB2_BASE_MAP_H
#define NB2_BASE_MAP_H

#include <stddef.h>

#include "base/span.h"

struct map;

struct map *map_new(void);
void map_free(struct map *m); /* not the values; NULL is fine */

void *map_get(const struct map *m, struct span key); /* NULL: not there */
/* Returns the value that stood there before, or NULL. value is not NULL. */
void *map_put(struct map *m, struct span key, void *value);
/* Returns the value that stood there, or NULL. */
void *map_del(struct map *m, struct span key);
size_t map_len(const struct map *m);

/* Walk in order of insertion: *place starts at 0; NULL at the end. Deleting
 * the entry just returned is allowed, other changes are not. ret_key may be
 * NULL and is borrowed from the map. */
void *map_next(const struct map *m, size_t *place, struct span *ret_key);

#endif
