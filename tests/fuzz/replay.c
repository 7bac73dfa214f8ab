/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

/* main() of a fuzz target without libFuzzer: replays the files and directories it is given. */
#define INPUT_MAX (UINT32_C(2) << 20)

static int replay_file(const char *path)
{
	uint8_t *exact, *bytes = malloc(INPUT_MAX);
	FILE *file = fopen(path, "r");
	size_t n;

	fuzz_assert(bytes);
	if (!file) {
		perror(path);
		free(bytes);
		return -1;
	}
	n = fread(bytes, 1, INPUT_MAX, file);
	(void)fclose(file);
	/* Not a byte more, so that a sanitizer sees what reads beyond it. */
	exact = malloc(n > 0 ? n : 1);
	fuzz_assert(exact);
	memcpy(exact, bytes, n);
	free(bytes);
	(void)LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	return 1;
}

/* Number of inputs below path, negative when one cannot be read. */
static int replay(const char *path)
{
	char inner[4096];
	struct dirent *entry;
	struct stat st;
	int n = 0;
	DIR *dir;

	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return replay_file(path);
	dir = opendir(path);
	if (!dir) {
		perror(path);
		return -1;
	}
	while (n >= 0 && (entry = readdir(dir))) {
		int r;

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
		r = replay(inner);
		n = r < 0 ? r : n + r;
	}
	(void)closedir(dir);
	return n;
}

int main(int argc, char **argv)
{
	int n = 0;

	for (int i = 1; i < argc; i++) {
		int r = replay(argv[i]);

		if (r < 0)
			return EXIT_FAILURE;
		n += r;
	}
	(void)printf("%d inputs\n", n);
	return n > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
