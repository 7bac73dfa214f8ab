/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/socket.h>

#include "kernel-private.h"

struct wire_head kernel_head(struct kernel *k, bool ack)
{
	return (struct wire_head){.family = k->family, .seq = ++k->seq, .ack = ack};
}

static void note_error(struct kernel_talk *t, const struct wire_message *m)
{
	if (t->error)
		return;
	t->error = m->error;
	t->failed = (int)(m->seq - t->first) + 1;
	snprintf(t->text, sizeof(t->text), "%s", m->text);
}

/* One message. True when nothing more is to come. */
static bool heard(struct kernel_talk *t, const struct wire_message *m)
{
	int r;

	if (m->seq - t->first > t->last - t->first)
		return false; /* late answer to somebody who no longer waits */
	t->torn |= m->torn;
	if (m->kind == WIRE_ANSWER || m->kind == WIRE_DONE) {
		if (m->error < 0)
			note_error(t, m);
		return m->seq == t->last;
	}
	r = t->take ? t->take(m, t->data) : 0;
	if (r < 0 && !t->error)
		t->error = r;
	return false;
}

static int hear(struct kernel *k, struct kernel_talk *t)
{
	struct wire_message m;
	struct wire_in in;
	bool done = false;
	ssize_t n;

	while (!done) {
		n = recv(k->requests_fd, k->buffer, KERNEL_BUFFER, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		if (n == 0)
			return -ECONNRESET;
		in = (struct wire_in){.bytes = k->buffer, .n = (size_t)n};
		while (!done && wire_next(&in, k->family, &m))
			done = heard(t, &m);
	}
	return 0;
}

/*
 * Sends what is in o, the last request of which is k->seq, and hears the answers. 0 or the first failure,
 * which t tells more about. Anything that leaves open what the kernel did is -EIO.
 */
int kernel_talk(struct kernel *k, struct wire_out *o, struct kernel_talk *t)
{
	ssize_t n;
	int r;

	t->last = k->seq;
	if (o->failed)
		return t->error = -ENOMEM;
	do
		n = send(k->requests_fd, o->bytes, o->n, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return t->error = -errno;
	r = hear(k, t);
	if (r < 0) {
		t->failed = -1;
		t->error = r;
	}
	return t->error;
}

void kernel_say(struct kernel *k, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(k->text, sizeof(k->text), fmt, ap);
	va_end(ap);
}

/* The kernel's words where it had some. */
void kernel_say_refused(struct kernel *k, const char *what, const struct kernel_talk *t)
{
	if (t->text[0])
		kernel_say(k, "cpuidle_policy refused %s: %s (%s)", what, t->text,
			   strerror(-t->error));
	else
		kernel_say(k, "cpuidle_policy refused %s: %s", what, strerror(-t->error));
}
