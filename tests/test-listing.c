/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "listing.h"

static const char text[] = "[Profile zeta]\n"
			   "Description=last by name\n"
			   "LatencyLimit=20us\n"
			   "[Profile alpha]\n"
			   "Base=zeta\n"
			   "DisableStates=C6\n"
			   "C0=auto\n"
			   "[Profile omega]\n"
			   "Base=alpha\n"
			   "LatencyLimit=0\n";

static const struct listing_profile *find(const struct listing *l, const char *name)
{
	for (uint32_t i = 0; i < l->n; i++) {
		if (streq(l->profiles[i].name, name))
			return &l->profiles[i];
	}
	ck_abort_msg("no profile %s", name);
	return NULL;
}

static const char *value(const struct listing_profile *p, const char *key)
{
	for (uint32_t i = 0; i < p->n_keys; i++) {
		if (streq(p->keys[i].key, key))
			return p->keys[i].value;
	}
	return NULL;
}

static void make(const char *policy_text, struct listing *l)
{
	struct diag_list diags = {0};
	struct policy *p;

	ck_assert_int_eq(policy_new(&p), 0);
	ck_assert_int_eq(policy_add_text(p, "t", policy_text, strlen(policy_text), &diags), 0);
	ck_assert_int_eq(policy_finish(p, &diags), 0);
	ck_assert_int_eq(listing_make(p, l), 0);
	policy_free(p);
	diag_done(&diags);
}

START_TEST(test_profiles)
{
	struct listing l;

	make(text, &l);
	for (uint32_t i = 1; i < l.n; i++)
		ck_assert_int_lt(strcmp(l.profiles[i - 1].name, l.profiles[i].name), 0);
	ck_assert_str_eq(find(&l, "zeta")->description, "last by name");
	ck_assert_str_eq(find(&l, "zeta")->base, "");
	ck_assert_uint_eq(find(&l, "zeta")->limit_ns, 20000);
	ck_assert_str_eq(find(&l, "alpha")->description, "");
	ck_assert_str_eq(find(&l, "alpha")->base, "zeta");
	ck_assert_uint_eq(find(&l, "alpha")->limit_ns, 20000);
	ck_assert_uint_eq(find(&l, "omega")->limit_ns, 0);
	listing_done(&l);
}
END_TEST

/* The keys of its own section, without those that have a place of their own. */
START_TEST(test_keys)
{
	struct listing l;

	make(text, &l);
	ck_assert_uint_eq(find(&l, "alpha")->n_keys, 2);
	ck_assert_str_eq(value(find(&l, "alpha"), "DisableStates"), "C6");
	ck_assert_str_eq(value(find(&l, "alpha"), "C0"), "auto");
	ck_assert_uint_eq(find(&l, "zeta")->n_keys, 0);
	ck_assert_uint_eq(find(&l, "omega")->n_keys, 0);
	listing_done(&l);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("listing");
	TCase *c = tcase_create("listing");

	tcase_add_test(c, test_profiles);
	tcase_add_test(c, test_keys);
	suite_add_tcase(s, c);
	return test_main(s);
}
