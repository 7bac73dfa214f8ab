/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <unistd.h>

#include "cgroup.h"
#include "offline.h"
#include "restore.h"
#include "source.h"
#include "sysfs.h"

bool offline_wanted(const struct options *o)
{
	return o->root || o->policy;
}

int offline_policy(const struct options *o, const char *file, struct offline *ret)
{
	struct source_options source = {.root = o->root, .policy = file ? file : o->policy};
	int r;

	*ret = (struct offline){0};
	r = source_load(&source, &ret->diags, &ret->policy);
	if (r < 0 && r != -EBADMSG)
		return fail_errno(r, "cannot read the policy");
	return EXIT_OK;
}

/* A record nobody may read but root: then the host is taken as it stands, with a word about it. */
static int overlay_own_values(int root_fd, struct offline *f)
{
	struct restore_record record = {0};
	uint32_t n_foreign = 0;
	int r;

	r = restore_load(root_fd, &record);
	if (r == -ENOMEM)
		return fail_errno(r, "restore record");
	if (r < 0)
		diag_add(&f->diags, DIAG_WARNING, NULL, 0,
			 "the daemon's restore record cannot be read (%s); values it has set are "
			 "taken for those of others",
			 strerror(-r));
	restore_overlay(&record, f->machine, &n_foreign);
	restore_done(&record);
	return EXIT_OK;
}

static int read_cgroups(int root_fd, struct offline *f)
{
	const struct cgroup_query q = {.policies = {f->policy}, .machine = f->machine};
	int r = cgroup_read(root_fd, &q, NULL, &f->cgroups);

	f->machine->cgroups = &f->cgroups;
	return r < 0 ? fail_errno(r, "cannot read the control groups of workloads") : EXIT_OK;
}

static int read_machine(const struct options *o, struct offline *f)
{
	const char *root = o->root ? o->root : "/";
	int fd = -1, r;

	r = sysfs_open_root(root, &fd);
	if (r < 0)
		return fail(EXIT_NOT_THERE,
			    "cannot open %s: %s; --root wants the directory that "
			    "holds sys/devices/system/cpu",
			    root, strerror(-r));
	r = sysfs_read_machine(fd,
			       policy_needs(f->policy) | SELECTOR_NEEDS_TOPOLOGY |
				       SELECTOR_NEEDS_NODE | SELECTOR_NEEDS_LLC,
			       &f->diags, &f->machine);
	if (r == 0)
		r = overlay_own_values(fd, f);
	else
		r = fail(EXIT_NOT_THERE,
			 "no CPUs below %s: %s; --root wants the directory that "
			 "holds sys/devices/system/cpu",
			 root, strerror(-r));
	if (r == EXIT_OK)
		r = read_cgroups(fd, f);
	close(fd);
	return r;
}

int offline_plan(const struct options *o, const char *file, struct offline *ret)
{
	int r;

	r = offline_policy(o, file, ret);
	if (r != EXIT_OK || !ret->policy)
		return r;
	r = read_machine(o, ret);
	if (r != EXIT_OK)
		return r;
	r = plan_resolve(ret->policy, ret->machine, NULL, &ret->diags, &ret->plan);
	return r < 0 ? fail_errno(r, "cannot make a plan") : EXIT_OK;
}

static int select_cpus(const struct offline *f, const char *text, struct cpuset *ret)
{
	_cleanup_(selector_freep) struct selector *s = NULL;
	char error[256];
	int r;

	r = selector_new(text, &s, error, sizeof(error));
	if (r == -EINVAL)
		return fail(EXIT_USAGE, "CPUs '%s': %s", text, error);
	if (r == 0)
		r = selector_eval(s, f->machine, ret);
	if (r < 0)
		return fail_errno(r, "cannot select CPUs");
	if (cpuset_count(ret) > 0)
		return EXIT_OK;
	cpuset_done(ret);
	return fail(EXIT_FAILED, "'%s' selects no CPU of this host; it has 0-%u", text,
		    f->machine->n_cpus - 1);
}

int offline_view(const struct offline *f, const char *cpus, unsigned flags, struct view *ret)
{
	struct cpuset set = {0};
	int r;

	if (cpus) {
		r = select_cpus(f, cpus, &set);
		if (r != EXIT_OK)
			return r;
	}
	r = view_make(f->policy, f->machine, f->plan, NULL, cpus ? &set : NULL, flags, ret);
	cpuset_done(&set);
	return r < 0 ? fail_errno(r, "cannot describe the plan") : EXIT_OK;
}

void offline_done(struct offline *f)
{
	plan_free(f->plan);
	machine_free(f->machine);
	cgroups_done(&f->cgroups);
	policy_free(f->policy);
	diag_done(&f->diags);
	*f = (struct offline){0};
}
