/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static char tmpdir[256];
static pid_t tmpdir_owner;

int test_main(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void remove_tmpdir(void)
{
	/* A forked child inherits the handler but not the directory. */
	if (tmpdir_owner == getpid())
		(void)nftw(tmpdir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *test_tmpdir(void)
{
	const char *base = getenv("TMPDIR");

	if (tmpdir_owner == getpid())
		return tmpdir;
	snprintf(tmpdir, sizeof(tmpdir), "%s/cpuidled-test-XXXXXX", base ? base : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(tmpdir));
	tmpdir_owner = getpid();
	atexit(remove_tmpdir);
	return tmpdir;
}

static void make_parents(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		ck_assert(mkdir(path, 0755) == 0 || errno == EEXIST);
		*p = '/';
	}
}

void test_write(const char *dir, const char *path, const char *text)
{
	char full[4096];
	size_t n = strlen(text);
	int fd;

	snprintf(full, sizeof(full), "%s/%s", dir, path);
	make_parents(full);
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ck_assert_msg(fd >= 0, "%s: %s", full, strerror(errno));
	ck_assert(write(fd, text, n) == (ssize_t)n);
	close(fd);
}

char *test_read(const char *dir, const char *path)
{
	char full[4096];
	char *text = NULL;
	size_t n = 0, cap = 0;
	ssize_t got;
	int fd;

	snprintf(full, sizeof(full), "%s/%s", dir, path);
	fd = open(full, O_RDONLY | O_CLOEXEC);
	ck_assert_msg(fd >= 0, "%s: %s", full, strerror(errno));
	do {
		if (n + 4096 > cap) {
			cap = cap * 2 + 8192;
			text = realloc(text, cap);
			ck_assert_ptr_nonnull(text);
		}
		got = read(fd, text + n, cap - n - 1);
		ck_assert(got >= 0);
		n += (size_t)got;
	} while (got > 0);
	close(fd);
	text[n] = '\0';
	return text;
}
