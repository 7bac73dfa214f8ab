/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "module.h"

static const struct plan_module nothing = {.limit_ns = LATENCY_NONE};

void module_rows_done(struct module_rows *rows)
{
	free(rows->row_of);
	free(rows->rows);
	*rows = (struct module_rows){.n_cpus = 0};
}

const struct plan_module *module_row_of(const struct module_rows *rows, uint32_t cpu)
{
	if (cpu >= rows->n_cpus || rows->row_of[cpu] == PLAN_NO_ROW)
		return &nothing;
	return &rows->rows[rows->row_of[cpu]];
}

static bool same_modes(const struct plan_module *a, const struct plan_module *b)
{
	return a->irq_window == b->irq_window && a->sti_mwait == b->sti_mwait &&
	       a->states_off == b->states_off && a->broadcast == b->broadcast &&
	       a->poll == b->poll && a->c1 == b->c1 && a->row == b->row &&
	       a->haltpoll_us == b->haltpoll_us && a->ioport_direct == b->ioport_direct;
}

bool module_row_equal(const struct plan_module *a, const struct plan_module *b)
{
	return a->limit_ns == b->limit_ns && same_modes(a, b);
}

bool module_row_is_default(const struct plan_module *row)
{
	return same_modes(row, &nothing);
}

/* The number of row in rows, which has room for one more. */
static uint16_t intern(struct module_rows *rows, const struct plan_module *row)
{
	uint32_t i = 0;

	while (i < rows->n_rows && !module_row_equal(&rows->rows[i], row))
		i++;
	if (i == rows->n_rows)
		rows->rows[rows->n_rows++] = *row;
	return (uint16_t)i;
}

int module_rows_make(const struct plan *plan, struct module_rows *ret)
{
	_cleanup_(module_rows_done) struct module_rows rows = {.n_cpus = plan ? plan->n_cpus : 0};
	_cleanup_free_ uint16_t *to = NULL;

	if (plan) {
		rows.own_driver = plan->own_driver;
		rows.guest = plan->guest;
		rows.row_of = calloc(plan->n_cpus + 1, sizeof(*rows.row_of));
		rows.rows = calloc(plan->n_rows + 1, sizeof(*rows.rows));
		to = calloc(plan->n_rows + 1, sizeof(*to));
		if (!rows.row_of || !rows.rows || !to)
			return -ENOMEM;
		for (uint32_t i = 0; i < plan->n_rows; i++)
			to[i] = intern(&rows, &plan->rows[i].module);
		for (uint32_t cpu = 0; cpu < plan->n_cpus; cpu++) {
			uint16_t row = plan->row_of[cpu];

			rows.row_of[cpu] = row == PLAN_NO_ROW ? row : to[row];
		}
	}
	*ret = rows;
	rows = (struct module_rows){.n_cpus = 0};
	return 0;
}

void module_compare(const struct module_rows *have, const struct module_rows *want,
		    struct module_diff *ret)
{
	*ret = (struct module_diff){.own_driver = have->own_driver != want->own_driver};
	for (uint32_t cpu = 0; cpu < MAX_OF(have->n_cpus, want->n_cpus); cpu++) {
		const struct plan_module *from = module_row_of(have, cpu);
		const struct plan_module *to = module_row_of(want, cpu);

		ret->n_tighten += to->limit_ns < from->limit_ns;
		ret->n_loosen += to->limit_ns > from->limit_ns;
		ret->n_modes += !same_modes(from, to);
	}
}
