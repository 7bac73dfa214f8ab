/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "failmem.h"

static bool active;
static unsigned until_failure;
static bool failed;
static long live;

void failmem_start(unsigned nth)
{
	until_failure = nth;
	failed = false;
	live = 0;
	active = true;
}

bool failmem_stop(void)
{
	active = false;
	return failed;
}

long failmem_live(void)
{
	return live;
}

/* Is this the one? */
static bool fails(void)
{
	if (!active || until_failure == 0 || --until_failure > 0)
		return false;
	failed = true;
	errno = ENOMEM;
	return true;
}

static void *count(void *p)
{
	if (active && p)
		live++;
	return p;
}

/* The linker sends calls of x to __wrap_x, and __real_x is the one of libc (ld(1), --wrap). */
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
char *__wrap_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
char *__wrap_strndup(const char *s, size_t n);
int __real_vasprintf(char **ret, const char *fmt, va_list args) _printf_(2, 0);
int __wrap_vasprintf(char **ret, const char *fmt, va_list args) _printf_(2, 0);
int __wrap___vasprintf_chk(char **ret, int flag, const char *fmt, va_list args) _printf_(3, 0);
void __real_free(void *p);
void __wrap_free(void *p);

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : count(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : count(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
	void *grown;

	if (fails())
		return NULL;
	grown = __real_realloc(p, n);
	return p ? grown : count(grown);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return __wrap_realloc(p, n * size);
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : count(__real_strdup(s));
}

char *__wrap_strndup(const char *s, size_t n)
{
	return fails() ? NULL : count(__real_strndup(s, n));
}

int __wrap_vasprintf(char **ret, const char *fmt, va_list args)
{
	int n;

	if (fails())
		return -1;
	n = __real_vasprintf(ret, fmt, args);
	if (n >= 0)
		count(*ret);
	return n;
}

int __wrap___vasprintf_chk(char **ret, int flag, const char *fmt, va_list args)
{
	(void)flag;
	return __wrap_vasprintf(ret, fmt, args);
}

void __wrap_free(void *p)
{
	if (active && p)
		live--;
	__real_free(p);
}
