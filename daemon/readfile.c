/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "readfile.h"

#include "units.h"

#include <fcntl.h>
#include <unistd.h>

int readfile_at(int dir, const char *path, char *buf, size_t size)
{
	ssize_t n;
	int r = 0;
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		r = -errno;
	close(fd);
	if (n < 0)
		return r;
	buf[n] = '\0';
	return (int)n;
}

int readfile_line(int dir, const char *path, char *buf, size_t size)
{
	int n = readfile_at(dir, path, buf, size);

	if (n < 0)
		return n;
	n = (int)strcspn(buf, "\n");
	buf[n] = '\0';
	return n;
}

int readfile_u64(int dir, const char *path, uint64_t *ret)
{
	char buf[32];
	int r = readfile_line(dir, path, buf, sizeof(buf));

	return r < 0 ? r : units_parse_u64(buf, 0, UINT64_MAX, ret);
}

int8_t readfile_switch(int dir, const char *path)
{
	char buf[8] = "";

	if (readfile_at(dir, path, buf, sizeof(buf)) < 1)
		return -1;
	return buf[0] == '1' || buf[0] == 'Y';
}

int readfile_list(int dir, const char *path, uint32_t n, struct cpuset *ret)
{
	_cleanup_(cpuset_done) struct cpuset set = {};
	_cleanup_free_ char *buf = malloc(READFILE_LIST_MAX);
	int r;

	if (!buf)
		return -ENOMEM;
	r = readfile_at(dir, path, buf, READFILE_LIST_MAX);
	if (r < 0)
		return r;
	r = cpuset_init(&set, n);
	if (r < 0)
		return r;
	r = cpuset_parse_kernel(&set, buf);
	if (r < 0)
		return r;
	cpuset_done(ret);
	*ret = set;
	set = (struct cpuset){};
	return 0;
}

const char *readfile_cpu_path(uint32_t cpu, const char *tail, char *buf)
{
	char digits[10], *p = buf;
	unsigned n = 0;

	p = stpcpy(p, "cpu");
	do
		digits[n++] = (char)('0' + cpu % 10);
	while (cpu /= 10);
	while (n)
		*p++ = digits[--n];
	*p++ = '/';
	stpcpy(p, tail);
	return buf;
}
