/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_WORDS_H
#define CPUIDLED_WORDS_H

#include "base.h"

/* A list of words, each owned, each once in whatever case. Zero-initialised is empty. */
#define WORDS_MAX 32U

struct words {
	char **v;
	uint32_t n;
};

void words_done(struct words *w);

/* Adds a copy of word unless the list has it. -E2BIG when it is full, -ENOMEM. */
int words_add(struct words *w, const char *word, size_t n);
int words_append(struct words *dst, const struct words *src);

bool words_has(const struct words *w, const char *word);
bool words_equal(const struct words *a, const struct words *b); /* in any order */

#endif
