/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The record as a file: its text, written whole and read with care. */
#include "restore.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESTORE_VERSION	 "cpuidled-restore 1 "
#define RESTORE_TEMP	 RESTORE_FILE ".new"
#define RESTORE_FILE_MAX (8U << 20) /* every knob of CPU_MAX CPUs on a line of its own fits */
#define BOOT_ID_MAX	 40U

/* boot_id of the kernel whose settings these are. A tree has none and does not boot: "-". */
static void read_boot_id(int root_fd, char ret[static BOOT_ID_MAX])
{
	int fd = openat(root_fd, "proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, BOOT_ID_MAX - 1);

	if (fd >= 0)
		close(fd);
	ret[n > 0 ? n : 0] = '\0';
	ret[strcspn(ret, " \n")] = '\0';
	if (ret[0] == '\0')
		memcpy(ret, "-", 2);
}

/* Collects text and writes it in pieces of one buffer; the first error stays. */
struct writer {
	int fd;
	int error;
	size_t n;
	char buf[4096];
};

static void flush(struct writer *w)
{
	size_t done = 0;

	while (w->error == 0 && done < w->n) {
		ssize_t r = write(w->fd, w->buf + done, w->n - done);

		if (r < 0 && errno != EINTR)
			w->error = -errno;
		else if (r > 0)
			done += (size_t)r;
	}
	w->n = 0;
}

static void put(struct writer *w, const char *text)
{
	size_t n = strlen(text);

	if (w->n + n > sizeof(w->buf))
		flush(w);
	memcpy(w->buf + w->n, text, n);
	w->n += n;
}

static void put_value(struct writer *w, uint8_t kind, uint64_t value)
{
	char text[LATENCY_TEXT_MAX];

	put(w, " ");
	if (kind == KNOB_DISABLE || kind == KNOB_HOST)
		snprintf(text, sizeof(text), "%" PRIu64, value);
	else
		units_format_latency(value, text, sizeof(text));
	put(w, text);
}

static void put_item(struct writer *w, const struct restore_item *item)
{
	char text[48];

	put(w, item->kind == KNOB_QOS ? "qos " : "disable ");
	if (item->cpu == item->last)
		snprintf(text, sizeof(text), "%u", item->cpu);
	else
		snprintf(text, sizeof(text), "%u-%u", item->cpu, item->last);
	put(w, text);
	if (item->kind == KNOB_DISABLE) {
		snprintf(text, sizeof(text), " %u", item->state);
		put(w, text);
	}
	put_value(w, item->kind, item->prior);
	for (uint8_t i = 0; i < item->n_ours; i++)
		put_value(w, item->kind, item->ours[i]);
	put(w, "\n");
}

static const char *const knob_words[HOST_KNOBS] = {
	[HOST_UMWAIT_C02] = "enable_c02",
	[HOST_UMWAIT_MAX] = "max_time",
	[HOST_HALTPOLL] = "guest_halt_poll_ns",
};

static void put_knob(struct writer *w, const struct restore_item *item)
{
	if (!item->n_ours)
		return;
	put(w, "host ");
	put(w, knob_words[item->state]);
	put_value(w, KNOB_HOST, item->prior);
	for (uint8_t i = 0; i < item->n_ours; i++)
		put_value(w, KNOB_HOST, item->ours[i]);
	put(w, "\n");
}

static void put_global(struct writer *w, const struct restore_global *g)
{
	char hex[3];

	put(w, g->n_prior ? "global " : "global -");
	for (uint8_t i = 0; i < g->n_prior; i++) {
		snprintf(hex, sizeof(hex), "%02x", g->prior[i]);
		put(w, hex);
	}
	for (uint8_t i = 0; i < g->n_ours; i++)
		put_value(w, KNOB_GLOBAL, g->ours[i]);
	put(w, "\n");
}

static void put_record(struct writer *w, int root_fd, const struct restore_record *r)
{
	char boot_id[BOOT_ID_MAX];

	read_boot_id(root_fd, boot_id);
	put(w, RESTORE_VERSION);
	put(w, boot_id);
	put(w, "\n");
	for (uint32_t i = 0; i < r->n; i++)
		put_item(w, &r->items[i]);
	for (uint32_t i = 0; i < HOST_KNOBS; i++)
		put_knob(w, &r->knobs[i]);
	if (r->global.n_ours)
		put_global(w, &r->global);
	flush(w);
}

int restore_make_dir(int root_fd)
{
	if (mkdirat(root_fd, "run", 0755) < 0 && errno != EEXIST)
		return -errno;
	if (mkdirat(root_fd, RESTORE_DIR, 0755) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

static int open_temp(int root_fd)
{
	int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
	int fd = openat(root_fd, RESTORE_TEMP, flags, 0644);
	int r;

	if (fd >= 0 || errno != ENOENT)
		return fd < 0 ? -errno : fd;
	/* Somebody tidied the run directory up. */
	r = restore_make_dir(root_fd);
	if (r < 0)
		return r;
	fd = openat(root_fd, RESTORE_TEMP, flags, 0644);
	return fd < 0 ? -errno : fd;
}

int restore_save(int root_fd, const struct restore_record *r)
{
	struct writer w;

	if (restore_is_empty(r))
		return unlinkat(root_fd, RESTORE_FILE, 0) < 0 && errno != ENOENT ? -errno : 0;
	w.fd = open_temp(root_fd);
	if (w.fd < 0)
		return w.fd;
	w.error = 0;
	w.n = 0;
	put_record(&w, root_fd, r);
	if (close(w.fd) < 0 && w.error == 0)
		w.error = -errno;
	if (w.error == 0 && renameat(root_fd, RESTORE_TEMP, root_fd, RESTORE_FILE) < 0)
		w.error = -errno;
	if (w.error < 0)
		(void)unlinkat(root_fd, RESTORE_TEMP, 0);
	return w.error;
}

/* ---- and back ---- */

static int parse_cpus(const char *text, struct restore_item *item)
{
	uint32_t cpu, last;

	if (units_scan_u32(&text, CPU_MAX - 1, &cpu) < 0)
		return -EINVAL;
	last = cpu;
	if (*text == '-') {
		text++;
		if (units_scan_u32(&text, CPU_MAX - 1, &last) < 0)
			return -EINVAL;
	}
	if (*text != '\0' || last < cpu)
		return -EINVAL;
	item->cpu = (uint16_t)cpu;
	item->last = (uint16_t)last;
	return 0;
}

static int parse_value(uint8_t kind, const char *text, uint64_t *ret)
{
	if (kind == KNOB_HOST)
		return units_parse_u64(text, 0, UINT32_MAX, ret);
	return kind == KNOB_DISABLE ? units_parse_u64(text, 0, 1, ret)
				    : units_parse_latency(text, ret);
}

/* One or two values of ours from words[0..n). */
static int parse_ours(uint8_t kind, char *const *words, size_t n, uint64_t ours[static 2],
		      uint8_t *ret_n)
{
	if (n < 1 || n > 2)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (parse_value(kind, words[i], &ours[i]) < 0)
			return -EINVAL;
	*ret_n = (uint8_t)n;
	return 0;
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -EINVAL;
}

static int parse_bytes(const char *text, struct restore_global *g)
{
	if (streq(text, "-"))
		return 0;
	for (; *text; text += 2) {
		int high = hex_digit(text[0]), low = hex_digit(text[1]);

		if (high < 0 || low < 0 || g->n_prior >= RESTORE_BYTES_MAX)
			return -EINVAL;
		g->prior[g->n_prior++] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

static int parse_global(char *const *words, size_t n, struct restore_record *r)
{
	struct restore_global g = {.n_ours = 0};

	if (n < 1 || parse_bytes(words[0], &g) < 0 ||
	    parse_ours(KNOB_GLOBAL, words + 1, n - 1, g.ours, &g.n_ours) < 0)
		return -EBADMSG;
	r->global = g;
	return 0;
}

static int parse_knob(char *const *words, size_t n, struct restore_record *r)
{
	struct restore_item item = {.kind = KNOB_HOST};

	while (n > 0 && item.state < HOST_KNOBS && !streq(words[0], knob_words[item.state]))
		item.state++;
	if (n <= 2 || item.state == HOST_KNOBS ||
	    parse_value(KNOB_HOST, words[1], &item.prior) < 0 ||
	    parse_ours(KNOB_HOST, words + 2, n - 2, item.ours, &item.n_ours) < 0)
		return -EBADMSG;
	r->knobs[item.state] = item;
	return 0;
}

static int parse_item(char *const *words, size_t n, uint8_t kind, struct restore_record *r)
{
	struct restore_item item = {.kind = kind};
	size_t at = kind == KNOB_DISABLE ? 2 : 1; /* where the prior value stands */
	uint64_t state = 0;

	if (n <= at || parse_cpus(words[0], &item) < 0 ||
	    parse_value(kind, words[at], &item.prior) < 0 ||
	    parse_ours(kind, words + at + 1, n - at - 1, item.ours, &item.n_ours) < 0)
		return -EBADMSG;
	if (kind == KNOB_DISABLE &&
	    units_parse_u64(words[1], 0, MACHINE_STATES_MAX - 1, &state) < 0)
		return -EBADMSG;
	item.state = (uint8_t)state;
	return restore_append(r, &item);
}

/* line is cut into words in place. */
static int parse_line(char *line, struct restore_record *r)
{
	char *words[8], *save = NULL;
	size_t n = 0;

	for (char *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		if (n == ARRAY_SIZE(words))
			return -EBADMSG;
		words[n++] = w;
	}
	if (n == 0)
		return -EBADMSG;
	if (streq(words[0], "qos"))
		return parse_item(words + 1, n - 1, KNOB_QOS, r);
	if (streq(words[0], "disable"))
		return parse_item(words + 1, n - 1, KNOB_DISABLE, r);
	if (streq(words[0], "host"))
		return parse_knob(words + 1, n - 1, r);
	if (streq(words[0], "global"))
		return parse_global(words + 1, n - 1, r);
	return -EBADMSG;
}

/* The record in text (changed in place). Damaged lines are left out and reported as -EBADMSG. */
static int parse(char *text, const char *boot_id, struct restore_record *r)
{
	char *save = NULL, *line = strtok_r(text, "\n", &save);
	int damaged = 0;

	if (!line || strncmp(line, RESTORE_VERSION, strlen(RESTORE_VERSION)) != 0)
		return -EBADMSG;
	if (!streq(line + strlen(RESTORE_VERSION), boot_id))
		return 0;
	while ((line = strtok_r(NULL, "\n", &save))) {
		int error = parse_line(line, r);

		if (error == -ENOMEM)
			return error;
		if (error < 0)
			damaged = error;
	}
	return damaged;
}

/* At most n bytes; returns how many there were. -errno. */
static ssize_t read_whole(int fd, char *buf, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = read(fd, buf + done, n - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

static int read_text(int fd, char **ret)
{
	_cleanup_free_ char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > RESTORE_FILE_MAX)
		return -EFBIG;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	n = read_whole(fd, text, (size_t)st.st_size);
	if (n < 0)
		return (int)n;
	text[n] = '\0';
	*ret = TAKE_PTR(text);
	return 0;
}

/* The whole file as text, owned by the caller. -ENOENT, -EFBIG, -errno. */
static int read_file(int root_fd, char **ret)
{
	int fd = openat(root_fd, RESTORE_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int r;

	if (fd < 0)
		return -errno;
	r = read_text(fd, ret);
	close(fd);
	return r;
}

int restore_load(int root_fd, struct restore_record *ret)
{
	struct restore_record r = {.n = 0};
	_cleanup_free_ char *text = NULL;
	char boot_id[BOOT_ID_MAX];
	int error = read_file(root_fd, &text);

	if (error == -ENOENT) {
		*ret = r;
		return 0;
	}
	if (error < 0)
		return error;
	read_boot_id(root_fd, boot_id);
	error = text ? parse(text, boot_id, &r) : -EBADMSG;
	if (error < 0 && error != -EBADMSG) {
		restore_done(&r);
		return error;
	}
	*ret = r;
	return error;
}
