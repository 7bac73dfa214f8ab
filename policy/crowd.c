/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "crowd.h"

/* Two looks that close to each other say nothing: steal is counted in hundredths of a second. */
#define SPAN_MIN_NS (500 * NSEC_PER_MSEC)

static struct crowd_cell *find(const struct crowd *c, uint32_t cpu)
{
	uint32_t low = 0, high = c->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (c->cells[middle].cpu == cpu)
			return &c->cells[middle];
		if (c->cells[middle].cpu < cpu)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

bool crowd_watches(const struct machine *machine, const struct plan_row *row)
{
	const struct plan_mode_cell *c = &row->modes[MODE_HALTPOLL];

	return machine->virt == VIRT_GUEST && row->online &&
	       (c->effective == MODE_HALTPOLL_ON || c->reason == MODE_CROWDED);
}

static bool watches(const struct plan *plan, const struct machine *machine, uint32_t cpu)
{
	const struct plan_row *row = plan_row_of(plan, cpu);

	return row && crowd_watches(machine, row);
}

int crowd_follow(struct crowd *c, const struct plan *plan, const struct machine *machine)
{
	struct crowd_cell *cells = NULL;
	uint32_t n = 0, i = 0;
	bool behind = false;

	for (uint32_t cpu = 0; cpu < plan->n_cpus; cpu++)
		n += watches(plan, machine, cpu);
	if (n > 0) {
		cells = calloc(n, sizeof(*cells));
		if (!cells)
			return -ENOMEM;
	}
	for (uint32_t cpu = 0; cpu < plan->n_cpus; cpu++) {
		const struct crowd_cell *known = find(c, cpu);
		const struct plan_row *row = plan_row_of(plan, cpu);

		if (cells && i < n && watches(plan, machine, cpu))
			cells[i++] = known ? *known : (struct crowd_cell){.cpu = (uint16_t)cpu};
		behind |= row && row->crowded && !(known && known->off);
	}
	free(c->cells);
	c->cells = cells;
	c->n = n;
	return behind;
}

void crowd_done(struct crowd *c)
{
	free(c->cells);
	*c = (struct crowd){.n = 0};
}

/* Percent of stolen time from which on polling is off, or its reason goes on. */
static uint32_t mark_of(const struct crowd_cell *cell, uint32_t pressure)
{
	uint32_t mark = CROWD_STEAL_PERCENT;

	if (pressure != CROWD_UNKNOWN && pressure >= CROWD_FULL_PERCENT)
		return 0;
	if (pressure != CROWD_UNKNOWN && pressure >= CROWD_PRESSURE_PERCENT)
		mark /= 2;
	return cell->off ? MAX_OF(mark / 2, 1) : mark;
}

static void judge(struct crowd *c, struct crowd_cell *cell, uint32_t percent, uint32_t pressure,
		  uint64_t before)
{
	bool on = percent >= mark_of(cell, pressure);
	enum spell_end end;

	if (cell->off) {
		end = spell_look(&cell->spell, on, before, c->now);
		if (end == SPELL_LASTS)
			return;
		cell->off = false;
		cell->event = end == SPELL_CALMED ? CROWD_CALMED : CROWD_TRIED;
	} else if (on) {
		spell_begin(&cell->spell, c->now);
		cell->off = true;
		cell->event = CROWD_FOUND;
		cell->percent = percent;
		cell->pressure = pressure;
		c->spells++;
	}
}

static void look_at(struct crowd *c, struct crowd_cell *cell, uint32_t pressure, crowd_read read,
		    void *data)
{
	uint64_t steal, before = cell->at, span = c->now - before, more;
	bool known = cell->known;

	if (known && span < SPAN_MIN_NS)
		return;
	cell->known = read(data, cell->cpu, &steal) == 0;
	if (!cell->known)
		return;
	/* The count may step back when the guest is moved to another host, which is no theft. */
	more = known && steal > cell->steal_ns ? steal - cell->steal_ns : 0;
	cell->steal_ns = steal;
	cell->at = c->now;
	if (known)
		judge(c, cell, (uint32_t)MIN_OF(more * 100 / span, UINT64_C(100)), pressure,
		      before);
}

void crowd_look(struct crowd *c, uint64_t now, uint32_t pressure, crowd_read read, void *data)
{
	c->now = now;
	c->n_events = 0;
	for (uint32_t i = 0; i < c->n; i++) {
		c->cells[i].event = CROWD_NOTHING;
		look_at(c, &c->cells[i], pressure, read, data);
		c->n_events += c->cells[i].event != CROWD_NOTHING;
	}
}

bool crowd_is_off(const struct crowd *c, uint32_t cpu)
{
	const struct crowd_cell *cell = find(c, cpu);

	return cell && cell->off;
}

void crowd_text(const struct machine *machine, const struct plan *plan, const struct plan_row *from,
		struct buf *b)
{
	const struct crowd *c = machine->crowd;
	const struct crowd_cell *last = NULL;
	uint64_t spells = 0, left = 0;
	uint32_t n = 0, off = 0;

	for (uint32_t i = 0; c && i < c->n; i++) {
		const struct crowd_cell *cell = &c->cells[i];

		if (plan_row_of(plan, cell->cpu) != from)
			continue;
		n++;
		off += cell->off;
		spells += cell->spell.n;
		if (cell->off && cell->spell.until > c->now)
			left = MAX_OF(left, cell->spell.until - c->now);
		if (cell->spell.n && (!last || cell->spell.since > last->spell.since))
			last = cell;
	}
	if (n == 0) {
		buf_puts(b, "stolen time is looked at while the daemon runs");
		return;
	}
	if (!last) {
		buf_puts(b, "stolen time is looked at once a second, no reason against it so far");
		return;
	}
	buf_printf(b,
		   off ? "off on %" PRIu32 " of %" PRIu32 " CPUs, for %" PRIu64 " s more at most"
		       : "on again on %" PRIu32 " of %" PRIu32 " CPUs",
		   off ? off : n, n, (left + NSEC_PER_SEC - 1) / NSEC_PER_SEC);
	buf_printf(b, "; times so far: %" PRIu64 "; the host took %" PRIu32 " %% from CPU %u",
		   spells, last->percent, last->cpu);
	if (last->pressure != CROWD_UNKNOWN)
		buf_printf(b, ", tasks waited for a CPU %" PRIu32 " %% of the time",
			   last->pressure);
}
