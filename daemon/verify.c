/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verify.h"

#include "host.h"
#include "modes.h"

enum result { RESULT_OK, RESULT_DIFFERS, RESULT_UNSUPPORTED };

/* What makes two CPUs one finding. */
struct key {
	enum result result;
	uint8_t kind; /* enum knob_kind, or one of the following */
	uint8_t state; /* state, mode, or enum limit_keeper */
	uint8_t mode_reason;
	bool left; /* to others, after a foreign write */
	bool others; /* KIND_LIMIT: it is theirs */
	bool hold; /* KIND_LIMIT: a hold asks for it, not the policy */
	uint64_t found, wanted;
};

#define KIND_MODE  0xff
#define KIND_LIMIT 0xfe

/* Where the strictest limit of a CPU stands. */
enum limit_keeper { KEEPER_NONE, KEEPER_FILE, KEEPER_GLOBAL, KEEPER_MODULE, KEEPER_STATES };

struct bundle {
	struct key key;
	struct cpuset cpus;
};

struct collector {
	struct bundle bundles[FINDINGS_MAX];
	uint32_t n, n_differs, dropped, n_cpus;
	uint8_t own_row;
	int error;
};

static bool key_equal(const struct key *a, const struct key *b)
{
	return a->result == b->result && a->kind == b->kind && a->state == b->state &&
	       a->mode_reason == b->mode_reason && a->left == b->left && a->others == b->others &&
	       a->hold == b->hold && a->found == b->found && a->wanted == b->wanted;
}

static void add(struct collector *c, uint32_t cpu, const struct key *key)
{
	struct bundle *g = c->bundles;

	c->n_differs += key->result == RESULT_DIFFERS;
	while (g < c->bundles + c->n && !key_equal(&g->key, key))
		g++;
	if (g == c->bundles + FINDINGS_MAX) {
		c->dropped++;
		return;
	}
	if (g == c->bundles + c->n) {
		int r = cpuset_init(&g->cpus, c->n_cpus);

		if (r < 0) {
			c->error = r;
			return;
		}
		g->key = *key;
		c->n++;
	}
	cpuset_add(&g->cpus, cpu);
}

/* ---- the limit, of all sources ---- */

static void take_stricter(struct key *key, enum limit_keeper keeper, uint64_t ns)
{
	if (ns >= key->found)
		return;
	key->found = ns;
	key->state = (uint8_t)keeper;
}

/* The longest way out of a state that is on: what a CPU has whose limit its states' own files keep. */
static uint64_t longest_exit(const struct machine *now, uint32_t cpu)
{
	const struct idle_table *table = machine_table(now, cpu);
	uint64_t ns = 0;

	for (uint32_t i = 0; table && i < table->n; i++)
		if (!(now->cpus[cpu].disabled & 1U << i))
			ns = MAX_OF(ns, table->states[i].exit_latency_ns);
	return table ? ns : LATENCY_NONE;
}

/* What the module keeps for a CPU, as far as the kernel says the same. */
static uint64_t kept_limit(const struct verify_input *in, uint32_t cpu)
{
	if (!in->kept || cpuset_has(in->not_kept, cpu))
		return LATENCY_NONE;
	return module_row_of(in->kept, cpu)->limit_ns;
}

/* Is the strictest one what others have put where it stands? */
static bool is_others(const struct verify_input *in, const struct plan_row *row,
		      const struct key *key)
{
	switch ((enum limit_keeper)key->state) {
	case KEEPER_FILE:
		return !row->sets_qos || key->found != row->qos_ns;
	case KEEPER_GLOBAL:
		return !in->plan->sets_global || key->found < in->plan->global_ns;
	case KEEPER_NONE:
	case KEEPER_MODULE:
	case KEEPER_STATES:
		break;
	}
	return false;
}

static void check_limit(struct collector *c, const struct verify_input *in,
			const struct plan_row *row, uint32_t cpu)
{
	const struct machine_cpu *now = &in->now->cpus[cpu];
	struct key key = {
		.kind = KIND_LIMIT,
		.found = LATENCY_NONE,
		.wanted = row->policy_limit_ns,
		.hold = row->hold_limit_ns == row->policy_limit_ns &&
			row->hold_limit_ns < row->demand_limit_ns,
	};

	if (now->has_qos)
		take_stricter(&key, KEEPER_FILE, now->qos_ns);
	if (in->now->has_global)
		take_stricter(&key, KEEPER_GLOBAL, in->now->global_ns);
	take_stricter(&key, KEEPER_MODULE, kept_limit(in, cpu));
	if (!now->has_qos && !in->kept && key.found > key.wanted)
		take_stricter(&key, KEEPER_STATES, longest_exit(in->now, cpu));
	/* Nobody asks for anything, or nothing here could keep it, which is told of the file. */
	if (!row->online ||
	    (key.found == LATENCY_NONE &&
	     (key.wanted == LATENCY_NONE || (!now->has_qos && row->table == MACHINE_NO_TABLE))))
		return;
	key.others = is_others(in, row, &key);
	key.result = key.found > key.wanted ? RESULT_DIFFERS : RESULT_OK;
	add(c, cpu, &key);
}

static const char *keeper_name(enum limit_keeper keeper)
{
	switch (keeper) {
	case KEEPER_FILE:
		return "pm_qos_resume_latency_us";
	case KEEPER_GLOBAL:
		return "cpu_dma_latency";
	case KEEPER_MODULE:
		return "cpuidle_policy";
	case KEEPER_STATES:
		return "the states' files";
	case KEEPER_NONE:
		break;
	}
	return "no place";
}

/* "requested 20us by a hold, effective 5us in cpu_dma_latency by others" */
static void limit_text(const struct key *k, char *buf, size_t size)
{
	char found[LATENCY_TEXT_MAX], wanted[LATENCY_TEXT_MAX];

	units_format_latency(k->found, found, sizeof(found));
	units_format_latency(k->wanted, wanted, sizeof(wanted));
	snprintf(buf, size, "requested %s%s, effective %s%s%s%s", wanted,
		 k->hold		     ? " by a hold"
		 : k->wanted != LATENCY_NONE ? " by the policy"
					     : "",
		 found, k->state != KEEPER_NONE ? " in " : "",
		 k->state != KEEPER_NONE ? keeper_name(k->state) : "",
		 k->others ? " by others" : "");
}

/* ---- files and modes ---- */

static void check_qos(struct collector *c, const struct plan_row *row,
		      const struct machine_cpu *now, uint32_t cpu)
{
	struct key key = {.kind = KNOB_QOS, .found = now->qos_ns, .wanted = row->qos_ns};

	if (row->policy_limit_ns == LATENCY_NONE && !row->sets_qos)
		return;
	/* The module keeps it, and is asked itself. */
	if (row->module.limit_ns != LATENCY_NONE)
		return;
	if (!now->has_qos) {
		/* Without that file the limit is kept by the states' own, if there are any. */
		if (row->table != MACHINE_NO_TABLE)
			return;
		key.result = RESULT_UNSUPPORTED;
		key.found = 0;
		key.wanted = row->policy_limit_ns;
	} else if (now->left & 1U << MACHINE_BIT_QOS) {
		key.left = true;
		key.wanted = row->policy_limit_ns;
		key.result = now->qos_ns > row->policy_limit_ns ? RESULT_DIFFERS : RESULT_OK;
	} else {
		/* What is stricter than ours is somebody's who may be so. */
		key.result = now->qos_ns > row->qos_ns ? RESULT_DIFFERS : RESULT_OK;
	}
	add(c, cpu, &key);
}

static void check_states(struct collector *c, const struct plan_row *row,
			 const struct machine_cpu *now, uint32_t cpu)
{
	for (uint8_t state = 0; state < MACHINE_STATES_MAX; state++) {
		uint32_t bit = 1U << state;
		struct key key = {.kind = KNOB_DISABLE, .state = state};

		if (!((row->disable_care | now->left) & bit))
			continue;
		key.left = now->left & bit;
		key.found = (now->disabled & bit) != 0;
		key.wanted = key.left ? 1 : (row->disable_mask & bit) != 0;
		if (key.found != key.wanted && key.wanted)
			key.result = RESULT_DIFFERS;
		add(c, cpu, &key);
	}
}

/* Is something else done than was asked for, because this host cannot? auto asks for what is of use here. */
static bool is_degraded(const struct plan_mode_cell *cell)
{
	switch ((enum mode_reason)cell->reason) {
	case MODE_AS_ASKED:
	case MODE_NOT_NEEDED:
	case MODE_HARMLESS:
	case MODE_OFFLINE:
	case MODE_NO_DUMMY:
	case MODE_BY_GOVERNOR:
		return false;
	case MODE_NO_MODULE:
	case MODE_MODULE_LACKS:
	case MODE_NO_WAITPKG:
	case MODE_UNSAFE:
	case MODE_NO_ROW:
	case MODE_ROW_GOVERNOR:
	case MODE_ROW_LIMIT:
	case MODE_ROW_DISABLED:
	case MODE_NO_C1:
	case MODE_C02_FORBIDDEN:
		return true;
	case MODE_GUEST:
	case MODE_NOT_GUEST:
	case MODE_LIMIT_TOO_SHORT:
	case MODE_NO_STATE:
	case MODE_UNMEASURED:
	case MODE_CROWDED:
		break;
	}
	return cell->requested != MODE_AUTO;
}

static void check_modes(struct collector *c, const struct plan_row *row, uint32_t cpu)
{
	for (uint8_t mode = 0; row->online && mode < MODE_N; mode++) {
		const struct plan_mode_cell *cell = &row->modes[mode];
		struct key key = {
			.result = RESULT_UNSUPPORTED,
			.kind = KIND_MODE,
			.state = mode,
			.mode_reason = cell->reason,
			.wanted = cell->wanted,
		};
		bool other = cell->wanted != cell->effective;

		if (!other)
			key.wanted = cell->requested;
		if (other || is_degraded(cell))
			add(c, cpu, &key);
	}
}

static int check_global(struct collector *c, const struct plan *plan, const struct actuator *a)
{
	struct change knob = {.kind = KNOB_GLOBAL, .to = plan->global_ns};
	struct key key = {.kind = KNOB_GLOBAL, .wanted = plan->global_ns};
	int r;

	if (!plan->sets_global)
		return 0;
	r = a->ops->get(a->data, &knob, &key.found);
	if (r < 0)
		return r;
	key.result = key.found > key.wanted ? RESULT_DIFFERS : RESULT_OK;
	add(c, UINT32_MAX, &key);
	return 0;
}

/* What the policy wants of umwait_control, also where it is left to others by now. */
static void check_knobs(struct collector *c, const struct plan *plan, const struct machine *now)
{
	for (uint32_t i = 0; i < HOST_KNOBS; i++) {
		const struct machine_knob *k = &now->knobs[i];
		struct key key = {
			.kind = KNOB_HOST, .state = (uint8_t)i, .left = k->left, .found = k->now};

		if (!k->present || (plan->knobs[i] == HOST_KEEP && !k->left))
			continue;
		key.wanted = k->left ? k->now : plan->knobs[i];
		key.result = key.left || key.found != key.wanted ? RESULT_DIFFERS : RESULT_OK;
		add(c, UINT32_MAX, &key);
	}
}

static const char *mode_why(enum mode_reason reason)
{
	switch (reason) {
	case MODE_NO_MODULE:
		return "needs the module cpuidle_policy, which is not in use";
	case MODE_MODULE_LACKS:
		return "the loaded module cannot do it here";
	case MODE_NO_WAITPKG:
		return "the CPU has no UMWAIT";
	case MODE_GUEST:
		return "in a guest only when named";
	case MODE_NOT_GUEST:
		return "only in a guest";
	case MODE_LIMIT_TOO_SHORT:
		return "the limit is too short";
	case MODE_NO_STATE:
		return "no state it could act on";
	case MODE_UNSAFE:
		return "unsafe without a timer that runs in every state";
	case MODE_NO_ROW:
	case MODE_ROW_GOVERNOR:
	case MODE_ROW_LIMIT:
	case MODE_ROW_DISABLED:
	case MODE_NO_C1:
	case MODE_NO_DUMMY:
	case MODE_UNMEASURED:
	case MODE_CROWDED:
	case MODE_BY_GOVERNOR:
	case MODE_C02_FORBIDDEN:
		return modes_reason_text(reason);
	case MODE_AS_ASKED:
	case MODE_NOT_NEEDED:
	case MODE_HARMLESS:
	case MODE_OFFLINE:
		break;
	}
	return "not possible here";
}

static void value_text(uint8_t kind, uint64_t value, char *buf)
{
	if (kind == KNOB_DISABLE || kind == KNOB_HOST)
		snprintf(buf, LATENCY_TEXT_MAX, "%" PRIu64, value);
	else
		units_format_latency(value, buf, LATENCY_TEXT_MAX);
}

static char *detail_of(const struct key *k)
{
	char found[LATENCY_TEXT_MAX], wanted[LATENCY_TEXT_MAX], text[200];

	value_text(k->kind, k->found, found);
	value_text(k->kind, k->wanted, wanted);
	if (k->kind == KIND_LIMIT)
		limit_text(k, text, sizeof(text));
	else if (k->kind == KIND_MODE)
		snprintf(text, sizeof(text), "%s: %s",
			 plan_mode_value_name((enum mode_value)k->wanted),
			 mode_why(k->mode_reason));
	else if (k->result == RESULT_UNSUPPORTED)
		snprintf(text, sizeof(text), "no such file here; the limit %s cannot be kept",
			 wanted);
	else if (k->kind == KNOB_HOST && k->left)
		snprintf(text, sizeof(text), "found %s; left to others after their write", found);
	else if (k->result == RESULT_DIFFERS)
		snprintf(text, sizeof(text), "found %s, should be %s%s", found, wanted,
			 k->left ? "; left to others after their write" : "");
	else if (k->found != k->wanted)
		snprintf(text, sizeof(text), "%s, stricter than %s by somebody else", found,
			 wanted);
	else
		snprintf(text, sizeof(text), "%s", found);
	return strdup(text);
}

static const char *result_name(enum result result)
{
	switch (result) {
	case RESULT_OK:
		return "ok";
	case RESULT_DIFFERS:
		return "differs";
	case RESULT_UNSUPPORTED:
		break;
	}
	return "unsupported";
}

static int finish_one(const struct bundle *g, uint8_t own_row, struct finding *f)
{
	struct change knob = {.kind = g->key.kind, .state = g->key.state, .own_row = own_row};
	char name[40];

	if (g->key.kind == KIND_MODE)
		f->knob = strdup(plan_mode_name(g->key.state));
	else if (g->key.kind == KIND_LIMIT)
		f->knob = strdup("limit");
	else
		f->knob = strdup(host_knob_name(&knob, name, sizeof(name)));
	f->cpus = g->key.kind == KNOB_GLOBAL || g->key.kind == KNOB_HOST
			  ? strdup("")
			  : cpuset_to_string(&g->cpus);
	f->detail = detail_of(&g->key);
	f->result = result_name(g->key.result);
	return f->knob && f->cpus && f->detail ? 0 : -ENOMEM;
}

void findings_done(struct findings *f)
{
	for (uint32_t i = 0; i < f->n; i++) {
		free(f->v[i].cpus);
		free(f->v[i].knob);
		free(f->v[i].detail);
	}
	free(f->v);
	*f = (struct findings){.n = 0};
}

int findings_add(struct findings *f, const char *cpus, const char *result, const char *knob,
		 const char *detail, uint32_t n)
{
	struct finding *v = reallocarray(f->v, f->n + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	f->v = v;
	f->v[f->n++] = (struct finding){
		.cpus = strdup(cpus),
		.result = result,
		.knob = strdup(knob),
		.detail = strdup(detail),
	};
	f->n_differs += n;
	v = &f->v[f->n - 1];
	return v->cpus && v->knob && v->detail ? 0 : -ENOMEM;
}

int findings_close(struct findings *f)
{
	char detail[96];

	if (f->dropped == 0)
		return 0;
	snprintf(detail, sizeof(detail), "%u more answers than can be told%s", f->dropped,
		 f->n_differs ? ", differences among all of them" : "");
	f->dropped = 0;
	return findings_add(f, "", f->n_differs ? "differs" : "ok", "more", detail, 0);
}

static int finish(struct collector *c, struct findings *ret)
{
	struct findings f = {.n_differs = c->n_differs, .dropped = c->dropped};
	int r = 0;

	f.v = calloc(c->n + 1, sizeof(*f.v));
	if (!f.v)
		return -ENOMEM;
	for (f.n = 0; r == 0 && f.n < c->n; f.n++)
		r = finish_one(&c->bundles[f.n], c->own_row, &f.v[f.n]);
	if (r < 0)
		findings_done(&f);
	else
		*ret = f;
	return r;
}

int verify_make(const struct verify_input *in, struct findings *ret)
{
	const struct plan *plan = in->plan;
	const struct machine *now = in->now;
	_cleanup_free_ struct collector *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->n_cpus = plan->n_cpus;
	c->own_row = now->own_row;
	for (uint32_t cpu = 0; cpu < MIN_OF(plan->n_cpus, now->n_cpus); cpu++) {
		const struct plan_row *row = plan_row_of(plan, cpu);

		if (!row)
			continue;
		check_limit(c, in, row, cpu);
		check_qos(c, row, &now->cpus[cpu], cpu);
		check_states(c, row, &now->cpus[cpu], cpu);
		check_modes(c, row, cpu);
	}
	check_knobs(c, plan, now);
	r = check_global(c, plan, in->actuator);
	if (r == 0)
		r = c->error;
	if (r == 0)
		r = finish(c, ret);
	for (uint32_t i = 0; i < c->n; i++)
		cpuset_done(&c->bundles[i].cpus);
	return r;
}
