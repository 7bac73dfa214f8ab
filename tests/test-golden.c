/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "buf.h"
#include "policy.h"

#include <dirent.h>
#include <unistd.h>

/*
 * data/good/NAME.conf and data/bad/NAME.conf against NAME.expect: the diagnostics, and for a good one
 * the policy as policy_format() writes it. CPUIDLED_GOLDEN=write writes what is found instead: look at the
 * difference before it is committed.
 */
#define GOLDEN_MAX 64

static char *names[GOLDEN_MAX];
static int n_names;

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void find_names(const char *kind)
{
	char path[512];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/data/%s", TEST_SOURCE_DIR, kind);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) && n_names < GOLDEN_MAX) {
		size_t n = strlen(entry->d_name);

		if (n > 5 && streq(entry->d_name + n - 5, ".conf") &&
		    asprintf(&names[n_names], "%s/%.*s", kind, (int)n - 5, entry->d_name) > 0)
			n_names++;
	}
	if (dir)
		closedir(dir);
}

static char *read_bytes(const char *name, size_t *ret_n)
{
	char path[512], *bytes = malloc(65536);
	FILE *file;

	snprintf(path, sizeof(path), "%s/data/%s.conf", TEST_SOURCE_DIR, name);
	file = fopen(path, "r");
	ck_assert(file && bytes);
	*ret_n = fread(bytes, 1, 65536, file);
	fclose(file);
	return bytes;
}

static void add_diags(struct buf *b, const struct diag_list *diags)
{
	for (size_t i = 0; i < diags->n; i++) {
		char line[1024];

		diag_format(&diags->items[i], line, sizeof(line));
		ck_assert_msg(strstr(line, "; "), "no second half: %s", line);
		buf_printf(b, "%s\n", line);
	}
}

/* The policy of a text, finished; NULL when it has errors. */
static struct policy *parse(const char *name, const char *bytes, size_t n, struct diag_list *diags)
{
	struct policy *p = NULL;

	ck_assert_int_eq(policy_new(&p), 0);
	ck_assert_int_eq(policy_add_text(p, name, bytes, n, diags), 0);
	ck_assert_int_eq(policy_finish(p, diags), 0);
	if (diags->n_errors == 0)
		return p;
	policy_free(p);
	return NULL;
}

/* What is formatted is read again without a word, as the same policy, and formatted the same. */
static void check_round_trip(const struct policy *p, const char *text)
{
	struct diag_list diags = {0};
	struct policy *again = parse("again", text, strlen(text), &diags);
	char *text_again;

	ck_assert_ptr_nonnull(again);
	ck_assert(policy_equal(p, again));
	text_again = policy_format(again);
	ck_assert_str_eq(text_again, text);
	free(text_again);
	policy_free(again);
	diag_done(&diags);
}

static void compare(const char *name, const char *found)
{
	const char *mode = getenv("CPUIDLED_GOLDEN");
	char path[256], *expected;

	snprintf(path, sizeof(path), "data/%s.expect", name);
	if (mode && streq(mode, "write"))
		test_write(TEST_SOURCE_DIR, path, found);
	expected = test_read(TEST_SOURCE_DIR, path);
	ck_assert_str_eq(found, expected);
	free(expected);
}

START_TEST(test_golden)
{
	const char *name = names[_i];
	struct diag_list diags = {0};
	struct buf b = {0};
	struct policy *p;
	size_t n;
	char *bytes = read_bytes(name, &n), *found;

	p = parse(strrchr(name, '/') + 1, bytes, n, &diags);
	ck_assert_msg((p != NULL) == (strncmp(name, "good/", 5) == 0), "%s: %zu errors", name,
		      diags.n_errors);
	add_diags(&b, &diags);
	if (p) {
		char *text = policy_format(p);

		ck_assert_ptr_nonnull(text);
		check_round_trip(p, text);
		buf_printf(&b, "\n%s", text);
		free(text);
	}
	found = buf_finish(&b);
	compare(name, found);
	free(found);
	free(bytes);
	policy_free(p);
	diag_done(&diags);
}
END_TEST

START_TEST(test_found)
{
	ck_assert_int_ge(n_names, 14);
	ck_assert_int_lt(n_names, GOLDEN_MAX);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("golden");
	TCase *tc = tcase_create("golden");
	int r;

	find_names("good");
	find_names("bad");
	qsort(names, (size_t)n_names, sizeof(names[0]), by_name);
	tcase_add_loop_test(tc, test_golden, 0, n_names);
	tcase_add_test(tc, test_found);
	suite_add_tcase(suite, tc);
	r = test_main(suite);
	while (n_names > 0)
		free(names[--n_names]);
	return r;
}
