/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/socket.h>

#include "kernel-private.h"

/* ---- news ---- */

/* A family is told of by its name: ours, or one of many others. */
static void on_family(struct kernel *k, const struct wire_message *m, struct kernel_news *news)
{
	struct wire_family f;

	if (wire_get_family(m, &f) < 0 || !f.ours)
		return;
	if (m->kind == WIRE_FAMILY) {
		news->came = k->standing != KERNEL_OURS;
		return;
	}
	k->family = 0;
	k->joined = 0;
	news->came = false;
	news->lost = news->lost || k->standing == KERNEL_OURS;
	kernel_forget(k, KERNEL_ABSENT);
	kernel_say(k, "cpuidle_policy was unloaded");
}

/* Somebody's lease ended. Ours, or is this old news? The kernel knows. */
static void on_lease_end(struct kernel *k, struct kernel_news *news)
{
	if (k->standing != KERNEL_OURS)
		news->came = true;
	else if (kernel_renew(k) < 0)
		news->lost = news->came = true;
}

static void on_lease(struct kernel *k, const struct wire_message *m, struct kernel_news *news)
{
	struct wire_lease lease;

	if (wire_get_lease(m, &lease) == 0 && !lease.taken)
		on_lease_end(k, news);
}

static void on_driver(struct kernel *k, const struct wire_message *m, struct kernel_news *news)
{
	struct wire_caps caps;

	if (wire_get_caps(m, &caps) < 0)
		return;
	/* Somebody else's doing may move the files of states. */
	news->host = news->host || k->standing != KERNEL_OURS;
	if (k->standing != KERNEL_OURS)
		return;
	news->host = news->host || !kernel_same_table(&caps, &k->caps);
	k->caps = caps;
	kernel_say_ours(k);
}

/* Not ours, when it counts on from what we counted: the module took out what a new table does not allow. */
static void on_config(struct kernel *k, const struct wire_message *m, struct kernel_news *news)
{
	struct cpuset cpus = {.size = 0};
	struct wire_config config;

	if (k->standing != KERNEL_OURS || wire_get_config(m, &config, &cpus) < 0 ||
	    (int32_t)(config.generation - k->caps.generation) <= 0)
		return;
	k->caps.generation = config.generation;
	k->restate = true;
	news->host = true;
}

static void on_news(struct kernel *k, const struct wire_message *m, struct kernel_news *news)
{
	switch (m->kind) {
	case WIRE_FAMILY:
	case WIRE_FAMILY_GONE:
		on_family(k, m, news);
		break;
	case WIRE_LEASE_EVENT:
		on_lease(k, m, news);
		break;
	case WIRE_CONFIG_EVENT:
		on_config(k, m, news);
		break;
	case WIRE_DRIVER_EVENT:
		on_driver(k, m, news);
		break;
	case WIRE_QOS_EVENT:
		news->limits = true;
		break;
	case WIRE_HOTPLUG_EVENT:
		news->host = true;
		break;
	case WIRE_UNKNOWN:
	case WIRE_ANSWER:
	case WIRE_DONE:
	case WIRE_CAPS:
	case WIRE_CONFIG:
	case WIRE_QOS:
		break;
	}
}

/* Some news did not fit in: anything may have happened. */
static void on_overrun(struct kernel *k, struct kernel_news *news)
{
	news->host = news->limits = k->restate = true;
	on_lease_end(k, news);
}

bool kernel_collect(struct kernel *k, struct kernel_news *ret)
{
	/* Apart from the buffer of requests: news may ask the kernel something. */
	_cleanup_free_ uint8_t *buffer = malloc(KERNEL_BUFFER);
	struct wire_message m;
	struct wire_in in;
	ssize_t n;

	*ret = (struct kernel_news){.came = false};
	for (uint32_t i = 0; buffer && i < KERNEL_EVENTS_AT_ONCE; i++) {
		n = recv(k->events_fd, buffer, KERNEL_BUFFER, MSG_DONTWAIT);
		if (n < 0 && errno == ENOBUFS)
			on_overrun(k, ret);
		else if (n <= 0)
			break;
		in = (struct wire_in){.bytes = buffer, .n = n < 0 ? 0 : (size_t)n};
		while (wire_next(&in, k->family, &m))
			on_news(k, &m, ret);
	}
	return ret->came || ret->lost || ret->host || ret->limits;
}

/* ---- looking back ---- */

struct check {
	const struct kernel *k;
	struct cpuset cpus; /* of the message at hand */
	struct cpuset differs, limited;
};

static int check_config(const struct wire_message *m, struct check *c)
{
	struct wire_config config;
	int r;

	cpuset_clear(&c->cpus);
	r = wire_get_config(m, &config, &c->cpus);
	if (r < 0)
		return r;
	cpuset_for_each(cpu, &c->cpus) {
		config.row.limit_ns = module_row_of(&c->k->have, cpu)->limit_ns;
		if (!module_row_equal(&config.row, module_row_of(&c->k->have, cpu)))
			cpuset_add(&c->differs, cpu);
	}
	return 0;
}

static int check_limit(const struct wire_message *m, struct check *c)
{
	struct wire_limit limit;
	int r;

	cpuset_clear(&c->cpus);
	r = wire_get_limit(m, &limit, &c->cpus);
	if (r < 0 || limit.id != WIRE_QOS_ID)
		return r;
	cpuset_or(&c->limited, &c->cpus);
	cpuset_for_each(cpu, &c->cpus)
		if (module_row_of(&c->k->have, cpu)->limit_ns != limit.limit_ns)
			cpuset_add(&c->differs, cpu);
	return 0;
}

static int check_message(const struct wire_message *m, void *data)
{
	if (m->kind == WIRE_CONFIG)
		return check_config(m, data);
	return m->kind == WIRE_QOS ? check_limit(m, data) : 0;
}

/* A dump that changed while it was read is read again. */
static int dump(struct kernel *k, enum wire_request what, struct check *c)
{
	int r = -EAGAIN;

	for (uint32_t i = 0; i < KERNEL_DUMP_TRIES && r == -EAGAIN; i++) {
		_cleanup_(wire_out_done) struct wire_out o = {.n = 0};
		struct wire_head h = kernel_head(k, false);
		struct kernel_talk t = {.first = h.seq, .take = check_message, .data = c};

		cpuset_clear(&c->differs);
		cpuset_clear(&c->limited);
		wire_put_request(&o, &h, what);
		r = kernel_talk(k, &o, &t);
		if (r < 0)
			kernel_say_refused(k, "to say what stands", &t);
		else if (t.torn)
			r = -EAGAIN;
	}
	return r;
}

static void check_done(struct check *c)
{
	cpuset_done(&c->cpus);
	cpuset_done(&c->differs);
	cpuset_done(&c->limited);
}

static int run_check(struct kernel *k, struct check *c, struct cpuset *differs)
{
	int r = dump(k, WIRE_CONFIG_GET, c);

	if (r < 0)
		return r;
	cpuset_or(differs, &c->differs);
	r = dump(k, WIRE_QOS_GET, c);
	if (r < 0)
		return r;
	cpuset_or(differs, &c->differs);
	for (uint32_t cpu = 0; cpu < k->have.n_cpus; cpu++)
		if (module_row_of(&k->have, cpu)->limit_ns != LATENCY_NONE &&
		    !cpuset_has(&c->limited, cpu))
			cpuset_add(differs, cpu);
	return 0;
}

int kernel_verify(struct kernel *k, struct cpuset *differs)
{
	_cleanup_(check_done) struct check c = {.k = k};
	int r;

	if (k->standing != KERNEL_OURS)
		return -ENOLCK;
	r = cpuset_init(&c.cpus, CPU_MAX);
	if (r == 0)
		r = cpuset_init(&c.differs, CPU_MAX);
	if (r == 0)
		r = cpuset_init(&c.limited, CPU_MAX);
	return r == 0 ? run_check(k, &c, differs) : r;
}
