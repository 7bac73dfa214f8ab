/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report-crowd.h"

#define CPUS_TEXT_MAX 200U

static void say(const struct report *to, const struct crowd_cell *worst, const char *cpus)
{
	char detail[320], text[640], spell[LATENCY_TEXT_MAX], pressure[64] = "";
	bool off = worst->event == CROWD_FOUND;

	units_format_latency(spell_ns(&worst->spell), spell, sizeof(spell));
	if (worst->pressure != CROWD_UNKNOWN)
		snprintf(pressure, sizeof(pressure), ", tasks waited for a CPU %u %% of the time",
			 worst->pressure);
	if (off)
		snprintf(
			detail, sizeof(detail),
			"the host took up to %u %% of their time%s; no polling before a halt for %s "
			"or longer",
			worst->percent, pressure, spell);
	else
		snprintf(detail, sizeof(detail), "polling before a halt again, %s",
			 worst->event == CROWD_CALMED ? "since less is taken" : "for a try");
	snprintf(text, sizeof(text), "CPU%s %s: %s", strpbrk(cpus, "-,") ? "s" : "", cpus, detail);
	log_entry(&(struct log_entry){.id = LOG_ID_GUARD,
				      .priority = off ? LOG_NOTICE : LOG_INFO,
				      .cpus = cpus,
				      .knob = "HaltPoll",
				      .old = off ? "on" : "off",
				      .new = off ? "off" : "on"},
		  "HaltPoll: %s", text);
	if (to->told)
		to->told(to->data, "guard", text);
}

void report_crowd(const struct report *to, const struct crowd *c)
{
	_cleanup_(cpuset_done) struct cpuset cpus = {.size = 0};
	char list[CPUS_TEXT_MAX];

	if (cpuset_init(&cpus, CPU_MAX) < 0)
		return;
	for (uint32_t event = CROWD_FOUND; event <= CROWD_TRIED; event++) {
		const struct crowd_cell *worst = NULL;

		cpuset_clear(&cpus);
		for (uint32_t i = 0; i < c->n; i++) {
			const struct crowd_cell *cell = &c->cells[i];

			if (cell->event != event)
				continue;
			cpuset_add(&cpus, cell->cpu);
			if (!worst || cell->percent > worst->percent)
				worst = cell;
		}
		if (!worst)
			continue;
		cpuset_format(&cpus, list, sizeof(list));
		say(to, worst, list);
	}
}
