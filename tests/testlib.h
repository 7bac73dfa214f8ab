/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_TESTLIB_H
#define CPUIDLED_TESTLIB_H

/* Check's header mentions names that base.h forbids, so it comes first. */
#include <check.h>

#include "base.h"

/*
 * Shared by all suites: temporary trees, files, and the main() of a suite. Every helper aborts the test
 * when the world around it fails, so that tests read as what they claim.
 */

/* Runs one suite and returns the exit status for main(). Honours CK_FORK, CK_RUN_CASE and friends. */
int test_main(Suite *suite);

/* A fresh directory below TMPDIR, removed with all its content when the test process ends. */
const char *test_tmpdir(void);

/* Writes (creating parent directories) and reads whole small files below dir. */
void test_write(const char *dir, const char *path, const char *text);
char *test_read(const char *dir, const char *path); /* caller frees */

#endif
