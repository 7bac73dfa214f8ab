/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "selector.h"
#include "nearest.h"

#define TERMS                                                                                \
	"a list such as 0-3,8, all, isolated, nohz_full, housekeeping, online, offline, or " \
	"package:, die:, core:, node:, llc: with a list"

enum op {
	OP_LIST,
	OP_ALL,
	OP_ISOLATED,
	OP_NOHZ_FULL,
	OP_HOUSEKEEPING,
	OP_ONLINE,
	OP_OFFLINE,
	OP_PACKAGE,
	OP_DIE,
	OP_CORE,
	OP_NODE,
	OP_LLC,
	OP_NOT,
	OP_AND,
	OP_OR,
};

/* One step of a postfix program; list is a piece of the lists buffer, for OP_LIST and the kinds. */
struct token {
	uint8_t op; /* enum op */
	uint8_t list;
};

struct selector {
	char text[SELECTOR_TEXT_MAX + 1];
	char lists[SELECTOR_TEXT_MAX + 1]; /* NUL-terminated lists one behind the other */
	struct token tokens[SELECTOR_TOKENS_MAX];
	uint32_t n_tokens;
	unsigned needs;
};

_Static_assert(SELECTOR_TEXT_MAX <= UINT8_MAX, "struct token counts text in a byte");

static const struct {
	const char *word;
	uint8_t op; /* enum op */
	uint8_t needs; /* enum selector_needs */
} words[] = {
	{"all", OP_ALL, 0},
	{"isolated", OP_ISOLATED, 0},
	{"nohz_full", OP_NOHZ_FULL, 0},
	{"housekeeping", OP_HOUSEKEEPING, 0},
	{"online", OP_ONLINE, 0},
	{"offline", OP_OFFLINE, 0},
	{"package", OP_PACKAGE, SELECTOR_NEEDS_TOPOLOGY},
	{"die", OP_DIE, SELECTOR_NEEDS_TOPOLOGY},
	{"core", OP_CORE, SELECTOR_NEEDS_TOPOLOGY},
	{"node", OP_NODE, SELECTOR_NEEDS_NODE},
	{"llc", OP_LLC, SELECTOR_NEEDS_LLC},
};

static bool takes_list(enum op op)
{
	return op >= OP_PACKAGE && op <= OP_LLC;
}

struct compiler {
	struct selector *s;
	const char *at;
	size_t n_lists;
	unsigned depth;
	char *error;
	size_t error_size;
};

static int refuse(struct compiler *c, const char *fmt, ...) _printf_(2, 3);

static int refuse(struct compiler *c, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(c->error, c->error_size, fmt, args);
	va_end(args);
	return -EINVAL;
}

static void skip_blanks(struct compiler *c)
{
	while (*c->at == ' ' || *c->at == '\t')
		c->at++;
}

/* Steps over character ch if it comes next. */
static bool accept(struct compiler *c, char ch)
{
	skip_blanks(c);
	if (*c->at != ch)
		return false;
	c->at++;
	return true;
}

static int emit(struct compiler *c, enum op op, size_t list)
{
	if (c->s->n_tokens >= SELECTOR_TOKENS_MAX)
		return refuse(c, "more than %u terms and operators; use several groups",
			      SELECTOR_TOKENS_MAX);
	c->s->tokens[c->s->n_tokens++] = (struct token){(uint8_t)op, (uint8_t)list};
	return 0;
}

/* A list at the current place, for op. CPU numbers are bounded; those of packages and so on are not. */
static int parse_list(struct compiler *c, enum op op)
{
	size_t n = strspn(c->at, "0123456789,-:/");
	char *list = c->s->lists + c->n_lists;
	uint32_t max;
	int r;

	memcpy(list, c->at, n);
	list[n] = '\0';
	r = n == 0 ? -EINVAL : cpuset_list_max(list, &max);
	if (r < 0)
		return refuse(c,
			      "\"%s\" is no list of numbers; write one such as 0-3,8 or 10-14:2, "
			      "without blanks",
			      list);
	if (op == OP_LIST && max >= CPU_MAX)
		return refuse(c, "\"%s\" has a CPU number that no host has; they end at %u", list,
			      CPU_MAX - 1);
	r = emit(c, op, c->n_lists);
	c->n_lists += n + 1;
	c->at += n;
	return r;
}

static bool is_word(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
	       ch == '_';
}

/* The n bytes where a term should be are none. */
static int refuse_word(struct compiler *c, size_t n)
{
	char word[24];
	struct nearest nearest = {.word = word};

	if (*c->at == '\0')
		return refuse(c, "a term is missing at the end; write " TERMS);
	n = MAX_OF(n, 1U);
	(void)snprintf(word, sizeof(word), "%.*s", (int)n, c->at);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		nearest_offer(&nearest, words[i].word);
	if (nearest.found)
		return refuse(c, "\"%s\" is no term; did you mean %s?", word, nearest.found);
	return refuse(c, "\"%s\" is no term; write " TERMS, word);
}

/* A word: a set by name, or KIND:LIST. */
static int parse_word(struct compiler *c)
{
	size_t n = 0;

	while (is_word(c->at[n]))
		n++;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strlen(words[i].word) != n || memcmp(words[i].word, c->at, n) != 0)
			continue;
		c->at += n;
		c->s->needs |= words[i].needs;
		if (!takes_list(words[i].op))
			return emit(c, words[i].op, 0);
		if (!accept(c, ':'))
			return refuse(c, "\"%s\" needs a list; write one such as %s:0",
				      words[i].word, words[i].word);
		skip_blanks(c);
		return parse_list(c, words[i].op);
	}
	return refuse_word(c, n);
}

static int parse_or(struct compiler *c);

static int parse_group(struct compiler *c)
{
	int r;

	r = parse_or(c);
	if (r < 0)
		return r;
	if (!accept(c, ')'))
		return refuse(c, "a \"(\" is never closed; write the \")\"");
	return 0;
}

static int parse_unary(struct compiler *c)
{
	int r;

	if (++c->depth > SELECTOR_DEPTH_MAX)
		return refuse(c, "more than %u \"(\" and \"!\" within each other; write it flatter",
			      SELECTOR_DEPTH_MAX);
	if (accept(c, '!')) {
		r = parse_unary(c);
		if (r == 0)
			r = emit(c, OP_NOT, 0);
	} else if (accept(c, '(')) {
		r = parse_group(c);
	} else if (*c->at >= '0' && *c->at <= '9') {
		r = parse_list(c, OP_LIST);
	} else {
		r = parse_word(c);
	}
	c->depth--;
	return r;
}

static int parse_and(struct compiler *c)
{
	int r = parse_unary(c);

	while (r == 0 && accept(c, '&')) {
		r = parse_unary(c);
		if (r == 0)
			r = emit(c, OP_AND, 0);
	}
	return r;
}

static int parse_or(struct compiler *c)
{
	int r = parse_and(c);

	while (r == 0 && accept(c, '|')) {
		r = parse_and(c);
		if (r == 0)
			r = emit(c, OP_OR, 0);
	}
	return r;
}

static int compile(struct compiler *c, const char *text)
{
	int r;

	if (strlen(text) > SELECTOR_TEXT_MAX)
		return refuse(c, "selector has %zu bytes; at most %u can be read", strlen(text),
			      SELECTOR_TEXT_MAX);
	memcpy(c->s->text, text, strlen(text) + 1);
	c->at = c->s->text;
	r = parse_or(c);
	if (r < 0)
		return r;
	skip_blanks(c);
	if (*c->at != '\0')
		return refuse(c, "\"%s\" is left over; join terms with & (both) or | (either)",
			      c->at);
	return 0;
}

int selector_new(const char *text, struct selector **ret, char *error, size_t error_size)
{
	_cleanup_(selector_freep) struct selector *s = calloc(1, sizeof(*s));
	struct compiler c = {.s = s, .error = error, .error_size = error_size};
	int r;

	if (!s)
		return -ENOMEM;
	r = compile(&c, text);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

void selector_free(struct selector *s)
{
	free(s);
}

const char *selector_text(const struct selector *s)
{
	return s->text;
}

unsigned selector_needs(const struct selector *s)
{
	return s->needs;
}

static uint16_t id_of(const struct machine_cpu *cpu, enum op kind)
{
	switch (kind) {
	case OP_PACKAGE:
		return cpu->package;
	case OP_DIE:
		return cpu->die;
	case OP_CORE:
		return cpu->core;
	case OP_NODE:
		return cpu->node;
	case OP_LLC:
		return cpu->llc;
	case OP_LIST:
	case OP_ALL:
	case OP_ISOLATED:
	case OP_NOHZ_FULL:
	case OP_HOUSEKEEPING:
	case OP_ONLINE:
	case OP_OFFLINE:
	case OP_NOT:
	case OP_AND:
	case OP_OR:
		break;
	}
	return MACHINE_NO_ID;
}

/* CPUs whose number of that kind is in the list. Neighbours mostly share it, so it is asked once. */
static void add_kind(const struct machine *m, enum op kind, const char *list, struct cpuset *set)
{
	uint16_t last = MACHINE_NO_ID;
	bool last_has = false;

	for (uint32_t cpu = 0; cpu < m->n_cpus; cpu++) {
		uint16_t id = id_of(&m->cpus[cpu], kind);

		if (id != last) {
			last = id;
			last_has = id != MACHINE_NO_ID && cpuset_list_has(list, id);
		}
		if (last_has)
			cpuset_add(set, cpu);
	}
}

static void add_present(const struct machine *m, struct cpuset *set)
{
	for (uint32_t cpu = 0; cpu < m->n_cpus; cpu++) {
		if (m->cpus[cpu].present)
			cpuset_add(set, cpu);
	}
}

static void add_online(const struct machine *m, bool online, struct cpuset *set)
{
	for (uint32_t cpu = 0; cpu < m->n_cpus; cpu++) {
		if (m->cpus[cpu].present && m->cpus[cpu].online == online)
			cpuset_add(set, cpu);
	}
}

static void add_housekeeping(const struct machine *m, struct cpuset *set)
{
	cpuset_or(set, &m->isolated);
	cpuset_or(set, &m->nohz_full);
	cpuset_not(set);
}

/* CPUs of a term into an empty set. Absent ones may be among them. */
static void add_term(const struct selector *s, const struct token *t, const struct machine *m,
		     struct cpuset *set)
{
	const char *list = s->lists + t->list;

	switch ((enum op)t->op) {
	case OP_LIST:
		(void)cpuset_parse_kernel(set, list); /* was checked when it was compiled */
		break;
	case OP_ALL:
		cpuset_fill(set);
		break;
	case OP_ISOLATED:
		cpuset_or(set, &m->isolated);
		break;
	case OP_NOHZ_FULL:
		cpuset_or(set, &m->nohz_full);
		break;
	case OP_HOUSEKEEPING:
		add_housekeeping(m, set);
		break;
	case OP_ONLINE:
	case OP_OFFLINE:
		add_online(m, t->op == OP_ONLINE, set);
		break;
	case OP_PACKAGE:
	case OP_DIE:
	case OP_CORE:
	case OP_NODE:
	case OP_LLC:
		add_kind(m, (enum op)t->op, list, set);
		break;
	case OP_NOT:
	case OP_AND:
	case OP_OR:
		break;
	}
}

/* Sets of the terms met so far; an operator works on the last ones. */
struct stack {
	struct cpuset v[SELECTOR_TOKENS_MAX];
	uint32_t n;
};

static void stack_done(struct stack *stack)
{
	while (stack->n > 0)
		cpuset_done(&stack->v[--stack->n]);
}

static int step(const struct selector *s, const struct token *t, const struct machine *m,
		struct stack *stack)
{
	struct cpuset *top = stack->n > 0 ? &stack->v[stack->n - 1] : NULL;
	int r;

	if (t->op == OP_NOT) {
		cpuset_not(top);
		return 0;
	}
	if (t->op == OP_AND || t->op == OP_OR) {
		if (t->op == OP_AND)
			cpuset_and(top - 1, top);
		else
			cpuset_or(top - 1, top);
		cpuset_done(top);
		stack->n--;
		return 0;
	}
	r = cpuset_init(&stack->v[stack->n], m->n_cpus);
	if (r < 0)
		return r;
	add_term(s, t, m, &stack->v[stack->n++]);
	return 0;
}

int selector_eval(const struct selector *s, const struct machine *m, struct cpuset *ret)
{
	_cleanup_(stack_done) struct stack stack = {.n = 0};
	_cleanup_(cpuset_done) struct cpuset present = {0};
	int r;

	r = cpuset_init(&present, m->n_cpus);
	if (r < 0)
		return r;
	add_present(m, &present);
	for (uint32_t i = 0; i < s->n_tokens; i++) {
		r = step(s, &s->tokens[i], m, &stack);
		if (r < 0)
			return r;
	}
	cpuset_and(&stack.v[0], &present);
	*ret = stack.v[0];
	stack.n = 0;
	return 0;
}
