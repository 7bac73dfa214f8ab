/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "buf.h"
#include "fragment.h"
#include "schema.h"
#include "selector.h"

#define GROUP_PREFIX "runtime"

struct fragment {
	const char *cpus; /* NULL: [Daemon] */
	char name[POLICY_NAME_MAX + 1]; /* of group and profile */
	const char *profile; /* value of Profile= */
	const char *priority;
	const char *base; /* Base= where none is given, NULL */
	bool has_profile_keys, has_base;
	struct buf keys; /* of [Daemon], or of the profile */
	char *error;
	size_t error_size;
};

/* Notes why, for the caller to hand on: -EINVAL. */
#define refuse(f, ...) (snprintf((f)->error, (f)->error_size, __VA_ARGS__), -EINVAL)

static bool is_name_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '.' || c == '_' || c == '-';
}

/* "0-3,8" -> "runtime-0-3.8"; what does not fit in a name -> "runtime-" and a hash (FNV-1a). */
static void name_group(const char *cpus, char *buf, size_t size)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	bool plain = true;
	size_t n;

	n = (size_t)snprintf(buf, size, GROUP_PREFIX "-%s", cpus);
	for (const char *p = cpus; *p; p++) {
		hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
		plain = plain && (is_name_char(*p) || *p == ',');
	}
	if (!plain || n >= size) {
		snprintf(buf, size, GROUP_PREFIX "-%016" PRIx64, hash);
		return;
	}
	for (char *p = buf; *p; p++) {
		if (*p == ',')
			*p = '.';
	}
}

static int check_value(struct fragment *f, const char *key, const char *value)
{
	for (const char *p = value; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return refuse(f,
				      "the value of %s= has a control character; one line of "
				      "printable text is right",
				      key);
	}
	return 0;
}

static int unknown_key(struct fragment *f, const char *key, enum schema_section first,
		       enum schema_section second)
{
	const char *near = schema_nearest_key(first, key);

	if (!near)
		near = schema_nearest_key(second, key);
	if (near)
		return refuse(f, "unknown key %s=; did you mean %s=?", key, near);
	return refuse(f, "unknown key %s=; cpuidled.conf(5) lists those of [%s]%s%s%s", key,
		      schema_section_name(first), first == second ? "" : " and [",
		      first == second ? "" : schema_section_name(second),
		      first == second ? "" : "]");
}

static int add_daemon_key(struct fragment *f, const char *key, const char *value)
{
	if (schema_find(SECTION_DAEMON, key)) {
		buf_printf(&f->keys, "%s=%s\n", key, value);
		return 0;
	}
	if (schema_find(SECTION_PROFILE, key) || schema_find(SECTION_GROUP, key))
		return refuse(f,
			      "%s= is for some CPUs; say which with --cpus, for example --cpus all",
			      key);
	return unknown_key(f, key, SECTION_DAEMON, SECTION_DAEMON);
}

static int add_group_key(struct fragment *f, const char *key, const char *value)
{
	if (streq(key, "CPUs"))
		return refuse(f, "CPUs= is what --cpus says already; leave it out");
	if (streq(key, "Profile")) {
		f->profile = value;
		return 0;
	}
	if (schema_find(SECTION_GROUP, key)) {
		f->priority = value;
		return 0;
	}
	if (schema_find(SECTION_PROFILE, key)) {
		f->has_base = f->has_base || streq(key, "Base");
		f->has_profile_keys = true;
		buf_printf(&f->keys, "%s=%s\n", key, value);
		return 0;
	}
	if (schema_find(SECTION_DAEMON, key))
		return refuse(f, "%s= is for the whole host; leave --cpus out", key);
	return unknown_key(f, key, SECTION_PROFILE, SECTION_GROUP);
}

static int add_assignment(struct fragment *f, const char *text)
{
	const char *equals = strchr(text, '=');
	char key[64];
	int r;

	if (!equals || equals == text || (size_t)(equals - text) >= sizeof(key))
		return refuse(
			f, "'%.60s' is no setting; KEY=VALUE is right, such as LatencyLimit=20us",
			text);
	snprintf(key, sizeof(key), "%.*s", (int)(equals - text), text);
	r = check_value(f, key, equals + 1);
	if (r < 0)
		return r;
	return f->cpus ? add_group_key(f, key, equals + 1) : add_daemon_key(f, key, equals + 1);
}

static int check_selector(struct fragment *f)
{
	struct selector *s = NULL;
	char error[256];
	int r;

	r = selector_new(f->cpus, &s, error, sizeof(error));
	selector_free(s);
	return r == -EINVAL ? refuse(f, "--cpus %.160s: %s", f->cpus, error) : r;
}

static void print_group(struct buf *b, const struct fragment *f, const char *keys)
{
	buf_printf(b, "[Group %s]\nCPUs=%s\nPriority=%s\n", f->name, f->cpus,
		   f->priority ? f->priority : FRAGMENT_PRIORITY);
	if (f->has_profile_keys || f->profile)
		buf_printf(b, "Profile=%s\n", f->has_profile_keys ? f->name : f->profile);
	if (!f->has_profile_keys)
		return;
	buf_printf(b, "[Profile %s]\n", f->name);
	if (f->profile || (f->base && !f->has_base))
		buf_printf(b, "Base=%s\n", f->profile ? f->profile : f->base);
	buf_puts(b, keys);
}

static int add_all(struct fragment *f, const char *const *assignments, int n)
{
	int r = 0;

	if (f->cpus) {
		r = check_selector(f);
		name_group(f->cpus, f->name, sizeof(f->name));
	}
	for (int i = 0; i < n && r == 0; i++)
		r = add_assignment(f, assignments[i]);
	if (r == 0 && f->profile && f->has_base)
		r = refuse(
			f,
			"Profile= and Base= are both given; with other keys Profile= is the base, "
			"so one of them is right");
	return r;
}

bool fragment_wants_base(const char *cpus, const char *const *assignments, int n,
			 char name[static POLICY_NAME_MAX + 1])
{
	char error[512];
	struct fragment f = {.cpus = cpus, .error = error, .error_size = sizeof(error)};
	bool wants = cpus && add_all(&f, assignments, n) == 0 && f.has_profile_keys && !f.profile &&
		     !f.has_base;

	free(buf_finish(&f.keys));
	if (wants)
		memcpy(name, f.name, POLICY_NAME_MAX + 1);
	return wants;
}

int fragment_make(const char *cpus, const char *const *assignments, int n, const char *base,
		  char **ret, char *error, size_t error_size)
{
	struct fragment f = {.cpus = cpus, .base = base, .error = error, .error_size = error_size};
	_cleanup_free_ char *keys = NULL;
	struct buf b = {0};
	int r;

	if (error_size > 0)
		*error = '\0';
	r = add_all(&f, assignments, n);
	buf_puts(&f.keys, "");
	keys = buf_finish(&f.keys);
	if (r < 0)
		return r;
	if (!keys)
		return -ENOMEM;
	if (cpus)
		print_group(&b, &f, keys);
	else
		buf_printf(&b, "[Daemon]\n%s", keys);
	*ret = buf_finish(&b);
	return *ret ? 0 : -ENOMEM;
}
