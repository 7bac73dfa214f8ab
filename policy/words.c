/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "words.h"

#include <strings.h>

void words_done(struct words *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		free(w->v[i]);
	free(w->v);
	*w = (struct words){0};
}

static bool has_word(const struct words *w, const char *word, size_t n)
{
	for (uint32_t i = 0; i < w->n; i++) {
		if (strlen(w->v[i]) == n && strncasecmp(w->v[i], word, n) == 0)
			return true;
	}
	return false;
}

bool words_has(const struct words *w, const char *word)
{
	return has_word(w, word, strlen(word));
}

int words_add(struct words *w, const char *word, size_t n)
{
	char *copy;

	if (has_word(w, word, n))
		return 0;
	if (w->n >= WORDS_MAX)
		return -E2BIG;
	/* The array doubles, so its size follows from n. */
	if ((w->n & (w->n - 1)) == 0) {
		char **v = realloc(w->v, MAX_OF(w->n * 2, 1U) * sizeof(*v));

		if (!v)
			return -ENOMEM;
		w->v = v;
	}
	copy = strndup(word, n);
	if (!copy)
		return -ENOMEM;
	w->v[w->n++] = copy;
	return 0;
}

int words_append(struct words *dst, const struct words *src)
{
	for (uint32_t i = 0; i < src->n; i++) {
		int r = words_add(dst, src->v[i], strlen(src->v[i]));

		if (r < 0)
			return r;
	}
	return 0;
}

bool words_equal(const struct words *a, const struct words *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		if (!words_has(b, a->v[i]))
			return false;
	}
	return true;
}
