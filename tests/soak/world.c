/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "look.h"
#include "tap.h"
#include "world.h"

#define MODULE	    "/cpuidle_policy.ko"
#define CPU_DIR	    "/sys/devices/system/cpu/"
#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_DIR  CGROUP_ROOT "/soak"

static int request_fd[N_REQUESTS];
static pid_t cgroup_pid[N_CGROUPS];

uint64_t world_now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

const char *world_list(unsigned mask, char text[16])
{
	size_t n = 0;

	text[0] = '\0';
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		if (mask >> cpu & 1)
			n += (size_t)snprintf(text + n, 16 - n, "%s%u", n ? "," : "", cpu);
	return text;
}

bool world_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	size_t n = strlen(text);
	bool good = fd >= 0 && write(fd, text, n) == (ssize_t)n;

	if (!good)
		tap_note("cannot write '%s' to %s: %s", text, path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return good;
}

static bool make_dirs(void)
{
	static const char *const dirs[] = {"/etc", "/etc/cpuidled", "/etc/cpuidled/cpuidled.conf.d",
					   CGROUP_ROOT};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		if (mkdir(dirs[i], 0755) < 0 && errno != EEXIST) {
			tap_note("cannot make %s: %s", dirs[i], strerror(errno));
			return false;
		}
	return true;
}

bool world_init(void)
{
	for (unsigned i = 0; i < N_REQUESTS; i++)
		request_fd[i] = -1;
	(void)signal(SIGPIPE, SIG_IGN);
	if (!make_dirs())
		return false;
	if (mount("cgroup2", CGROUP_ROOT, "cgroup2", 0, NULL) < 0 && errno != EBUSY) {
		tap_note("no cgroup v2: %s", strerror(errno));
		return false;
	}
	return world_write(CGROUP_ROOT "/cgroup.subtree_control", "+cpuset") &&
	       (mkdir(CGROUP_DIR, 0755) == 0 || errno == EEXIST) &&
	       world_write(CGROUP_DIR "/cgroup.subtree_control", "+cpuset");
}

void world_done(void)
{
	for (unsigned i = 0; i < N_REQUESTS; i++)
		world_request(i, NO_LIMIT);
	for (unsigned i = 0; i < N_CGROUPS; i++)
		world_cgroup_remove(i);
	rmdir(CGROUP_DIR);
	unlink(POLICY_FILE);
}

/* ---- programs ---- */

/* In a child: nothing of ours stays open in it, or it would keep it alive. */
static void leave(int out)
{
	int null = open("/dev/null", O_RDWR);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(null, 0);
	dup2(out >= 0 ? out : null, 1);
	dup2(out >= 0 ? out : null, 2);
	(void)syscall(SYS_close_range, 3U, ~0U, 0U);
}

pid_t world_spawn(const char *const argv[], const char *log)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	leave(log ? open(log, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1);
	execv(argv[0], (char *const *)argv);
	_exit(127);
}

int world_run(const char *const argv[], char *out, size_t size)
{
	int ends[2], status = 0;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		leave(ends[1]);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(ends[1]);
	while (out && n + 1 < size && (got = read(ends[0], out + n, size - n - 1)) > 0)
		n += (size_t)got;
	if (out)
		out[n] = '\0';
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	close(ends[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- the module ---- */

bool world_module(bool load)
{
	int fd, r = -1;

	if (!load) {
		look_reopen(false);
		r = (int)syscall(SYS_delete_module, "cpuidle_policy", O_NONBLOCK);
		if (r < 0)
			tap_note("the module does not go: %s", strerror(errno));
		return r == 0;
	}
	fd = open(MODULE, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		r = (int)syscall(SYS_finit_module, fd, "", 0);
	if (r < 0)
		tap_note("the module does not come: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	look_reopen(r == 0);
	return r == 0;
}

/* ---- others ---- */

bool world_write_qos(unsigned cpu, int us)
{
	char path[128], text[16];

	snprintf(path, sizeof(path), CPU_DIR "cpu%u/power/pm_qos_resume_latency_us", cpu);
	if (us == 0)
		return world_write(path, "n/a");
	snprintf(text, sizeof(text), "%d", us == NO_LIMIT ? 0 : us);
	return world_write(path, text);
}

bool world_write_disable(unsigned cpu, bool off)
{
	char path[128];

	snprintf(path, sizeof(path), CPU_DIR "cpu%u/cpuidle/state2/disable", cpu);
	return world_write(path, off ? "1" : "0");
}

bool world_request(unsigned slot, int us)
{
	if (us == NO_LIMIT) {
		if (request_fd[slot] >= 0)
			close(request_fd[slot]);
		request_fd[slot] = -1;
		return true;
	}
	if (request_fd[slot] < 0)
		request_fd[slot] = open("/dev/cpu_dma_latency", O_RDWR | O_CLOEXEC);
	return request_fd[slot] >= 0 &&
	       write(request_fd[slot], &us, sizeof(us)) == (ssize_t)sizeof(us);
}

bool world_online(unsigned cpu, bool online)
{
	char path[128];

	snprintf(path, sizeof(path), CPU_DIR "cpu%u/online", cpu);
	return world_write(path, online ? "1" : "0");
}

/* ---- control groups ---- */

static const char *in_cgroup(unsigned slot, const char *file, char path[128])
{
	snprintf(path, 128, CGROUP_DIR "/g%u/%s", slot, file);
	return path;
}

static bool put_pid(unsigned slot, pid_t pid)
{
	char path[128], text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	return world_write(in_cgroup(slot, "cgroup.procs", path), text);
}

bool world_cgroup_cpus(unsigned slot, unsigned cpus)
{
	char path[128], list[16];

	world_list(cpus, list);
	/* an empty write is none: a line without anything is how this file is emptied */
	return world_write(in_cgroup(slot, "cpuset.cpus", path), cpus ? list : "\n");
}

bool world_cgroup_make(unsigned slot, unsigned cpus)
{
	char path[128];
	pid_t pid;

	if (mkdir(in_cgroup(slot, "", path), 0755) < 0) {
		tap_note("cannot make %s: %s", path, strerror(errno));
		return false;
	}
	if (!world_cgroup_cpus(slot, cpus))
		return false;
	pid = fork();
	if (pid == 0) {
		leave(-1);
		for (;;)
			pause();
	}
	cgroup_pid[slot] = pid;
	return pid > 0 && put_pid(slot, pid);
}

bool world_cgroup_move(unsigned from, unsigned to)
{
	cgroup_pid[to] = cgroup_pid[from];
	cgroup_pid[from] = 0;
	return put_pid(to, cgroup_pid[to]);
}

bool world_cgroup_end(unsigned slot)
{
	if (cgroup_pid[slot] <= 0)
		return true;
	kill(cgroup_pid[slot], SIGKILL);
	while (waitpid(cgroup_pid[slot], NULL, 0) < 0 && errno == EINTR)
		;
	cgroup_pid[slot] = 0;
	return true;
}

bool world_cgroup_remove(unsigned slot)
{
	char path[128];
	uint64_t until = world_now_us() + PATIENCE_MS * UINT64_C(1000);

	(void)world_cgroup_end(slot);
	in_cgroup(slot, "", path);
	/* the kernel lets go of a dead process a moment later */
	while (rmdir(path) < 0) {
		if (errno == ENOENT)
			return true;
		if (world_now_us() > until) {
			tap_note("cannot remove %s: %s", path, strerror(errno));
			return false;
		}
		usleep(1000);
	}
	return true;
}
