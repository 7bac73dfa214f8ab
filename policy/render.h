/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_RENDER_H
#define CPUIDLED_RENDER_H

#include "buf.h"
#include "diff.h"
#include "view.h"

/*
 * Text for people, from views and diffs; JSON is made of the same views in cli/out.c. Text grows in a
 * struct render, zero-initialised; memory trouble is remembered and reported once by render_finish().
 */
struct render {
	struct buf buf;
};

/* The text, owned by the caller; NULL when memory ran out. r is empty afterwards. */
char *render_finish(struct render *r);

/* The whole plan, rows of equal CPUs together. */
void render_plan(struct render *r, const struct view *view);

/* Every layer that decides, the table with what is on and why, the modes. Wants VIEW_LAYERS. */
void render_explain(struct render *r, const struct view *view);

/* The writes of a diff, with the kernel's own file names, equal ones grouped by CPU range. */
void render_changes(struct render *r, const struct machine *machine, const struct changes *changes);

#endif
