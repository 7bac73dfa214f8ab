/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "missing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "readfile.h"

#define MODULE "cpuidle_policy"

enum installed { INSTALLED_NO, INSTALLED_YES, INSTALLED_UNKNOWN };

static bool is_there(int root_fd, const char *path)
{
	return faccessat(root_fd, path, F_OK, 0) == 0;
}

/* A line of modules.dep begins with the module's path: "updates/dkms/cpuidle_policy.ko.xz: ..." */
static bool names_module(const char *line)
{
	const char *end = strchr(line, ':'), *at = strstr(line, MODULE ".ko");

	return at && end && at < end && (at == line || at[-1] == '/');
}

static enum installed look_up(int root_fd, const char *release)
{
	enum installed found = INSTALLED_NO;
	char path[256], *line = NULL;
	size_t room = 0;
	FILE *file;
	int fd;

	snprintf(path, sizeof(path), "lib/modules/%s/modules.dep", release);
	fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return INSTALLED_UNKNOWN;
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return INSTALLED_UNKNOWN;
	}
	while (found == INSTALLED_NO && getline(&line, &room, file) > 0)
		if (names_module(line))
			found = INSTALLED_YES;
	free(line);
	(void)fclose(file);
	return found;
}

/* Does this kernel refuse modules without a good signature? What asks for it. NULL: it does not. */
static const char *wants_signature(int root_fd)
{
	char text[64];

	if (readfile_line(root_fd, "sys/kernel/security/lockdown", text, sizeof(text)) >= 0 &&
	    !strstr(text, "[none]") && strchr(text, '['))
		return "kernel lockdown, as with Secure Boot";
	if (readfile_line(root_fd, "sys/module/module/parameters/sig_enforce", text,
			  sizeof(text)) >= 0 &&
	    text[0] == 'Y')
		return "module.sig_enforce";
	return NULL;
}

const char *missing_why(int root_fd, const char *release, char *buf, size_t size)
{
	const char *signature = wants_signature(root_fd);

	if (is_there(root_fd, "sys/module/" MODULE)) {
		snprintf(buf, size,
			 MODULE
			 " is loaded but does not answer here; it serves the initial network "
			 "namespace only, in which cpuidled must run");
		return buf;
	}
	switch (look_up(root_fd, release)) {
	case INSTALLED_NO:
		snprintf(buf, size, MODULE " is not installed for kernel %s; dkms builds it there",
			 release);
		break;
	case INSTALLED_YES:
		if (signature)
			snprintf(buf, size,
				 MODULE
				 " is installed but was not loaded: this kernel takes signed "
				 "modules only (%s); sign it with a key it trusts",
				 signature);
		else
			snprintf(buf, size,
				 MODULE " is installed but was not loaded; 'modprobe " MODULE
					"' says why");
		break;
	case INSTALLED_UNKNOWN:
		snprintf(buf, size, MODULE " is not loaded%s%s; load it, or install it with dkms",
			 signature ? ", and only signed modules are taken: " : "",
			 signature ? signature : "");
		break;
	}
	return buf;
}
