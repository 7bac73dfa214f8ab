/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include "log.h"

#define LOG_FIELDS_MAX 16U
#define LOG_FIELD_MAX  256U /* bytes of one field other than MESSAGE= */

static const char *const message_ids[LOG_ID_N] = {
	[LOG_ID_POLICY] = "f768064f958547ada39eed24c2c063fe",
	[LOG_ID_STARTED] = "5966eb44e0c6474495113dc30e9a8df5",
	[LOG_ID_STOPPING] = "b9c48cb01720400e8ca82984fcb042d9",
	[LOG_ID_APPLIED] = "a83c546dbc4d43dc96c93f01a9f18630",
	[LOG_ID_APPLY_FAILED] = "ace970fccddb4416a3966023df2d5c05",
	[LOG_ID_RESTORED] = "00633256e25f471d8fe2c4e12b5eadad",
	[LOG_ID_RESTORE_FAILED] = "e66c0e9819424e8ab4c6049fa9998118",
	[LOG_ID_RELOADED] = "3c19c840d9f94acda62d2465be71c2d9",
	[LOG_ID_RELOAD_REFUSED] = "e7f137f5a11b4c7db5a6b47b57a73cab",
	[LOG_ID_STATE] = "12f034c143d24a11a0a8a1e2fdbc4be2",
	[LOG_ID_FOREIGN] = "83de0b93946a499896567964cfbaa4dd",
	[LOG_ID_FOREIGN_LEFT] = "068c193bf65c49029f777337923fe54e",
	[LOG_ID_HOST] = "c85ad6ff654644beb379782e12806dcc",
	[LOG_ID_MODULE] = "201298344d2f436e83201d4562e9820c",
	[LOG_ID_REQUEST] = "10cc80422fb74eacb3ba20d253c80a75",
	[LOG_ID_ADAPT] = "c1a7496b1f8d4b26b7e77127538ddf01",
	[LOG_ID_GUARD] = "3365bf7aa0194136bb91c6fc86f0514d",
	[LOG_ID_DENIED] = "333931383701403fb7453614dba55617",
	[LOG_ID_HOLD] = "c8129318a4274d258807ada4c5599fe3",
	[LOG_ID_WORKLOAD] = "0b972c2bf0364ee28c065600e312238f",
};

struct log_fields {
	struct iovec v[LOG_FIELDS_MAX];
	char text[LOG_FIELDS_MAX][LOG_FIELD_MAX];
	int n;
};

const char *log_message_id(enum log_id id)
{
	return message_ids[id];
}

/* systemd.exec(5): JOURNAL_STREAM has device and inode of the stream it gave us as stderr. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char own[64];
	struct stat st;

	if (!stream || fstat(STDERR_FILENO, &st) < 0)
		return false;
	snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return streq(own, stream);
}

static void add_raw(struct log_fields *f, const char *text, size_t n)
{
	if (f->n < (int)LOG_FIELDS_MAX)
		f->v[f->n++] = (struct iovec){.iov_base = (char *)text, .iov_len = n};
}

static void add(struct log_fields *f, const char *name, const char *value)
{
	char *text = f->text[f->n];
	int n;

	if (!value || f->n >= (int)LOG_FIELDS_MAX)
		return;
	n = snprintf(text, LOG_FIELD_MAX, "%s=%s", name, value);
	add_raw(f, text, MIN_OF((size_t)n, LOG_FIELD_MAX - 1));
}

static void add_number(struct log_fields *f, const char *name, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, value);
	add(f, name, text);
}

/* message starts with "MESSAGE=". */
static int send_journal(const struct log_entry *e, const char *message)
{
	struct log_fields f = {.n = 0};

	add_raw(&f, message, strlen(message));
	add_number(&f, "PRIORITY", (uint32_t)e->priority);
	add(&f, "SYSLOG_IDENTIFIER", "cpuidled");
	add(&f, "MESSAGE_ID", message_ids[e->id]);
	if (e->error)
		add_number(&f, "ERRNO", (uint32_t)-e->error);
	add(&f, "CPUS", e->cpus);
	add(&f, "KNOB", e->knob);
	add(&f, "OLD", e->old);
	add(&f, "NEW", e->new);
	add(&f, "PROFILE", e->profile);
	add(&f, "POLICY_FILE", e->file);
	if (e->line)
		add_number(&f, "POLICY_LINE", e->line);
	add(&f, "STATE", e->state);
	add(&f, "SENDER_UID", e->sender);
	return sd_journal_sendv(f.v, f.n);
}

void log_entry(const struct log_entry *e, const char *fmt, ...)
{
	static const char prefix[] = "MESSAGE=";
	char message[sizeof(prefix) + LOG_MESSAGE_MAX + 1] = "MESSAGE=";
	char *text = message + sizeof(prefix) - 1;
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	(void)vsnprintf(text, LOG_MESSAGE_MAX, fmt, ap);
	va_end(ap);
	n = strlen(text);
	if (e->error)
		snprintf(text + n, LOG_MESSAGE_MAX - n, ": %s", strerror(-e->error));
	if (stderr_is_journal() && send_journal(e, message) >= 0)
		return;
	/* One write, so that lines of several processes do not mix. */
	n = strlen(text);
	text[n++] = '\n';
	if (write(STDERR_FILENO, text, n) < 0)
		return; /* nobody left to tell */
}
