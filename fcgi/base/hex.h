/*
 * hex.h - one hexadecimal digit, either case.
 */
#ifndef NB2_BASE_HEX_H
#define NB2_BASE_HEX_H

/* Its value, or -1. */
static inline int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

#endif
