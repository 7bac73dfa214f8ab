/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_BASE_H
#define CPUIDLED_BASE_H

/*
 * The ground floor: what every file may use. Only libc below this line.
 *
 * Errors are negative errno values and travel inward silently; words are made once, at the edge
 * (see diag.h for bad input). ret_x is written only on success.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

#define _printf_(f, a) __attribute__((format(printf, f, a)))
#define _cleanup_(fn)  __attribute__((cleanup(fn)))
#define _unused_       __attribute__((unused))

/* Hands ownership over: yields the pointer and leaves NULL behind for the cleanup. */
#define TAKE_PTR(p)                             \
	({                                      \
		__typeof__(p) *_taken = &(p);   \
		__typeof__(p) _value = *_taken; \
		*_taken = NULL;                 \
		_value;                         \
	})

/* Hands a file descriptor over and leaves -1 behind. */
#define TAKE_FD(fd)                   \
	({                            \
		int *_taken = &(fd);  \
		int _value = *_taken; \
		*_taken = -1;         \
		_value;               \
	})

/* Defines NAME(T *p) for _cleanup_(NAME): calls FN on a non-NULL pointer. */
#define DEFINE_CLEANUP(type, name, fn)   \
	static inline void name(type *p) \
	{                                \
		if (*p)                  \
			fn(*p);          \
	}

static inline void freep(void *p)
{
	free(*(void **)p);
}

#define _cleanup_free_ _cleanup_(freep)

static inline bool streq(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/*
 * Numbers are parsed in units.c alone and text is bounded by its buffer: the compiler refuses the
 * rest. Headers of libraries that mention one of these names are included before this file.
 */
#undef sprintf /* macros of glibc under clang and _FORTIFY_SOURCE */
#undef vsprintf
#undef strcpy
#undef strcat
#undef gets
#pragma GCC poison atoi atol atoll strtol strtoul strtoll strtoull strtod
#pragma GCC poison sprintf vsprintf strcpy strcat strtok gets

#endif
