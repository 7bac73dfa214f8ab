/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "uevent.h"

#include <linux/filter.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#define GROUP_KERNEL 1U /* lib/kobject_uevent.c: what the kernel sends; udev's own are in group 2 */
#define READS_MAX    64U /* of one uevent_collect() */
#define CODE_MAX     96U

struct program {
	struct sock_filter code[CODE_MAX];
	uint16_t n;
};

static void add(struct program *p, struct sock_filter instruction)
{
	if (p->n < CODE_MAX)
		p->code[p->n++] = instruction;
}

/* Of the next four bytes as the filter loads them: big end first. */
static uint32_t word_at(const char *text)
{
	const unsigned char *u = (const unsigned char *)text;

	return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

/* Accepts what begins with text, whole words of it; anything else goes on behind. */
static void accept_prefix(struct program *p, const char *text)
{
	uint32_t n = (uint32_t)strlen(text) / 4;

	for (uint32_t i = 0; i < n; i++) {
		/* Past the remaining pairs and the acceptance. */
		uint8_t past = (uint8_t)(2 * (n - 1 - i) + 1);

		add(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4 * i));
		add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						    word_at(text + (size_t)4 * i), 0, past));
	}
	add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX));
}

/* A load past the end would refuse an event; each is longer than these, since it has its path twice. */
static int attach_filter(int fd)
{
	struct program p = {.n = 0};
	struct sock_fprog program;

	accept_prefix(&p, "add@/devices/system/cpu/cpu");
	accept_prefix(&p, "online@/devices/system/cpu/cpu");
	accept_prefix(&p, "remove@/devices/system/cpu/cpu");
	accept_prefix(&p, "offline@/devices/system/cpu/cpu");
	add(&p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0));
	program = (struct sock_fprog){.len = p.n, .filter = p.code};
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0)
		return -errno;
	return 0;
}

int uevent_open(void)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = GROUP_KERNEL};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);
	int r;

	if (fd < 0)
		return -errno;
	/* Filtered before anything can come. */
	r = attach_filter(fd);
	if (r == 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		r = -errno;
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

bool uevent_collect(int fd)
{
	bool any = false;
	char byte;

	for (uint32_t i = 0; i < READS_MAX; i++) {
		/* Longer than that by far; the rest of an event is dropped with it. */
		if (recv(fd, &byte, sizeof(byte), 0) >= 0 || errno == ENOBUFS)
			any = true;
		else if (errno != EINTR)
			break;
	}
	return any;
}
