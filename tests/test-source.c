/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "source.h"
#include "text.h"

#include <sys/stat.h>
#include <unistd.h>

/* A root and a vendor directory of their own, empty but for one shipped profile. */
static struct {
	char root[512], vendor[1024];
	struct diag_list diags;
	struct policy *policy;
	int n; /* of cases so far in this process */
} env;

static void setup(void)
{
	snprintf(env.root, sizeof(env.root), "%s/root%d", test_tmpdir(), env.n++);
	snprintf(env.vendor, sizeof(env.vendor), "%s/usr/lib/cpuidled", env.root);
	test_write(env.vendor, "profiles/shipped.conf", "[Profile shipped]\nLatencyLimit=20us\n");
}

static void teardown(void)
{
	policy_free(env.policy);
	env.policy = NULL;
	diag_done(&env.diags);
}

static int load_as(const char *policy, const char *extra)
{
	const struct source_options o = {
		.root = env.root,
		.policy = policy,
		.vendor_dir = env.vendor,
		.extra_name = extra ? "settings" : NULL,
		.extra = extra,
	};

	teardown();
	return source_load(&o, &env.diags, &env.policy);
}

static int load(void)
{
	return load_as(NULL, NULL);
}

static void write_limit(const char *path, const char *limit)
{
	char text[128];

	snprintf(text, sizeof(text), "[Profile x]\nLatencyLimit=%s\n", limit);
	test_write(env.root, path, text);
}

static uint64_t limit_us(void)
{
	const struct profile *p = policy_profile(env.policy, "x");

	ck_assert_ptr_nonnull(p);
	return p->resolved.latency_limit_ns / NSEC_PER_USEC;
}

/* One diagnostic is there, and it has these words. */
static void assert_told(const char *words)
{
	char line[2048];

	ck_assert_uint_eq(env.diags.n, 1);
	diag_format(&env.diags.items[0], line, sizeof(line));
	ck_assert_msg(strstr(line, words), "\"%s\" is not in: %s", words, line);
	ck_assert_msg(strstr(line, "; "), "no second half: %s", line);
}

START_TEST(test_nothing)
{
	ck_assert_int_eq(load(), 0);
	ck_assert_uint_eq(env.diags.n, 0);
	ck_assert_ptr_nonnull(policy_profile(env.policy, "shipped"));
	ck_assert_uint_eq(env.policy->n_files, 1);
}
END_TEST

START_TEST(test_no_vendor)
{
	snprintf(env.vendor, sizeof(env.vendor), "%s/usr/lib/none", env.root);
	ck_assert_int_eq(load(), 0);
	assert_told("profiles: warning: the shipped profiles are not there");
}
END_TEST

/* The first place that has a main file is the only one asked. */
START_TEST(test_main_file)
{
	write_limit("usr/lib/cpuidled/cpuidled.conf", "1us");
	ck_assert_int_eq(load(), 0);
	ck_assert_uint_eq(limit_us(), 1);
	write_limit("run/cpuidled/cpuidled.conf", "2us");
	ck_assert_int_eq(load(), 0);
	ck_assert_uint_eq(limit_us(), 2);
	write_limit("etc/cpuidled/cpuidled.conf", "3us");
	ck_assert_int_eq(load(), 0);
	ck_assert_uint_eq(limit_us(), 3);
	ck_assert_uint_eq(env.policy->n_files, 2);
}
END_TEST

/* By file name, whatever the place; the same name in a higher place replaces the lower one. */
START_TEST(test_drop_ins)
{
	write_limit("etc/cpuidled/cpuidled.conf", "1us");
	write_limit("etc/cpuidled/cpuidled.conf.d/20-b.conf", "20us");
	write_limit("run/cpuidled/cpuidled.conf.d/30-c.conf", "30us");
	write_limit("usr/lib/cpuidled/cpuidled.conf.d/10-a.conf", "10us");
	ck_assert_int_eq(load(), 0);
	ck_assert_uint_eq(limit_us(), 30);
	ck_assert_uint_eq(env.policy->n_files, 5);
	write_limit("usr/lib/cpuidled/cpuidled.conf.d/40-d.conf", "40us");
	ck_assert_int_eq(load(), 0);
	ck_assert_uint_eq(limit_us(), 40);
	write_limit("run/cpuidled/cpuidled.conf.d/40-d.conf", "41us");
	ck_assert_int_eq(load(), 0);
	ck_assert_uint_eq(limit_us(), 41);
	write_limit("etc/cpuidled/cpuidled.conf.d/40-d.conf", "42us");
	ck_assert_int_eq(load(), 0);
	ck_assert_uint_eq(limit_us(), 42);
	ck_assert_uint_eq(env.policy->n_files, 6);
}
END_TEST

START_TEST(test_other_names)
{
	write_limit("etc/cpuidled/cpuidled.conf.d/a.conf", "1us");
	write_limit("etc/cpuidled/cpuidled.conf.d/b.conf~", "2us");
	write_limit("etc/cpuidled/cpuidled.conf.d/c.conf.dpkg-old", "3us");
	write_limit("etc/cpuidled/cpuidled.conf.d/.d.conf", "4us");
	write_limit("etc/cpuidled/cpuidled.conf.d/README", "5us");
	write_limit("etc/cpuidled/cpuidled.conf.d/.conf", "6us");
	ck_assert_int_eq(load(), 0);
	ck_assert_uint_eq(limit_us(), 1);
	ck_assert_uint_eq(env.policy->n_files, 2);
}
END_TEST

static void make_link(const char *target, const char *path)
{
	char full[1024];

	snprintf(full, sizeof(full), "%s/%s", env.root, path);
	(void)unlink(full);
	ck_assert_int_eq(symlink(target, full), 0);
}

START_TEST(test_mask)
{
	write_limit("etc/cpuidled/cpuidled.conf", "1us");
	write_limit("usr/lib/cpuidled/cpuidled.conf.d/a.conf", "2us");
	write_limit("etc/cpuidled/cpuidled.conf.d/b.conf", "3us");
	ck_assert_int_eq(load(), 0);
	ck_assert_uint_eq(limit_us(), 3);
	make_link("/dev/null", "etc/cpuidled/cpuidled.conf.d/b.conf");
	ck_assert_int_eq(load(), 0);
	ck_assert_uint_eq(limit_us(), 2);
	make_link("/dev/null", "etc/cpuidled/cpuidled.conf.d/a.conf");
	ck_assert_int_eq(load(), 0);
	ck_assert_uint_eq(limit_us(), 1);
	ck_assert_uint_eq(env.diags.n, 0);
	/* A masked main file hides those of lower places as well. */
	write_limit("usr/lib/cpuidled/cpuidled.conf", "9us");
	make_link("/dev/null", "etc/cpuidled/cpuidled.conf");
	ck_assert_int_eq(load(), 0);
	ck_assert_ptr_null(policy_profile(env.policy, "x"));
}
END_TEST

START_TEST(test_named)
{
	char path[1024];

	write_limit("etc/cpuidled/cpuidled.conf", "1us");
	write_limit("etc/cpuidled/cpuidled.conf.d/a.conf", "2us");
	write_limit("named", "7us");
	snprintf(path, sizeof(path), "%s/named", env.root);
	ck_assert_int_eq(load_as(path, NULL), 0);
	ck_assert_uint_eq(limit_us(), 7);
	ck_assert_ptr_nonnull(policy_profile(env.policy, "shipped"));
	ck_assert_uint_eq(env.policy->n_files, 2);
	/* Its own links are the caller's business, unlike those in the directories. */
	make_link("named", "link");
	snprintf(path, sizeof(path), "%s/link", env.root);
	ck_assert_int_eq(load_as(path, NULL), 0);
	ck_assert_uint_eq(limit_us(), 7);
	ck_assert_int_eq(load_as("/dev/null", NULL), 0);
	ck_assert_ptr_null(policy_profile(env.policy, "x"));
	snprintf(path, sizeof(path), "%s/missing", env.root);
	ck_assert_int_eq(load_as(path, NULL), -EBADMSG);
	assert_told("missing: error: cannot be read (No such file");
}
END_TEST

START_TEST(test_extra)
{
	write_limit("etc/cpuidled/cpuidled.conf.d/zz.conf", "2us");
	ck_assert_int_eq(load_as(NULL, "[Profile x]\nLatencyLimit=8us\n"), 0);
	ck_assert_uint_eq(limit_us(), 8);
	ck_assert_int_eq(load_as(NULL, "[Profile x]\nLatencyLimit=8xs\n"), -EBADMSG);
	assert_told("settings:2: error: LatencyLimit=8xs");
	ck_assert_ptr_null(env.policy);
}
END_TEST

/* A bad line anywhere refuses the whole, and each bad line of each file is told. */
START_TEST(test_bad_lines)
{
	test_write(env.root, "etc/cpuidled/cpuidled.conf", "[Daemon]\nOnForeignWrite=x\n");
	test_write(env.root, "etc/cpuidled/cpuidled.conf.d/a.conf", "junk\n[Group g]\nCPUs=a\n");
	ck_assert_int_eq(load(), -EBADMSG);
	ck_assert_uint_eq(env.diags.n_errors, 4);
	ck_assert_ptr_null(env.policy);
}
END_TEST

static void refuse_file(const char *words)
{
	ck_assert_int_eq(load(), -EBADMSG);
	assert_told(words);
}

START_TEST(test_unsafe_files)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/etc/cpuidled/cpuidled.conf.d/a.conf", env.root);
	write_limit("etc/cpuidled/cpuidled.conf.d/a.conf", "1us");
	ck_assert_int_eq(chmod(path, 0664), 0);
	ck_assert_int_eq(load(), 0);
	ck_assert_int_eq(chmod(path, 0666), 0);
	refuse_file("a.conf: error: can be written by everybody, so it is not trusted; chmod o-w");
	ck_assert_int_eq(unlink(path), 0);
	write_limit("target", "1us");
	make_link("../../../target", "etc/cpuidled/cpuidled.conf.d/a.conf");
	refuse_file("a.conf: error: is a symbolic link");
	make_link("nowhere", "etc/cpuidled/cpuidled.conf.d/a.conf");
	refuse_file("a.conf: error: is a symbolic link");
	make_link("/dev/zero", "etc/cpuidled/cpuidled.conf.d/a.conf");
	refuse_file("a.conf: error: is a symbolic link");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	refuse_file("a.conf: error: is no regular file");
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(mkfifo(path, 0644), 0); /* must not wait for a writer */
	refuse_file("a.conf: error: is no regular file");
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(test_unreadable)
{
	char path[1024];

	if (geteuid() == 0)
		return; /* root reads everything */
	snprintf(path, sizeof(path), "%s/etc/cpuidled/cpuidled.conf", env.root);
	write_limit("etc/cpuidled/cpuidled.conf", "1us");
	ck_assert_int_eq(chmod(path, 0), 0);
	refuse_file("cpuidled.conf: error: cannot be read (Permission denied)");
}
END_TEST

START_TEST(test_size)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/etc/cpuidled/cpuidled.conf", env.root);
	test_write(env.root, "etc/cpuidled/cpuidled.conf", "");
	ck_assert_int_eq(load(), 0);
	ck_assert_int_eq(truncate(path, TEXT_FILE_MAX + 1), 0);
	refuse_file("cpuidled.conf: error: has 1048577 bytes; at most 1048576 are read");
}
END_TEST

START_TEST(test_many_files)
{
	for (int i = 0; i < 257; i++) {
		char path[64];

		snprintf(path, sizeof(path), "etc/cpuidled/cpuidled.conf.d/%03d.conf", i);
		test_write(env.root, path, "");
		if (i == 255)
			ck_assert_int_eq(load(), 0);
	}
	refuse_file("cpuidled.conf.d: error: more than 256 files");
}
END_TEST

START_TEST(test_long_root)
{
	struct source_options o = {.vendor_dir = env.vendor};
	char root[5000];

	memset(root, 'a', sizeof(root) - 1);
	root[sizeof(root) - 1] = '\0';
	o.root = root;
	ck_assert_int_eq(source_load(&o, &env.diags, &env.policy), -EBADMSG);
	assert_told("--root needs a short path");
}
END_TEST

/* Without a vendor directory the one beside the program is taken: here that of the build tree. */
START_TEST(test_found_vendor)
{
	static const char *const shipped[] = {
		"balanced", "powersave", "low-latency",	   "realtime", "sap-hana",
		"database", "dpdk",	 "guest-haltpoll", "adaptive",
	};
	const struct source_options o = {.root = env.root};

	ck_assert_int_eq(source_load(&o, &env.diags, &env.policy), 0);
	ck_assert_uint_eq(env.diags.n, 0);
	for (size_t i = 0; i < ARRAY_SIZE(shipped); i++)
		ck_assert_msg(policy_profile(env.policy, shipped[i]), "%s", shipped[i]);
	ck_assert_uint_eq(env.policy->n_files, ARRAY_SIZE(shipped));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source");
	TCase *tc = tcase_create("source");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_nothing);
	tcase_add_test(tc, test_no_vendor);
	tcase_add_test(tc, test_main_file);
	tcase_add_test(tc, test_drop_ins);
	tcase_add_test(tc, test_other_names);
	tcase_add_test(tc, test_mask);
	tcase_add_test(tc, test_named);
	tcase_add_test(tc, test_extra);
	tcase_add_test(tc, test_bad_lines);
	tcase_add_test(tc, test_unsafe_files);
	tcase_add_test(tc, test_unreadable);
	tcase_add_test(tc, test_size);
	tcase_add_test(tc, test_many_files);
	tcase_add_test(tc, test_long_root);
	tcase_add_test(tc, test_found_vendor);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
