/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nearest.h"

#define WORD_MAX 48U /* longer words are not guessed at */

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

/* Insertions, deletions and replacements from a to b, of lengths up to WORD_MAX. */
static unsigned distance(const char *a, size_t n, const char *b, size_t m)
{
	unsigned row[WORD_MAX + 1];

	for (unsigned j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 0; i < n; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i + 1;
		for (size_t j = 0; j < m; j++) {
			unsigned replaced = diagonal + (lower(a[i]) != lower(b[j]));

			diagonal = row[j + 1];
			row[j + 1] = MIN_OF(replaced, MIN_OF(row[j], row[j + 1]) + 1);
		}
	}
	return row[m];
}

void nearest_offer(struct nearest *n, const char *candidate)
{
	size_t len = strlen(n->word), other = strlen(candidate);
	unsigned d;

	if (len > WORD_MAX || other > WORD_MAX)
		return;
	d = distance(n->word, len, candidate, other);
	/* A third of the word may be wrong: beyond that it is another word. */
	if (d > (MAX_OF(len, other) + 2) / 3 || (n->found && d >= n->distance))
		return;
	n->found = candidate;
	n->distance = d;
}
