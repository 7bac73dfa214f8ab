/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <systemd/sd-bus.h>

#include "message.h"
#include "protocol.h"
#include "schema.h"
#include "status.h"

/* Where a value is taken from. */
struct source {
	const struct manager *manager;
	const char *settings; /* run-time settings, NULL: none */
};

static int append_version(sd_bus_message *m, _unused_ const struct source *s)
{
	return sd_bus_message_append(m, "s", CPUIDLED_VERSION);
}

static int append_state(sd_bus_message *m, const struct source *s)
{
	return sd_bus_message_append(m, "s", manager_state_name(manager_state(s->manager)));
}

static int append_generation(sd_bus_message *m, const struct source *s)
{
	return sd_bus_message_append(m, "t", manager_generation(s->manager));
}

static int append_backends(sd_bus_message *m, const struct source *s)
{
	const struct machine *machine = manager_machine(s->manager);

	return machine && machine->module.loaded
		       ? sd_bus_message_append(m, "as", 2, "module", "sysfs")
		       : sd_bus_message_append(m, "as", 1, "sysfs");
}

static int append_files(sd_bus_message *m, const struct source *s)
{
	const struct policy *policy = manager_policy(s->manager);

	return message_append_words(m, policy ? policy->files : NULL, policy ? policy->n_files : 0);
}

static int append_last_error(sd_bus_message *m, const struct source *s)
{
	return sd_bus_message_append(m, "s", manager_last_error(s->manager));
}

static int append_on_foreign_write(sd_bus_message *m, const struct source *s)
{
	const struct policy *policy = manager_policy(s->manager);
	const struct schema_row *row = schema_find(SECTION_DAEMON, "OnForeignWrite");
	char word[32] = "";

	if (policy && row)
		(void)schema_choice_name(row, policy->on_foreign_write, word, sizeof(word));
	return sd_bus_message_append(m, "s", word);
}

static int append_foreign_writes(sd_bus_message *m, const struct source *s)
{
	return sd_bus_message_append(m, "t", manager_foreign_writes(s->manager));
}

static int append_cpus(sd_bus_message *m, const struct source *s)
{
	const struct machine *machine = manager_machine(s->manager);
	uint32_t n = 0;

	for (uint32_t i = 0; machine && i < machine->n_cpus; i++)
		n += machine->cpus[i].present ? 1 : 0;
	return sd_bus_message_append(m, "u", n);
}

static int append_online(sd_bus_message *m, const struct source *s)
{
	const struct machine *machine = manager_machine(s->manager);
	uint32_t n = 0;

	for (uint32_t i = 0; machine && i < machine->n_cpus; i++)
		n += machine->cpus[i].present && machine->cpus[i].online ? 1 : 0;
	return sd_bus_message_append(m, "u", n);
}

static int append_driver(sd_bus_message *m, const struct source *s)
{
	const struct machine *machine = manager_machine(s->manager);

	return sd_bus_message_append(m, "s", machine ? machine->driver : "");
}

static int append_governor(sd_bus_message *m, const struct source *s)
{
	const struct machine *machine = manager_machine(s->manager);

	return sd_bus_message_append(m, "s", machine ? machine->governor : "");
}

static int append_module(sd_bus_message *m, const struct source *s)
{
	return sd_bus_message_append(m, "s", manager_module(s->manager));
}

/* As it stands; explain tells whose doing that is. */
static int append_umwait(sd_bus_message *m, const struct source *s)
{
	const struct machine *machine = manager_machine(s->manager);
	const struct machine_knob *k = machine ? machine->knobs : NULL;
	char text[96] = "", limit[48] = "without limit of time";

	if (k && k[HOST_UMWAIT_MAX].now)
		snprintf(limit, sizeof(limit), "at most %" PRIu64 " TSC cycles",
			 k[HOST_UMWAIT_MAX].now);
	if (k && k[HOST_UMWAIT_C02].present && k[HOST_UMWAIT_MAX].present)
		snprintf(text, sizeof(text), "C0.2 %s, %s",
			 k[HOST_UMWAIT_C02].now ? "allowed" : "forbidden", limit);
	return sd_bus_message_append(m, "s", text);
}

static int append_adapt(sd_bus_message *m, const struct source *s)
{
	char text[256];

	return sd_bus_message_append(m, "s", manager_adapt(s->manager, text, sizeof(text)));
}

static int append_guard(sd_bus_message *m, const struct source *s)
{
	char text[256];

	return sd_bus_message_append(m, "s", manager_guard(s->manager, text, sizeof(text)));
}

static int append_workloads(sd_bus_message *m, const struct source *s)
{
	return sd_bus_message_append(m, "s", manager_workloads(s->manager));
}

static int append_holds(sd_bus_message *m, const struct source *s)
{
	return sd_bus_message_append(m, "u", manager_holds(s->manager)->n);
}

static int append_settings(sd_bus_message *m, const struct source *s)
{
	return sd_bus_message_append(m, "s", s->settings ? s->settings : "");
}

struct value {
	const char *name, *signature;
	int (*append)(sd_bus_message *m, const struct source *s);
};

static const struct value values[] = {
	{"Version", "s", append_version},
	{"State", "s", append_state},
	{"Generation", "t", append_generation},
	{"Backends", "as", append_backends},
	{"PolicyFiles", "as", append_files},
	{"LastError", "s", append_last_error},
	{"OnForeignWrite", "s", append_on_foreign_write},
	{"ForeignWrites", "t", append_foreign_writes},
	{PROTOCOL_STATUS_CPUS, "u", append_cpus},
	{PROTOCOL_STATUS_ONLINE, "u", append_online},
	{PROTOCOL_STATUS_DRIVER, "s", append_driver},
	{PROTOCOL_STATUS_GOVERNOR, "s", append_governor},
	{PROTOCOL_STATUS_MODULE, "s", append_module},
	{PROTOCOL_STATUS_UMWAIT, "s", append_umwait},
	{PROTOCOL_STATUS_ADAPT, "s", append_adapt},
	{PROTOCOL_STATUS_GUARD, "s", append_guard},
	{PROTOCOL_STATUS_WORKLOADS, "s", append_workloads},
	{PROTOCOL_STATUS_HOLDS, "u", append_holds},
	{PROTOCOL_STATUS_SETTINGS, "s", append_settings},
};

static int append_value(sd_bus_message *m, const struct value *v, const struct source *s)
{
	int r;

	r = sd_bus_message_open_container(m, 'e', "sv");
	if (r >= 0)
		r = sd_bus_message_append_basic(m, 's', v->name);
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'v', v->signature);
	if (r >= 0)
		r = v->append(m, s);
	if (r >= 0)
		r = sd_bus_message_close_container(m);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

int status_append_value(sd_bus_message *m, const char *name, const struct manager *manager,
			const char *settings)
{
	const struct source s = {.manager = manager, .settings = settings};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		if (streq(values[i].name, name))
			return values[i].append(m, &s);
	}
	return -ENOENT;
}

int status_append_all(sd_bus_message *m, const struct manager *manager, const char *settings)
{
	const struct source s = {.manager = manager, .settings = settings};
	int r;

	r = sd_bus_message_open_container(m, 'a', "{sv}");
	for (size_t i = 0; i < ARRAY_SIZE(values) && r >= 0; i++)
		r = append_value(m, &values[i], &s);
	return r < 0 ? r : sd_bus_message_close_container(m);
}
