/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scene.h"

#include "render.h"

#include <dirent.h>

/*
 * Every recorded server, and those below CPUIDLED_HOSTS, under the policies of data/plans: the text of the plan
 * (golden for our own recordings), and what must hold on any host whatever it is.
 */
#define HOSTS_DIR TEST_HOSTS_DIR
#define PLANS_DIR TEST_SOURCE_DIR "/data/plans"
#define HOSTS_MAX 512U

static const char *const policies[] = {"low-latency", "database", "realtime", "saving"};

static char hosts[HOSTS_MAX][64];
static uint32_t n_hosts;

static int visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static void find_hosts(void)
{
	struct dirent **list;
	int n = scandir(HOSTS_DIR, &list, visible, alphasort);

	for (int i = 0; i < n; i++) {
		if (n_hosts < HOSTS_MAX)
			snprintf(hosts[n_hosts++], sizeof(hosts[0]), "%.63s", list[i]->d_name);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

static void open_scene(struct scene *s, const char *host, const char *policy)
{
	char path[512];
	_cleanup_free_ char *text = NULL;
	struct policy *p;

	snprintf(path, sizeof(path), "%s.conf", policy);
	text = test_read(PLANS_DIR, path);
	p = scene_policy(text);
	snprintf(path, sizeof(path), "%s/%s", HOSTS_DIR, host);
	scene_set(s, scene_read(path, policy_needs(p), &s->diags), text);
	policy_free(p);
}

static char *scene_text(const struct scene *s, unsigned flags)
{
	struct render render = {0};
	struct changes changes = {0};
	struct view view = {0};
	char line[1024];

	for (size_t i = 0; i < s->diags.n; i++) {
		diag_format(&s->diags.items[i], line, sizeof(line));
		buf_printf(&render.buf, "%s\n", line);
	}
	ck_assert_int_eq(view_make(s->policy, s->machine, s->plan, NULL, NULL, flags, &view), 0);
	if (flags & VIEW_LAYERS)
		render_explain(&render, &view);
	else
		render_plan(&render, &view);
	ck_assert_int_eq(diff_make(s->plan, s->machine, LATENCY_NONE, &changes), 0);
	buf_puts(&render.buf, "\n");
	render_changes(&render, s->machine, &changes);
	changes_done(&changes);
	view_done(&view);
	return render_finish(&render);
}

/* As the module says of itself on such a host (kmod/hook.c): intel_idle takes a state more, others do not. */
static void add_module(struct machine *m)
{
	const struct idle_table *t = machine_table(m, 0);
	struct machine_module *k = &m->module;

	*k = (struct machine_module){.loaded = true, .limits = true, .states_off = true};
	for (uint32_t cpu = 0; cpu < m->n_cpus; cpu++)
		if (m->cpus[cpu].waitpkg)
			k->c0_cpus[cpu / 32] |= UINT32_C(1) << cpu % 32;
	k->c0x = m->cpus[0].waitpkg;
	k->c0_row = k->c0x && streq(m->driver, "intel_idle");
	if (!k->c0x)
		snprintf(k->c0_reason, sizeof(k->c0_reason), "no CPU has UMWAIT (WAITPKG)");
	for (uint32_t i = 0; t && i < t->n && !k->c1_states; i++)
		if (t->states[i].class >= STATE_CLASS_HALT)
			k->c1_states = (uint16_t)(1U << i);
}

/* C0.x in each place, where the module is in use. */
START_TEST(c0_plan_is_as_expected)
{
	static const char *const with[] = {"spr1", "gnr0", "srf2", "icx2s0", "adl0"};
	_cleanup_free_ char *text = test_read(PLANS_DIR, "c0.conf"), *found = NULL, *right = NULL;
	struct scene s = {0};
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", HOSTS_DIR, with[_i]);
	s.machine = scene_read(path, 0, NULL);
	add_module(s.machine);
	scene_set(&s, s.machine, text);
	found = scene_text(&s, 0);
	snprintf(path, sizeof(path), "%s-c0.expect", with[_i]);
	if (getenv("UPDATE_PLANS"))
		test_write(PLANS_DIR, path, found);
	right = test_read(PLANS_DIR, path);
	ck_assert_msg(streq(found, right), "%s differs; it is now\n%s", path, found);
	scene_done(&s);
}
END_TEST

static bool is_ours(const char *host)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/hosts/%s.sysfs.gz", TEST_SOURCE_DIR, host);
	f = fopen(path, "r");
	if (f)
		fclose(f);
	return f != NULL;
}

START_TEST(plan_is_as_expected)
{
	const char *host = hosts[_i];

	if (!is_ours(host))
		return;
	for (size_t p = 0; p < ARRAY_SIZE(policies); p++) {
		struct scene s = {0};
		char name[128];
		_cleanup_free_ char *text = NULL, *expected = NULL;

		open_scene(&s, host, policies[p]);
		text = scene_text(&s, 0);
		ck_assert_ptr_nonnull(text);
		snprintf(name, sizeof(name), "%s-%s.expect", host, policies[p]);
		if (getenv("UPDATE_PLANS"))
			test_write(PLANS_DIR, name, text);
		expected = test_read(PLANS_DIR, name);
		ck_assert_msg(streq(text, expected), "%s differs; it is now\n%s", name, text);
		scene_done(&s);
	}
}
END_TEST

/* The kernel's rule again, told in another way: may this CPU enter this state after the writes? */
static bool kernel_enters(const struct machine *m, uint32_t cpu, uint32_t state, uint64_t global_ns)
{
	const struct machine_cpu *c = &m->cpus[cpu];
	const struct idle_state *s = &machine_table(m, cpu)->states[state];
	uint64_t limit = MIN_OF(MIN_OF(c->qos_ns, global_ns), m->global_others_ns);

	if (limit == 0)
		return state == 0;
	return !(c->disabled >> state & 1) && s->exit_latency_ns <= limit;
}

static void check_host(const struct scene *s, const struct machine *after, uint64_t global_ns)
{
	for (uint32_t cpu = 0; cpu < after->n_cpus; cpu++) {
		const struct idle_table *t = machine_table(after, cpu);
		const struct plan_row *row = plan_row_of(s->plan, cpu);

		ck_assert(!row == !after->cpus[cpu].present);
		for (uint32_t i = 0; t && i < t->n; i++)
			ck_assert_msg(row->states[i].enabled ==
					      kernel_enters(after, cpu, i, global_ns),
				      "CPU %u %s", cpu, t->states[i].name);
	}
}

/* What the plan says is what the kernel does once it is written; and the way back is complete. */
START_TEST(plan_says_what_the_kernel_will_do)
{
	for (size_t p = 0; p < ARRAY_SIZE(policies); p++) {
		struct scene s = {0};
		struct changes c = {0};
		uint64_t global_ns = LATENCY_NONE;
		_cleanup_free_ struct machine_cpu *before = NULL;
		size_t size;

		open_scene(&s, hosts[_i], policies[p]);
		size = s.machine->n_cpus * sizeof(*before);
		before = malloc(size);
		ck_assert_ptr_nonnull(before);
		memcpy(before, s.machine->cpus, size);
		ck_assert_int_eq(diff_make(s.plan, s.machine, global_ns, &c), 0);
		scene_apply(s.machine, &c, &global_ns);
		changes_done(&c);
		check_host(&s, s.machine, global_ns);
		ck_assert_int_eq(diff_make(s.plan, s.machine, global_ns, &c), 0);
		ck_assert_uint_eq(c.n, 0);
		ck_assert_int_eq(diff_undo(s.machine, global_ns, &c), 0);
		scene_apply(s.machine, &c, &global_ns);
		changes_done(&c);
		ck_assert_mem_eq(before, s.machine->cpus, size);
		scene_done(&s);
	}
}
END_TEST

START_TEST(explain_has_every_layer)
{
	struct scene s = {0};
	_cleanup_free_ char *text = NULL;

	open_scene(&s, hosts[_i], "low-latency");
	text = scene_text(&s, VIEW_LAYERS);
	ck_assert_ptr_nonnull(text);
	ck_assert_ptr_nonnull(strstr(text, "  driver "));
	ck_assert_ptr_nonnull(strstr(text, "  cpu_dma_latency "));
	ck_assert_ptr_nonnull(strstr(text, "  pm_qos_resume_latency_us "));
	if (s.machine->n_cpus > 4)
		ck_assert_ptr_nonnull(strstr(text, "  group fast "));
	if (s.machine->n_tables > 0) {
		ck_assert_ptr_nonnull(strstr(text, "  governor "));
		ck_assert_ptr_nonnull(strstr(text, "  what remains "));
	}
	scene_done(&s);
}
END_TEST

START_TEST(recordings_are_there)
{
	ck_assert_msg(n_hosts >= 31, "%u hosts in %s; ctest unpacks them (hosts/unpack-all)",
		      n_hosts, HOSTS_DIR);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hosts");
	TCase *tc = tcase_create("hosts");

	find_hosts();
	tcase_set_timeout(tc, 240);
	tcase_add_test(tc, recordings_are_there);
	tcase_add_loop_test(tc, plan_is_as_expected, 0, (int)n_hosts);
	tcase_add_loop_test(tc, c0_plan_is_as_expected, 0, 5);
	tcase_add_loop_test(tc, plan_says_what_the_kernel_will_do, 0, (int)n_hosts);
	tcase_add_loop_test(tc, explain_has_every_layer, 0, (int)n_hosts);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
