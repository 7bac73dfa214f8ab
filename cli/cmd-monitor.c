/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <time.h>

#include "out.h"

static uint64_t realtime_us(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* false when nobody reads any more: the pipe is closed or the disk is full. */
static bool show_event(const char *what, const char *detail, const char *why, void *userdata)
{
	const struct options *o = userdata;
	time_t now = time(NULL);
	char stamp[32];
	struct tm tm;

	if (option_given(o, OPTION_JSON))
		return out_event(realtime_us(), what, detail, why) == EXIT_OK &&
		       fflush(stdout) == 0;
	strftime(stamp, sizeof(stamp), "%F %T", localtime_r(&now, &tm));
	/* What explains itself is not said twice. */
	if (!*why || streq(why, detail))
		printf("%s %s: %s\n", stamp, what, detail);
	else
		printf("%s %s: %s [%s]\n", stamp, what, detail, why);
	return fflush(stdout) == 0;
}

int cmd_monitor(const struct options *o, _unused_ char **args, _unused_ int n)
{
	_cleanup_(client_closep) struct client *c = NULL;
	int r;

	r = client_open(o, CLIENT_READS, &c);
	return r == EXIT_OK ? client_monitor(c, show_event, (void *)o) : r;
}
