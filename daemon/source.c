/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source.h"
#include "text.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NAME	   "cpuidled"
#define SUFFIX	   ".conf"
#define N_PLACES   3 /* etc, run, vendor */
#define FILES_MAX  256U /* of one directory */
#define VENDOR_DIR "lib/" NAME

/* One source_load() on its way. */
struct loader {
	const struct source_options *options;
	struct policy *policy;
	struct diag_list diags;
	char places[N_PLACES][PATH_MAX]; /* the highest first; the last one is the vendor's */
};

static void loader_done(struct loader *l)
{
	policy_free(l->policy);
	diag_done(&l->diags);
}

static const char *vendor_of(const struct loader *l)
{
	return l->places[N_PLACES - 1];
}

static int set_path(char *path, const char *dir, const char *name)
{
	int n = snprintf(path, PATH_MAX, "%s/%s", dir, name);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* lib/cpuidled beside the directory of the running program: PREFIX/sbin/x, PREFIX/bin/x. */
static int find_vendor(char *path)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n < 0)
		return -errno;
	exe[n] = '\0';
	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(exe, '/');

		if (!slash)
			return -ENOENT;
		*slash = '\0';
	}
	return set_path(path, exe, VENDOR_DIR);
}

static int find_places(struct loader *l)
{
	const struct source_options *o = l->options;
	const char *root = o->root && !streq(o->root, "/") ? o->root : "";
	int n, r;

	r = set_path(l->places[0], root, "etc/" NAME);
	if (r == 0)
		r = set_path(l->places[1], root, "run/" NAME);
	if (r < 0)
		return r;
	if (!o->vendor_dir)
		return find_vendor(l->places[2]);
	n = snprintf(l->places[2], PATH_MAX, "%s", o->vendor_dir);
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static bool is_null_device(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

static void complain(struct loader *l, const char *path, const char *what)
{
	diag_add(&l->diags, DIAG_ERROR, path, 0, "%s", what);
}

static void complain_errno(struct loader *l, const char *path, int error)
{
	diag_add(&l->diags, DIAG_ERROR, path, 0,
		 "cannot be read (%s); a plain, readable file is needed", strerror(error));
}

/* Is this open file one to read? Nobody but its owner and group may be able to write it. */
static bool judge(struct loader *l, const char *path, const struct stat *st)
{
	if (is_null_device(st))
		return false; /* a mask: nothing to read, nothing to say */
	if (!S_ISREG(st->st_mode)) {
		complain(l, path,
			 "is no regular file; a plain file, or a link to /dev/null, is needed");
		return false;
	}
	if (st->st_mode & S_IWOTH) {
		complain(l, path, "can be written by everybody, so it is not trusted; chmod o-w");
		return false;
	}
	if (st->st_size > TEXT_FILE_MAX) {
		diag_add(&l->diags, DIAG_ERROR, path, 0,
			 "has %jd bytes; at most %" PRIu32 " are read", (intmax_t)st->st_size,
			 TEXT_FILE_MAX);
		return false;
	}
	return true;
}

/* A whole file; a regular one gives all it has in one go. -errno. */
static int read_all(int fd, char *buf, size_t size, size_t *ret_n)
{
	size_t n = 0;
	ssize_t got;

	do {
		got = read(fd, buf + n, size - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		n += (size_t)got;
	} while (got != 0 && n < size);
	*ret_n = n;
	return 0;
}

static int add_open_file(struct loader *l, const char *path, int fd)
{
	_cleanup_free_ char *buf = NULL;
	struct stat st;
	size_t n = 0;
	int r;

	if (fstat(fd, &st) < 0) {
		complain_errno(l, path, errno);
		return 0;
	}
	if (!judge(l, path, &st))
		return 0;
	buf = malloc((size_t)st.st_size + 1);
	if (!buf)
		return -ENOMEM;
	r = read_all(fd, buf, (size_t)st.st_size, &n);
	if (r < 0) {
		complain_errno(l, path, -r);
		return 0;
	}
	return policy_add_text(l->policy, path, buf, n, &l->diags);
}

/* A link is not followed; one to /dev/null is a mask. */
static void judge_link(struct loader *l, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && is_null_device(&st))
		return;
	complain(l, path, "is a symbolic link; the file itself, or a link to /dev/null, is needed");
}

/*
 * Adds one file. Whether it may be missing is told by *found, which may be NULL; everything else that is
 * wrong with it becomes a diagnostic. -ENOMEM.
 */
static int add_file(struct loader *l, const char *path, int flags, bool *found)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	int r;

	if (found)
		*found = fd >= 0 || errno != ENOENT;
	if (fd < 0) {
		if (errno == ELOOP)
			judge_link(l, path);
		else if (errno != ENOENT || !found)
			complain_errno(l, path, errno);
		return 0;
	}
	r = add_open_file(l, path, fd);
	close(fd);
	return r;
}

/* A file in one of the places, by its name. */
struct entry {
	char *name;
	unsigned place;
};

struct entries {
	struct entry v[FILES_MAX];
	uint32_t n;
};

static void entries_done(struct entries *e)
{
	for (uint32_t i = 0; i < e->n; i++)
		free(e->v[i].name);
	e->n = 0;
}

static bool is_conf(const char *name)
{
	size_t n = strlen(name);

	return name[0] != '.' && n > strlen(SUFFIX) && streq(name + n - strlen(SUFFIX), SUFFIX);
}

/* -EEXIST: a higher place has that name. */
static int add_entry(struct entries *e, const char *name, unsigned place)
{
	char *copy;

	for (uint32_t i = 0; i < e->n; i++) {
		if (streq(e->v[i].name, name))
			return -EEXIST;
	}
	if (e->n >= FILES_MAX)
		return -E2BIG;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	e->v[e->n++] = (struct entry){copy, place};
	return 0;
}

static int list_open_dir(struct loader *l, struct entries *e, const char *path, DIR *dir,
			 unsigned place)
{
	const struct dirent *entry;
	int r = 0;

	for (errno = 0; r != -ENOMEM && (entry = readdir(dir)); errno = 0) {
		if (!is_conf(entry->d_name))
			continue;
		r = add_entry(e, entry->d_name, place);
		if (r == -E2BIG) {
			diag_add(&l->diags, DIAG_ERROR, path, 0,
				 "more than %u files; put several sections into one", FILES_MAX);
			return 0;
		}
	}
	if (!entry && errno != 0)
		complain_errno(l, path, errno);
	return r == -ENOMEM ? r : 0;
}

/* Names of the .conf files of a directory that no higher place has. *found may be NULL. */
static int list_dir(struct loader *l, struct entries *e, const char *path, unsigned place,
		    bool *found)
{
	DIR *dir = opendir(path);
	int r;

	if (found)
		*found = dir || errno != ENOENT;
	if (!dir) {
		if (errno != ENOENT)
			complain_errno(l, path, errno);
		return 0;
	}
	r = list_open_dir(l, e, path, dir, place);
	closedir(dir);
	return r;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* Adds the listed files of sub-directory sub, by name. */
static int add_entries(struct loader *l, struct entries *e, const char *sub)
{
	char dir[PATH_MAX], path[PATH_MAX];
	int r = 0;

	qsort(e->v, e->n, sizeof(e->v[0]), by_name);
	for (uint32_t i = 0; r == 0 && i < e->n; i++) {
		r = set_path(dir, l->places[e->v[i].place], sub);
		if (r == 0)
			r = set_path(path, dir, e->v[i].name);
		if (r == 0)
			r = add_file(l, path, O_NOFOLLOW, NULL);
	}
	return r;
}

static int add_profiles(struct loader *l)
{
	_cleanup_(entries_done) struct entries e = {.n = 0};
	char path[PATH_MAX];
	bool found;
	int r;

	r = set_path(path, vendor_of(l), "profiles");
	if (r == 0)
		r = list_dir(l, &e, path, N_PLACES - 1, &found);
	if (r < 0)
		return r;
	if (!found)
		diag_add(&l->diags, DIAG_WARNING, path, 0,
			 "the shipped profiles are not there; install cpuidled completely");
	return add_entries(l, &e, "profiles");
}

static int add_main_file(struct loader *l)
{
	bool found = false;
	int r = 0;

	for (unsigned i = 0; r == 0 && !found && i < N_PLACES; i++) {
		char path[PATH_MAX];

		r = set_path(path, l->places[i], NAME SUFFIX);
		if (r == 0)
			r = add_file(l, path, O_NOFOLLOW, &found);
	}
	return r;
}

static int add_drop_ins(struct loader *l)
{
	_cleanup_(entries_done) struct entries e = {.n = 0};
	char path[PATH_MAX];
	int r = 0;

	for (unsigned i = 0; r == 0 && i < N_PLACES; i++) {
		r = set_path(path, l->places[i], NAME SUFFIX ".d");
		if (r == 0)
			r = list_dir(l, &e, path, i, NULL);
	}
	return r < 0 ? r : add_entries(l, &e, NAME SUFFIX ".d");
}

static int add_all(struct loader *l)
{
	const struct source_options *o = l->options;
	int r;

	r = add_profiles(l);
	if (r < 0)
		return r;
	if (o->policy) {
		/* Whoever runs the program names this one: its links are theirs. */
		r = add_file(l, o->policy, 0, NULL);
	} else {
		r = add_main_file(l);
		if (r == 0)
			r = add_drop_ins(l);
	}
	if (r < 0 || !o->extra)
		return r;
	return policy_add_text(l->policy, o->extra_name ? o->extra_name : "settings", o->extra,
			       strlen(o->extra), &l->diags);
}

static int load(struct loader *l)
{
	int r;

	r = policy_new(&l->policy);
	if (r < 0)
		return r;
	r = find_places(l);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		diag_add(
			&l->diags, DIAG_ERROR, NULL, 0,
			"directories of the policy cannot be told (%s); --root needs a short path, "
			"and /proc has to be mounted",
			strerror(-r));
		return 0;
	}
	r = add_all(l);
	if (r == -ENAMETOOLONG) {
		complain(l, NULL, "name of a policy file is too long; shorten --root");
		r = 0;
	}
	return r < 0 ? r : policy_finish(l->policy, &l->diags);
}

int source_load(const struct source_options *o, struct diag_list *diags, struct policy **ret)
{
	_cleanup_(loader_done) struct loader l = {.options = o};
	bool bad;
	int r;

	r = load(&l);
	if (r < 0)
		return r;
	bad = l.diags.n_errors > 0;
	if (diags)
		diag_move(diags, &l.diags);
	if (bad)
		return -EBADMSG;
	*ret = TAKE_PTR(l.policy);
	return 0;
}
