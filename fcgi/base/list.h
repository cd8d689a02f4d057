/*
 * list.h - an intrusive doubly linked ring. The head is a link like any other.
 *
 * Links live inside their owner; the list owns nothing. A link that is not in
 * a list points at itself (list_init), so that list_del() may be called twice.
 */
#ifndef NB2_BASE_LIST_H
#define NB2_BASE_LIST_H

#include <stdbool.h>

#include "base/check.h"

struct list {
	struct list *prev;
	struct list *next;
};

static inline void list_init(struct list *l)
{
	l->prev = l->next = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_insert_between(struct list *l, struct list *prev, struct list *next)
{
	l->prev = prev;
	l->next = next;
	prev->next = l;
	next->prev = l;
}

/* Put l at the end (before the head) or at the front. l must be in no list. */
static inline void list_push(struct list *head, struct list *l)
{
	list_insert_between(l, head->prev, head);
}

static inline void list_push_front(struct list *head, struct list *l)
{
	list_insert_between(l, head, head->next);
}

static inline void list_del(struct list *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	list_init(l);
}

#define list_entry(link, type, member) container_of(link, type, member)
#define list_first(head, type, member)                                                             \
	(list_empty(head) ? NULL : list_entry((head)->next, type, member))

/* The body may delete `it` itself, and nothing else. `tmp` is a struct list *. */
#define list_each(head, it, tmp)                                                                   \
	for (struct list *it = (head)->next, *tmp = it->next; it != (head);                        \
	     it = tmp, tmp = it->next)

#endif
