/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon as a process and as somebody to talk to, and those who hold something of it. See world.h. */
#include <cpuidled.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "tap.h"
#include "world.h"

#define DAEMON	  "/usr/sbin/cpuidled"
#define CLIENT	  "/usr/bin/cpuidlectl"
#define SOCKET	  "/run/cpuidled/bus"
#define PATH	  "/org/cpuidled1"
#define INTERFACE "org.cpuidled1.Manager"

struct holder {
	enum holder_kind kind;
	int64_t id; /* of the hold; 0: not known */
	pid_t pid; /* 0: none */
	int fd; /* the child's end of life */
};

static struct holder holders[N_HOLDS];
static pid_t daemon_pid;
static struct cpuidled *library;
static sd_bus *bus;

/* ---- talking ---- */

static void disconnect(void)
{
	cpuidled_close(library);
	library = NULL;
	bus = sd_bus_close_unref(bus);
}

static int open_bus(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = SOCKET};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return -errno;
	r = sd_bus_new(&bus);
	if (r >= 0)
		r = sd_bus_set_fd(bus, fd, fd);
	return r < 0 ? r : sd_bus_start(bus);
}

static bool connect_to_it(void)
{
	if (!library && cpuidled_open(SOCKET, &library) < 0)
		return false;
	return bus || open_bus() >= 0;
}

bool world_call(const char *method, const char *text)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r;

	r = sd_bus_call_method(bus, NULL, PATH, INTERFACE, method, &error, NULL, text ? "s" : "",
			       text);
	if (r < 0 && !sd_bus_error_has_name(&error, "org.cpuidled1.Error.BadPolicy"))
		tap_note("%s: %s: %s", method, error.name ? error.name : "", error.message);
	sd_bus_error_free(&error);
	return r >= 0;
}

static void put_us(const char *cpus, uint64_t ns, int us[CPUS])
{
	char *end;

	while (*cpus >= '0' && *cpus <= '9') {
		unsigned long first = strtoul(cpus, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < CPUS; first++)
			us[first] = ns == UINT64_MAX ? NO_LIMIT : (int)(ns / 1000);
		cpus = *end == ',' ? end + 1 : end;
	}
}

static int read_plan(sd_bus_message *m, int us[CPUS])
{
	int r = sd_bus_message_enter_container(m, 'a', "(sssbttta(usttsbs)a(ssss)a(ss))");

	while (r > 0) {
		const char *cpus, *profile, *source;
		uint64_t ns;
		int online;

		r = sd_bus_message_enter_container(m, 'r', "sssbttta(usttsbs)a(ssss)a(ss)");
		if (r <= 0)
			break;
		r = sd_bus_message_read(m, "sssbt", &cpus, &profile, &source, &online, &ns);
		if (r >= 0 && online)
			put_us(cpus, ns, us);
		if (r >= 0)
			r = sd_bus_message_skip(m, "tta(usttsbs)a(ssss)a(ss)");
		if (r >= 0)
			r = sd_bus_message_exit_container(m);
		r = r < 0 ? r : 1;
	}
	return r;
}

bool world_plan(int us[CPUS])
{
	sd_bus_message *m = NULL;
	int r = sd_bus_call_method(bus, NULL, PATH, INTERFACE, "GetPlan", NULL, &m, "s", "");

	if (r >= 0)
		r = read_plan(m, us);
	sd_bus_message_unref(m);
	return r >= 0;
}

/* ---- the daemon ---- */

bool world_daemon_lives(void)
{
	return daemon_pid > 0 && waitpid(daemon_pid, NULL, WNOHANG) == 0;
}

bool world_daemon_start(int *ret_status)
{
	const char *const argv[] = {DAEMON, NULL};
	uint64_t until = world_now_us() + PATIENCE_MS * UINT64_C(1000);

	daemon_pid = world_spawn(argv, DAEMON_LOG);
	*ret_status = -1;
	while (!connect_to_it() && world_now_us() < until) {
		int status;

		if (waitpid(daemon_pid, &status, WNOHANG) == daemon_pid) {
			*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
			daemon_pid = 0;
			return false;
		}
		usleep(5000);
	}
	return library && bus;
}

static int reap_daemon(void)
{
	int status = 0;

	while (waitpid(daemon_pid, &status, 0) < 0 && errno == EINTR)
		;
	daemon_pid = 0;
	disconnect();
	world_forget_holders();
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int world_daemon_stop(void)
{
	kill(daemon_pid, SIGTERM);
	return reap_daemon();
}

void world_daemon_kill(void)
{
	kill(daemon_pid, SIGKILL);
	(void)reap_daemon();
}

void world_daemon_signal(int signal)
{
	kill(daemon_pid, signal);
}

/* ---- holding ---- */

static int64_t ask_for(struct cpuidled *c, const char *profile, unsigned cpus, int us, unsigned ms)
{
	struct cpuidled_ask ask = CPUIDLED_ASK;
	char list[16];
	int64_t id;

	ask.cpus = world_list(cpus, list);
	if (profile)
		ask.profile = profile;
	else
		ask.latency_ns = (uint64_t)us * 1000;
	ask.ttl_us = ms * UINT64_C(1000);
	ask.reason = "soak";
	id = cpuidled_hold(c, &ask);
	if (id < 0)
		tap_note("hold %d us on %s: %s", us, list, cpuidled_error(c));
	return id;
}

/* A process of its own: holds, says so, and waits for the end of a pipe. */
static void be_holder(int told, int until, unsigned cpus, int us)
{
	struct cpuidled *c;
	char byte = 0;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(told, 3);
	dup2(until, 4);
	(void)syscall(SYS_close_range, 5U, ~0U, 0U);
	if (cpuidled_open(SOCKET, &c) < 0 || ask_for(c, NULL, cpus, us, 0) < 0)
		_exit(1);
	(void)!write(3, "+", 1);
	(void)!read(4, &byte, 1);
	cpuidled_close(c);
	_exit(0);
}

static bool fork_holder(struct holder *h, unsigned cpus, int us)
{
	int told[2], until[2];
	char byte = 0;

	if (pipe2(told, O_CLOEXEC) < 0 || pipe2(until, O_CLOEXEC) < 0)
		return false;
	/* clear of the numbers that the child uses */
	h->pid = fork();
	if (h->pid == 0)
		be_holder(fcntl(told[1], F_DUPFD, 16), fcntl(until[0], F_DUPFD, 16), cpus, us);
	close(told[1]);
	close(until[0]);
	h->fd = until[1];
	if (read(told[0], &byte, 1) != 1)
		byte = 0;
	close(told[0]);
	return byte == '+';
}

/* The client becomes the command, which says when it is that far. */
static bool run_holder(struct holder *h, unsigned cpus, int us)
{
	char list[16], limit[16], said[8] = "";
	const char *const argv[] = {CLIENT, "hold", "--latency", limit, "--cpus",
				    list,   "--",   "/bin/sh",	 "-c",	"echo +; exec sleep 100000",
				    NULL};
	int told[2];

	snprintf(limit, sizeof(limit), "%dus", us);
	world_list(cpus, list);
	if (pipe2(told, O_CLOEXEC) < 0)
		return false;
	h->pid = fork();
	if (h->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(told[1], 1);
		(void)syscall(SYS_close_range, 3U, ~0U, 0U);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(told[1]);
	if (read(told[0], said, sizeof(said) - 1) < 1)
		said[0] = '\0';
	close(told[0]);
	return said[0] == '+';
}

bool world_hold(unsigned slot, enum holder_kind kind, unsigned cpus, int us)
{
	struct holder *h = &holders[slot];

	*h = (struct holder){.kind = kind, .fd = -1};
	switch (kind) {
	case HOLDER_OURS:
		h->id = ask_for(library, NULL, cpus, us, 0);
		return h->id > 0;
	case HOLDER_PROFILE:
		h->id = ask_for(library, "low-latency", cpus, us, 0);
		return h->id > 0;
	case HOLDER_CHILD:
		return fork_holder(h, cpus, us);
	case HOLDER_CLIENT:
		return run_holder(h, cpus, us);
	}
	return false;
}

bool world_hold_briefly(unsigned cpus, int us, unsigned ms)
{
	return ask_for(library, NULL, cpus, us, ms) > 0;
}

bool world_is_process(unsigned slot)
{
	return holders[slot].pid > 0;
}

static void bury(struct holder *h)
{
	while (h->pid > 0 && waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (h->fd >= 0)
		close(h->fd);
	*h = (struct holder){.fd = -1};
}

void world_kill_holder(unsigned slot)
{
	kill(holders[slot].pid, SIGKILL);
	bury(&holders[slot]);
}

bool world_release(unsigned slot)
{
	struct holder *h = &holders[slot];
	int r = 0;

	if (h->kind == HOLDER_CHILD) {
		close(h->fd); /* it ends by itself */
		h->fd = -1;
	} else if (h->kind == HOLDER_CLIENT) {
		kill(h->pid, SIGTERM);
	} else {
		r = cpuidled_release(library, (uint32_t)h->id);
	}
	if (r < 0)
		tap_note("release %" PRId64 ": %s", h->id, cpuidled_error(library));
	bury(h);
	return r >= 0;
}

bool world_release_by_client(unsigned slot)
{
	char id[16], said[256];
	const char *const argv[] = {CLIENT, "release", id, NULL};
	int status;

	snprintf(id, sizeof(id), "%" PRId64, holders[slot].id);
	status = world_run(argv, said, sizeof(said));
	if (status != 0)
		tap_note("cpuidlectl release %s: %d %s", id, status, said);
	bury(&holders[slot]);
	return status == 0;
}

void world_forget_holders(void)
{
	for (unsigned i = 0; i < N_HOLDS; i++) {
		if (holders[i].pid > 0)
			kill(holders[i].pid, SIGKILL);
		else
			holders[i].fd = -1;
		bury(&holders[i]);
	}
}
