// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "wire.h"

#define A(x)	CPUIDLE_POLICY_A_##x
#define RULE(x) CPUIDLE_POLICY_RULE_##x
#define CPU(x)	CPUIDLE_POLICY_CPU_##x
#define QOS(x)	CPUIDLE_POLICY_QOS_##x
#define CMD(x)	CPUIDLE_POLICY_CMD_##x

/* ---- attributes ---- */

const void *wire_data(const struct nlattr *a)
{
	return (const char *)a + NLA_HDRLEN;
}

unsigned int wire_len(const struct nlattr *a)
{
	return a->nla_len - NLA_HDRLEN;
}

uint32_t wire_u32(const struct nlattr *a)
{
	uint32_t v = 0;

	if (a && wire_len(a) >= sizeof(v))
		memcpy(&v, wire_data(a), sizeof(v));
	return v;
}

uint64_t wire_u64(const struct nlattr *a)
{
	uint64_t v = 0;

	if (a && wire_len(a) >= sizeof(v))
		memcpy(&v, wire_data(a), sizeof(v));
	return v;
}

const char *wire_str(const struct nlattr *a)
{
	return a ? wire_data(a) : "";
}

const struct nlattr *wire_next(const struct nlattr *a, int *rem)
{
	int len = NLA_ALIGN(a->nla_len);

	*rem -= len;
	a = (const struct nlattr *)((const char *)a + len);
	return *rem >= NLA_HDRLEN && a->nla_len >= NLA_HDRLEN ? a : NULL;
}

static const struct nlattr *wire_first(const void *data, int rem)
{
	const struct nlattr *a = data;

	return rem >= NLA_HDRLEN && a->nla_len >= NLA_HDRLEN ? a : NULL;
}

void wire_parse_nest(const struct nlattr *nest, const struct nlattr **tb, unsigned int max)
{
	int rem = wire_len(nest);
	const struct nlattr *a = wire_first(wire_data(nest), rem);

	memset(tb, 0, (max + 1) * sizeof(*tb));
	for (; a; a = wire_next(a, &rem))
		if ((a->nla_type & NLA_TYPE_MASK) <= max)
			tb[a->nla_type & NLA_TYPE_MASK] = a;
}

void wire_parse(const struct nlmsghdr *h, struct wire_reply *r)
{
	const struct genlmsghdr *g = NLMSG_DATA(h);
	int rem = h->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);
	const struct nlattr *a = wire_first((const char *)g + GENL_HDRLEN, rem);
	unsigned int type;

	memset(r, 0, sizeof(*r));
	r->cmd = g->cmd;
	for (; a; a = wire_next(a, &rem)) {
		type = a->nla_type & NLA_TYPE_MASK;
		if (type < 64)
			r->tb[type] = a;
		if (type == A(STATE) && r->n_states < 16)
			r->states[r->n_states++] = a;
	}
}

struct nlattr *wire_put(struct wire_msg *m, uint16_t type, const void *data, size_t len)
{
	struct nlattr *a = (struct nlattr *)(m->buf + NLMSG_ALIGN(m->h.nlmsg_len));

	if (m->h.nlmsg_len + NLA_HDRLEN + len + 8 > sizeof(*m))
		return NULL;
	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	memset((char *)a + NLA_HDRLEN, 0, NLA_ALIGN(len));
	if (len)
		memcpy((char *)a + NLA_HDRLEN, data, len);
	m->h.nlmsg_len = NLMSG_ALIGN(m->h.nlmsg_len) + NLA_ALIGN(a->nla_len);
	return a;
}

void wire_put_u32(struct wire_msg *m, uint16_t type, uint32_t value)
{
	wire_put(m, type, &value, sizeof(value));
}

void wire_put_u64(struct wire_msg *m, uint16_t type, uint64_t value)
{
	wire_put(m, type, &value, sizeof(value));
}

struct nlattr *wire_nest(struct wire_msg *m, uint16_t type)
{
	return wire_put(m, type | NLA_F_NESTED, NULL, 0);
}

void wire_nest_end(struct wire_msg *m, struct nlattr *nest)
{
	nest->nla_len = m->buf + m->h.nlmsg_len - (char *)nest;
}

void wire_put_row(struct wire_msg *m, const struct wire_row *row)
{
	struct nlattr *nest = wire_nest(m, A(RULE));
	unsigned int i;

	if (row->words)
		wire_put(m, RULE(CPUMASK), row->mask, row->words * 4);
	for (i = RULE(IRQ_WINDOW); i <= CPUIDLE_POLICY_RULE_MAX; i++)
		if (row->given & 1u << i)
			wire_put_u32(m, i, row->value[i]);
	wire_nest_end(m, nest);
}

/* ---- talking ---- */

void wire_begin(struct wire *w, struct wire_msg *m, uint8_t cmd, uint16_t flags)
{
	struct genlmsghdr *g;

	memset(m->buf, 0, 256);
	m->h.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	m->h.nlmsg_type = w->family;
	m->h.nlmsg_flags = NLM_F_REQUEST | flags;
	m->h.nlmsg_seq = ++w->seq;
	g = NLMSG_DATA(&m->h);
	g->cmd = cmd;
	g->version = CPUIDLE_POLICY_VERSION;
}

static void wire_extack(struct wire *w, const struct nlmsghdr *h)
{
	const struct nlmsgerr *e = NLMSG_DATA(h);
	size_t skip = sizeof(*e);
	const struct nlattr *a;
	int rem;

	w->text[0] = 0;
	w->offset = 0;
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(h->nlmsg_flags & NLM_F_CAPPED))
		skip += e->msg.nlmsg_len - sizeof(struct nlmsghdr);
	rem = h->nlmsg_len - NLMSG_HDRLEN - NLMSG_ALIGN(skip);
	a = wire_first((const char *)e + NLMSG_ALIGN(skip), rem);
	for (; a; a = wire_next(a, &rem)) {
		if (a->nla_type == NLMSGERR_ATTR_MSG)
			snprintf(w->text, sizeof(w->text), "%s", (const char *)wire_data(a));
		else if (a->nla_type == NLMSGERR_ATTR_OFFS)
			w->offset = wire_u32(a);
	}
}

int wire_talk(struct wire *w, struct wire_msg *m, wire_cb cb, void *arg)
{
	static char buf[131072];
	struct nlmsghdr *h;
	bool dump = (m->h.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
	ssize_t n;

	if (!dump)
		m->h.nlmsg_flags |= NLM_F_ACK;
	if (send(w->fd, m->buf, m->h.nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		n = recv(w->fd, buf, sizeof(buf), 0);
		if (n < 0)
			return -errno;
		for (h = (struct nlmsghdr *)buf; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			if (h->nlmsg_seq != m->h.nlmsg_seq || !h->nlmsg_seq)
				continue;
			if (h->nlmsg_type == NLMSG_ERROR) {
				wire_extack(w, h);
				return ((struct nlmsgerr *)NLMSG_DATA(h))->error;
			}
			if (h->nlmsg_type == NLMSG_DONE)
				return *(int *)NLMSG_DATA(h);
			if (cb)
				cb(h, arg);
		}
	}
}

int wire_event(struct wire *w, struct wire_msg *m, int ms)
{
	struct pollfd p = { .fd = w->fd, .events = POLLIN };

	if (poll(&p, 1, ms) <= 0)
		return -ETIME;
	return recv(w->fd, m->buf, sizeof(m->buf), 0) < 0 ? -errno : 0;
}

static void wire_family(const struct nlmsghdr *h, void *arg)
{
	struct wire *w = arg;
	struct wire_reply r;
	const struct nlattr *groups, *tb[CTRL_ATTR_MCAST_GRP_MAX + 1];

	wire_parse(h, &r);
	memcpy(&w->family, wire_data(r.tb[CTRL_ATTR_FAMILY_ID]), 2);
	groups = r.tb[CTRL_ATTR_MCAST_GROUPS];
	if (!groups)
		return;
	wire_parse_nest(wire_data(groups), tb, CTRL_ATTR_MCAST_GRP_MAX);
	w->group = wire_u32(tb[CTRL_ATTR_MCAST_GRP_ID]);
}

int wire_open(struct wire *w)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
	struct timeval patience = { .tv_sec = 20 };
	static struct wire_msg m;
	int one = 1, ret;

	memset(w, 0, sizeof(*w));
	w->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (w->fd < 0 || bind(w->fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	setsockopt(w->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(w->fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(w->fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
	w->family = GENL_ID_CTRL;
	wire_begin(w, &m, CTRL_CMD_GETFAMILY, 0);
	wire_put(&m, CTRL_ATTR_FAMILY_NAME, CPUIDLE_POLICY_FAMILY, sizeof(CPUIDLE_POLICY_FAMILY));
	ret = wire_talk(w, &m, wire_family, w);
	if (ret)
		close(w->fd);
	return ret;
}

void wire_close(struct wire *w)
{
	close(w->fd);
	w->fd = -1;
}

int wire_join(struct wire *w)
{
	return setsockopt(w->fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &w->group,
			  sizeof(w->group)) ?
		       -errno :
		       0;
}

/* ---- whole requests ---- */

static void wire_caps_cb(const struct nlmsghdr *h, void *arg)
{
	const struct nlattr *tb[CPUIDLE_POLICY_STATE_MAX + 1];
	struct wire_caps *c = arg;
	struct wire_reply r;
	unsigned int i;

	wire_parse(h, &r);
	c->version = wire_u32(r.tb[A(VERSION)]);
	c->features = wire_u64(r.tb[A(FEATURES)]);
	c->nr_cpus = wire_u32(r.tb[A(NR_CPUS)]);
	c->generation = wire_u32(r.tb[A(GENERATION)]);
	c->attached = wire_u32(r.tb[A(ATTACHED)]);
	c->own = wire_u32(r.tb[A(OWN_DRIVER)]);
	c->pid = wire_u32(r.tb[A(OWNER_PID)]);
	c->left_ms = wire_u32(r.tb[A(LEASE_MS)]);
	snprintf(c->driver, sizeof(c->driver), "%s", wire_str(r.tb[A(DRIVER)]));
	snprintf(c->owner, sizeof(c->owner), "%s", wire_str(r.tb[A(OWNER)]));
	snprintf(c->reason, sizeof(c->reason), "%s", wire_str(r.tb[A(REASON)]));
	snprintf(c->c0_reason, sizeof(c->c0_reason), "%s", wire_str(r.tb[A(C0_REASON)]));
	snprintf(c->row_reason, sizeof(c->row_reason), "%s", wire_str(r.tb[A(C0_ROW_REASON)]));
	c->has_umwait_control = r.tb[A(UMWAIT_CONTROL)];
	c->umwait_control = wire_u32(r.tb[A(UMWAIT_CONTROL)]);
	if (wire_len(r.tb[A(WAITPKG)]) <= sizeof(c->waitpkg))
		memcpy(c->waitpkg, wire_data(r.tb[A(WAITPKG)]), wire_len(r.tb[A(WAITPKG)]));
	c->n_states = r.n_states;
	for (i = 0; i < r.n_states; i++) {
		wire_parse_nest(r.states[i], tb, CPUIDLE_POLICY_STATE_MAX);
		snprintf(c->name[i], sizeof(c->name[i]), "%.31s",
			 wire_str(tb[CPUIDLE_POLICY_STATE_NAME]));
		c->flags[i] = wire_u32(tb[CPUIDLE_POLICY_STATE_FLAGS]);
		c->latency[i] = wire_u64(tb[CPUIDLE_POLICY_STATE_LATENCY_NS]);
	}
}

int wire_caps(struct wire *w, struct wire_caps *caps)
{
	static struct wire_msg m;

	memset(caps, 0, sizeof(*caps));
	wire_begin(w, &m, CMD(CAPS_GET), 0);
	return wire_talk(w, &m, wire_caps_cb, caps);
}

int wire_take(struct wire *w, const char *owner, uint32_t ms, uint32_t grace_ms)
{
	static struct wire_msg m;

	wire_begin(w, &m, CMD(LEASE_TAKE), 0);
	wire_put_u32(&m, A(LEASE_MS), ms);
	wire_put_u32(&m, A(GRACE_MS), grace_ms);
	wire_put(&m, A(OWNER), owner, strlen(owner) + 1);
	return wire_talk(w, &m, NULL, NULL);
}

int wire_simple(struct wire *w, uint8_t cmd)
{
	static struct wire_msg m;

	wire_begin(w, &m, cmd, 0);
	return wire_talk(w, &m, NULL, NULL);
}

int wire_set(struct wire *w, const struct wire_row *rows, unsigned int n)
{
	static struct wire_msg m;
	unsigned int i;

	wire_begin(w, &m, CMD(CONFIG_SET), 0);
	for (i = 0; i < n; i++) {
		if (rows[i].given & 1)
			wire_put_u32(&m, A(OWN_DRIVER), rows[i].own);
		if (rows[i].guest)
			wire_put_u32(&m, A(GUEST), 1);
		if (rows[i].words)
			wire_put_row(&m, &rows[i]);
	}
	return wire_talk(w, &m, NULL, NULL);
}

struct wire_list {
	void *items;
	unsigned int n, max;
};

static void wire_row_cb(const struct nlmsghdr *h, void *arg)
{
	const struct nlattr *tb[CPUIDLE_POLICY_RULE_MAX + 1];
	struct wire_list *list = arg;
	struct wire_row *row = (struct wire_row *)list->items + list->n;
	struct wire_reply r;
	unsigned int i;

	if (list->n++ >= list->max)
		return;
	memset(row, 0, sizeof(*row));
	wire_parse(h, &r);
	row->generation = wire_u32(r.tb[A(GENERATION)]);
	row->own = wire_u32(r.tb[A(OWN_DRIVER)]);
	if (!r.tb[A(RULE)])
		return;
	wire_parse_nest(r.tb[A(RULE)], tb, CPUIDLE_POLICY_RULE_MAX);
	for (i = RULE(IRQ_WINDOW); i <= CPUIDLE_POLICY_RULE_MAX; i++) {
		if (!tb[i])
			continue;
		row->given |= 1u << i;
		row->value[i] = wire_u32(tb[i]);
	}
	row->words = wire_len(tb[RULE(CPUMASK)]) / 4;
	memcpy(row->mask, wire_data(tb[RULE(CPUMASK)]),
	       row->words > WIRE_WORDS ? sizeof(row->mask) : row->words * 4);
}

/* Number of rows, or a negative errno. */
int wire_rows(struct wire *w, struct wire_row *rows, unsigned int max)
{
	struct wire_list list = { rows, 0, max };
	static struct wire_msg m;
	int ret;

	wire_begin(w, &m, CMD(CONFIG_GET), NLM_F_DUMP);
	ret = wire_talk(w, &m, wire_row_cb, &list);
	return ret ? ret : (int)list.n;
}

int wire_qos(struct wire *w, uint32_t id, const uint32_t *mask, uint32_t words, int64_t ns)
{
	static struct wire_msg m;
	struct nlattr *nest;

	wire_begin(w, &m, CMD(QOS_SET), 0);
	nest = wire_nest(&m, A(QOS));
	wire_put_u32(&m, QOS(ID), id);
	wire_put(&m, QOS(CPUMASK), mask, words * 4);
	if (ns >= 0)
		wire_put_u64(&m, QOS(LATENCY_NS), ns);
	wire_nest_end(&m, nest);
	return wire_talk(w, &m, NULL, NULL);
}

static void wire_limit_cb(const struct nlmsghdr *h, void *arg)
{
	const struct nlattr *tb[CPUIDLE_POLICY_QOS_ATTR_MAX + 1];
	struct wire_list *list = arg;
	struct wire_limit *limit = (struct wire_limit *)list->items + list->n;
	struct wire_reply r;

	if (list->n++ >= list->max)
		return;
	wire_parse(h, &r);
	wire_parse_nest(r.tb[A(QOS)], tb, CPUIDLE_POLICY_QOS_ATTR_MAX);
	limit->id = wire_u32(tb[QOS(ID)]);
	limit->mask0 = wire_u32(tb[QOS(CPUMASK)]);
	limit->ns = tb[QOS(LATENCY_NS)] ? (int64_t)wire_u64(tb[QOS(LATENCY_NS)]) : -1;
}

int wire_limits(struct wire *w, struct wire_limit *limits, unsigned int max)
{
	struct wire_list list = { limits, 0, max };
	static struct wire_msg m;
	int ret;

	wire_begin(w, &m, CMD(QOS_GET), NLM_F_DUMP);
	ret = wire_talk(w, &m, wire_limit_cb, &list);
	return ret ? ret : (int)list.n;
}

static void wire_stats_cb(const struct nlmsghdr *h, void *arg)
{
	struct wire_list *list = arg;
	struct wire_stats *s = (struct wire_stats *)list->items + list->n;
	const struct nlattr *tb[CPUIDLE_POLICY_CPU_MAX + 1], *a;
	struct wire_reply r;
	int rem;

	if (list->n++ >= list->max)
		return;
	memset(s, 0, sizeof(*s));
	wire_parse(h, &r);
	wire_parse_nest(r.tb[A(CPU)], tb, CPUIDLE_POLICY_CPU_MAX);
	s->cpu = wire_u32(tb[CPU(ID)]);
	s->vetoed = wire_u32(tb[CPU(VETOED)]);
	s->inside = wire_u32(tb[CPU(INSIDE)]);
	s->windows = wire_u64(tb[CPU(WINDOWS)]);
	s->sti_mwaits = wire_u64(tb[CPU(STI_MWAITS)]);
	s->broadcasts = wire_u64(tb[CPU(BROADCASTS)]);
	s->c0_waits = wire_u64(tb[CPU(C0_WAITS)]);
	s->c0_rearms = wire_u64(tb[CPU(C0_REARMS)]);
	s->poll_hits = wire_u64(tb[CPU(POLL_HITS)]);
	s->poll_misses = wire_u64(tb[CPU(POLL_MISSES)]);
	s->poll_ns = wire_u64(tb[CPU(POLL_NS)]);
	s->ioports = wire_u64(tb[CPU(IOPORTS)]);
	rem = wire_len(r.tb[A(CPU)]);
	for (a = wire_first(wire_data(r.tb[A(CPU)]), rem); a; a = wire_next(a, &rem))
		if (a->nla_type == CPU(ENTRY) && s->n_states < 16)
			s->entry[s->n_states++] = wire_u64(a);
}

int wire_stats(struct wire *w, struct wire_stats *stats, unsigned int max)
{
	struct wire_list list = { stats, 0, max };
	static struct wire_msg m;
	int ret;

	wire_begin(w, &m, CMD(STATS_GET), NLM_F_DUMP);
	ret = wire_talk(w, &m, wire_stats_cb, &list);
	return ret ? ret : (int)list.n;
}

struct wire_stats wire_stats_of(struct wire *w, unsigned int cpu)
{
	static struct wire_stats all[WIRE_CPUS];
	int i, n = wire_stats(w, all, WIRE_CPUS);

	for (i = 0; i < n; i++)
		if (all[i].cpu == cpu)
			return all[i];
	return (struct wire_stats){ .cpu = cpu };
}

/* ---- a row in words ---- */

static bool wire_parse_cpus(const char *text, struct wire_row *row)
{
	unsigned long first, last;
	char *end;

	while (*text) {
		first = last = strtoul(text, &end, 10);
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (last >= WIRE_CPUS || (*end && *end != ',') || end == text)
			return false;
		for (; first <= last; first++) {
			row->mask[first / 32] |= 1u << first % 32;
			if (row->words < first / 32 + 1)
				row->words = first / 32 + 1;
		}
		text = *end ? end + 1 : end;
	}
	return true;
}

static bool wire_parse_field(char *word, struct wire_row *row)
{
	static const struct {
		const char *name;
		uint32_t attr;
	} fields[] = {
		{ "window", RULE(IRQ_WINDOW) }, { "sti", RULE(STI_MWAIT) },
		{ "off", RULE(STATES_OFF) },	{ "bcast", RULE(BROADCAST) },
		{ "count", RULE(COUNT) },	{ "poll", RULE(POLL_BACKEND) },
		{ "c1", RULE(C1_BACKEND) },	{ "row", RULE(C0_ROW) },
		{ "haltpoll", RULE(HALTPOLL_NS) }, { "ioport", RULE(IOPORT) },
	};
	static const char *const bcast[] = { "auto", "avoid", "off" };
	char *value = strchr(word, '=');
	unsigned int i, k;

	if (!value)
		return false;
	*value++ = 0;
	if (!strcmp(word, "cpus"))
		return wire_parse_cpus(value, row);
	if (!strcmp(word, "own")) {
		row->given |= 1;
		row->own = strtoul(value, NULL, 0);
		return true;
	}
	if (!strcmp(word, "guest")) {
		row->guest = strtoul(value, NULL, 0);
		return true;
	}
	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(word, fields[i].name))
			continue;
		row->given |= 1u << fields[i].attr;
		row->value[fields[i].attr] = strtoul(value, NULL, 0);
		for (k = 0; fields[i].attr == RULE(BROADCAST) && k < 3; k++)
			if (!strcmp(value, bcast[k]))
				row->value[fields[i].attr] = k;
		return true;
	}
	return false;
}

bool wire_parse_row(const char *text, struct wire_row *row)
{
	char buf[256], *word, *save;

	memset(row, 0, sizeof(*row));
	snprintf(buf, sizeof(buf), "%s", text);
	for (word = strtok_r(buf, " ", &save); word; word = strtok_r(NULL, " ", &save))
		if (!wire_parse_field(word, row))
			return false;
	return true;
}

int wire_ask(struct wire *w, const char *fmt, ...)
{
	struct wire_row row;
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return wire_parse_row(text, &row) ? wire_set(w, &row, 1) : -EINVAL;
}
