/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cgroup.h"
#include "oneshot.h"

#include <unistd.h>

#include "lock.h"
#include "manager.h"
#include "report.h"
#include "source.h"
#include "sysfs.h"

static int open_locked(const char *root, int *ret_root_fd, int *ret_lock_fd)
{
	uint32_t pid = 0;
	int r = sysfs_open_root(root, ret_root_fd);

	if (r < 0) {
		log_errno(LOG_ID_HOST, r, "cannot open the root directory %s", root);
		return r;
	}
	r = lock_take(*ret_root_fd, ret_lock_fd, &pid);
	if (r == -EWOULDBLOCK)
		log_error(LOG_ID_HOST,
			  "cpuidled (pid %u) governs %s and restores it itself when stopped", pid,
			  root);
	else if (r < 0)
		log_errno(LOG_ID_HOST, r, "cannot take the lock " LOCK_FILE " below %s", root);
	return r;
}

static int restore(int root_fd)
{
	struct transition_leftover leftover;
	struct transition_result done;
	char text[512];
	struct host host;
	int r;

	host_init(&host, root_fd);
	r = transition_restore(&(struct transition){.root_fd = root_fd,
						    .host = &host,
						    .actuator = host_actuator(&host)},
			       &leftover, &done);
	host_done(&host);
	if (leftover.damaged)
		log_warning(LOG_ID_HOST,
			    RESTORE_FILE " is damaged; what could be read of it was used");
	if (leftover.n_foreign)
		log_notice(LOG_ID_FOREIGN,
			   "%u files were written by somebody else since; left as they are",
			   leftover.n_foreign);
	if (r < 0) {
		log_errno(LOG_ID_RESTORE_FAILED, r, "cannot restore");
	} else if (r > 0) {
		log_error(LOG_ID_RESTORE_FAILED, "%d files could not be restored; the first: %s", r,
			  report_failure(&done, text, sizeof(text)));
	} else if (done.record_error < 0) {
		log_errno(LOG_ID_RESTORE_FAILED, done.record_error,
			  "everything is restored, but " RESTORE_FILE " cannot be removed");
	} else {
		log_info(LOG_ID_RESTORED, "%u files restored", done.n_written);
		return MANAGER_EXIT_OK;
	}
	return MANAGER_EXIT_FAILED;
}

int oneshot_restore(const char *root)
{
	int root_fd = -1, lock_fd = -1;
	int status = MANAGER_EXIT_UNAVAILABLE;

	if (open_locked(root, &root_fd, &lock_fd) == 0)
		status = restore(root_fd);
	if (lock_fd >= 0)
		close(lock_fd);
	if (root_fd >= 0)
		close(root_fd);
	return status;
}

static int resolve(int root_fd, const struct policy *policy, struct diag_list *diags)
{
	_cleanup_(machine_freep) struct machine *machine = NULL;
	_cleanup_(plan_freep) struct plan *plan = NULL;
	_cleanup_(cgroups_done) struct cgroups cgroups = {.n = 0};
	int r = sysfs_read_machine(root_fd, policy_needs(policy), diags, &machine);

	if (r == 0)
		r = cgroup_read(root_fd, &(struct cgroup_query){{policy}, machine}, NULL, &cgroups);
	if (r < 0)
		return r;
	machine->cgroups = &cgroups;
	return plan_resolve(policy, machine, NULL, diags, &plan);
}

static int check(int root_fd, const char *root, const char *policy_file)
{
	const struct source_options source = {.root = root, .policy = policy_file};
	_cleanup_(policy_freep) struct policy *policy = NULL;
	_cleanup_(diag_done) struct diag_list diags = {.n = 0};
	int r = source_load(&source, &diags, &policy);

	if (r == 0)
		r = resolve(root_fd, policy, &diags);
	report_diags(&diags);
	if (r < 0 && r != -EBADMSG) {
		log_errno(LOG_ID_HOST, r, "cannot look at the host below %s", root);
		return r == -ENODEV ? MANAGER_EXIT_UNAVAILABLE : MANAGER_EXIT_FAILED;
	}
	log_info(LOG_ID_NONE, "%zu errors, %zu warnings", diags.n_errors, diags.n_warnings);
	return r == 0 && diags.n_errors == 0 ? MANAGER_EXIT_OK : MANAGER_EXIT_REFUSED;
}

int oneshot_check(const char *root, const char *policy_file)
{
	int root_fd, status;
	int r = sysfs_open_root(root, &root_fd);

	if (r < 0) {
		log_errno(LOG_ID_HOST, r, "cannot open the root directory %s", root);
		return MANAGER_EXIT_UNAVAILABLE;
	}
	status = check(root_fd, root, policy_file);
	close(root_fd);
	return status;
}
