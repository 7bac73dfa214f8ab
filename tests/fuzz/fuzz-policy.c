/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fuzz.h"

#include "policy.h"

/* Any bytes as a policy: parse, finish, format, parse again: the same policy, without a word about it. */
static struct policy *parse(const char *bytes, size_t n, struct diag_list *diags)
{
	struct policy *p = NULL;

	fuzz_assert(policy_new(&p) == 0);
	fuzz_assert(policy_add_text(p, "input", bytes, n, diags) == 0);
	fuzz_assert(policy_finish(p, diags) == 0);
	fuzz_assert(diags->n_errors + diags->n_warnings <= diags->n + diags->dropped);
	return p;
}

/* Every message is one line of printable text in two halves: nothing of the input acts on a terminal. */
static void check_messages(const struct diag_list *diags)
{
	char line[2048];

	for (size_t i = 0; i < diags->n; i++) {
		fuzz_assert(diag_format(&diags->items[i], line, sizeof(line)) < sizeof(line));
		fuzz_assert(strstr(line, "; "));
		for (const char *c = line; *c != '\0'; c++)
			fuzz_assert((unsigned char)*c >= ' ' || *c == '\t');
	}
}

static void check_round_trip(const struct policy *p, const char *text)
{
	struct diag_list diags = {0};
	struct policy *again = parse(text, strlen(text), &diags);
	char *text_again = policy_format(again);

	fuzz_assert(diags.n_errors == 0);
	fuzz_assert(text_again && streq(text, text_again));
	fuzz_assert(policy_equal(p, again) && policy_equal(again, p));
	free(text_again);
	policy_free(again);
	diag_done(&diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct diag_list diags = {0};
	struct policy *p = parse((const char *)data, size, &diags);
	char *text = policy_format(p);

	check_messages(&diags);
	fuzz_assert(text);
	if (diags.n_errors == 0)
		check_round_trip(p, text);
	(void)policy_needs(p);
	free(text);
	policy_free(p);
	diag_done(&diags);
	return 0;
}
