/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include <sys/stat.h>
#include <unistd.h>

#include "missing.h"
#include "sysfs.h"

#define DEP "lib/modules/6.1.0/modules.dep"

static void expect(const char *words)
{
	char text[MISSING_TEXT_MAX];
	int fd;

	ck_assert_int_eq(sysfs_open_root(test_tmpdir(), &fd), 0);
	missing_why(fd, "6.1.0", text, sizeof(text));
	close(fd);
	ck_assert_msg(strstr(text, words), "'%s' lacks '%s'", text, words);
}

START_TEST(nothing_known)
{
	expect("cpuidle_policy is not loaded; load it, or install it with dkms");
}
END_TEST

START_TEST(not_installed)
{
	test_write(
		test_tmpdir(), DEP,
		"kernel/a.ko:\nkernel/b.ko: extra/cpuidle_policy.ko\nextra/my_cpuidle_policy.ko:\n");
	expect("is not installed for kernel 6.1.0");
}
END_TEST

START_TEST(installed)
{
	test_write(test_tmpdir(), DEP,
		   "kernel/a.ko:\nupdates/dkms/cpuidle_policy.ko.xz: kernel/a.ko\n");
	expect("'modprobe cpuidle_policy' says why");
}
END_TEST

START_TEST(signature)
{
	test_write(test_tmpdir(), DEP, "updates/dkms/cpuidle_policy.ko:\n");
	test_write(test_tmpdir(), "sys/kernel/security/lockdown",
		   "[none] integrity confidentiality\n");
	expect("'modprobe cpuidle_policy' says why");
	test_write(test_tmpdir(), "sys/kernel/security/lockdown",
		   "none [integrity] confidentiality\n");
	expect("takes signed modules only (kernel lockdown, as with Secure Boot)");
}
END_TEST

START_TEST(enforced)
{
	test_write(test_tmpdir(), "sys/module/module/parameters/sig_enforce", "Y\n");
	expect("only signed modules are taken: module.sig_enforce");
}
END_TEST

START_TEST(other_namespace)
{
	test_write(test_tmpdir(), "sys/module/cpuidle_policy/refcnt", "0\n");
	expect("serves the initial network namespace only");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("missing");
	TCase *t = tcase_create("why");

	tcase_add_test(t, nothing_known);
	tcase_add_test(t, not_installed);
	tcase_add_test(t, installed);
	tcase_add_test(t, signature);
	tcase_add_test(t, enforced);
	tcase_add_test(t, other_namespace);
	suite_add_tcase(s, t);
	return test_main(s);
}
