/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "apply.h"

static const struct apply_result nothing_yet = {
	.failed = UINT32_MAX,
	.first_differs = UINT32_MAX,
};

static int set(const struct actuator *a, const struct change *c, uint64_t value)
{
	return a->ops->set(a->data, c, value);
}

static int get(const struct actuator *a, const struct change *c, uint64_t *ret)
{
	return a->ops->get(a->data, c, ret);
}

int apply_run(const struct actuator *a, const struct changes *c, struct apply_result *ret)
{
	*ret = nothing_yet;
	for (uint32_t i = 0; i < c->n; i++) {
		int r = set(a, &c->v[i], c->v[i].to);

		if (r < 0) {
			ret->failed = i;
			ret->error = r;
			/* The failed one, too: a regular file may have been emptied already. */
			ret->n_not_rolled_back = apply_rollback(a, c, i + 1);
			return r;
		}
		ret->n_written++;
	}
	return 0;
}

int apply_verify(const struct actuator *a, const struct changes *c, struct apply_result *ret)
{
	for (uint32_t i = 0; i < c->n; i++) {
		uint64_t found = 0;
		int r = get(a, &c->v[i], &found);

		if (r < 0 && ret->failed == UINT32_MAX) {
			ret->failed = i;
			ret->error = r;
		}
		if (r < 0 || found == c->v[i].to)
			continue;
		if (ret->n_differs++ == 0) {
			ret->first_differs = i;
			ret->found = found;
		}
	}
	if (ret->failed != UINT32_MAX)
		return ret->error;
	return ret->n_differs ? -ESTALE : 0;
}

static int undo(const struct actuator *a, const struct change *c)
{
	uint64_t found;
	int r = get(a, c, &found);

	/* What cannot be read was last written by us, so it is ours to write. */
	if (r == 0 && found != c->to)
		return 0;
	return set(a, c, c->from);
}

uint32_t apply_rollback(const struct actuator *a, const struct changes *c, uint32_t n)
{
	uint32_t failures = 0;

	while (n-- > 0)
		failures += undo(a, &c->v[n]) < 0;
	return failures;
}

uint32_t apply_all(const struct actuator *a, const struct changes *c, bool *done,
		   struct apply_result *ret)
{
	uint32_t failures = 0;

	*ret = nothing_yet;
	for (uint32_t i = 0; i < c->n; i++) {
		int r = set(a, &c->v[i], c->v[i].to);

		if (done)
			done[i] = r == 0;
		if (r == 0) {
			ret->n_written++;
			continue;
		}
		if (failures++ == 0) {
			ret->failed = i;
			ret->error = r;
		}
	}
	return failures;
}
