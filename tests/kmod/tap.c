// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include "tap.h"

int tap_count, tap_failed;

bool tap_ok(bool good, const char *fmt, ...)
{
	va_list args;

	tap_count++;
	tap_failed += !good;
	printf("%sok %d - ", good ? "" : "not ", tap_count);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	return good;
}

void tap_note(const char *fmt, ...)
{
	va_list args;

	printf("# ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}
