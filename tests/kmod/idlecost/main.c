// SPDX-License-Identifier: GPL-2.0-only
/*
 * idlecost - counts the instructions of the idle path, in an emulated machine with one CPU
 *
 *	echo KIND >/sys/module/idlecost/parameters/run		see enum round_kind
 *	cat /sys/module/idlecost/parameters/run
 *
 * The answer is one line of words and numbers: how many rounds were whole, the state they were in,
 * and distances with the number of rounds that agreed. A round in which the tick or a work item came
 * along is longer, and is outvoted.
 *
 *	store, pended: the value most rounds had
 *		path	from the idle loop's call of the driver to the woken task, all on the way
 *	wait, mwait, umwait: the least value that more than an odd round had (see round_stagger())
 *		vector	from the timer's programmed time to the first instruction of its interrupt
 *		timer	... of the hrtimer's function
 *		task	... of the woken task, or behind the waiting instruction
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/string.h>
#include "round.h"

#define MAIN_ROUNDS 160
#define MAIN_WARM   8 /* rounds before, for what the kernel does once */
#define MAIN_QUORUM 3 /* rounds that the least value must have had; a tenth of them can */

struct main_vote {
	u64 value;
	unsigned int votes;
};

static const char *const main_kinds[] = { "store", "pended", "wait", "mwait", "umwait" };
static DEFINE_MUTEX(main_mutex);
static struct round main_rounds[MAIN_ROUNDS];
static unsigned int main_whole; /* how many of them are */
static char main_result[256] = "nothing yet\n";

static struct main_vote main_elect(u64 (*distance)(const struct round *), bool least)
{
	static u64 values[MAIN_ROUNDS];
	struct main_vote best = {};
	unsigned int i, k, votes;

	for (i = 0; i < main_whole; i++)
		values[i] = distance(&main_rounds[i]);
	for (i = 0; i < main_whole; i++) {
		for (votes = k = 0; k < main_whole; k++)
			votes += values[k] == values[i];
		if (least ? votes >= MAIN_QUORUM && (!best.votes || values[i] < best.value) :
			    votes > best.votes)
			best = (struct main_vote){ values[i], votes };
	}
	return best;
}

static u64 main_path(const struct round *r)
{
	return r->task - r->in;
}

static u64 main_vector(const struct round *r)
{
	return r->vector - r->deadline;
}

static u64 main_timer(const struct round *r)
{
	return r->timer - r->deadline;
}

static u64 main_task(const struct round *r)
{
	return r->task - r->deadline;
}

static unsigned int main_say(unsigned int len, const char *name, struct main_vote vote)
{
	return len + scnprintf(main_result + len, sizeof(main_result) - len, " %s %llu/%u", name,
			       (unsigned long long)vote.value, vote.votes);
}

/* As it should be: into idle once, and woken by what was to wake it. */
static bool main_good(enum round_kind kind, const struct round *r)
{
	if (kind == ROUND_MWAIT || kind == ROUND_UMWAIT)
		return r->interrupts == 1;
	return r->entries == 1 && r->interrupts == (kind != ROUND_STORE);
}

static void main_measure(enum round_kind kind)
{
	unsigned int i, len;

	for (i = 0; i < MAIN_WARM; i++)
		round_run(kind, &main_rounds[0]);
	for (i = main_whole = 0; i < MAIN_ROUNDS; i++) {
		round_run(kind, &main_rounds[main_whole]);
		main_whole += main_good(kind, &main_rounds[main_whole]);
	}
	len = scnprintf(main_result, sizeof(main_result), "rounds %u state %u", main_whole,
			main_whole ? main_rounds[0].state : 0);
	if (kind == ROUND_STORE || kind == ROUND_PENDED) {
		len = main_say(len, "path", main_elect(main_path, false));
	} else {
		len = main_say(len, "vector", main_elect(main_vector, true));
		len = main_say(len, "timer", main_elect(main_timer, true));
		len = main_say(len, "task", main_elect(main_task, true));
	}
	scnprintf(main_result + len, sizeof(main_result) - len, "\n");
}

static int main_set(const char *text, const struct kernel_param *param)
{
	int kind = sysfs_match_string(main_kinds, text);

	if (kind < 0)
		return kind;
	mutex_lock(&main_mutex);
	sched_set_fifo(current);
	main_measure(kind);
	sched_set_normal(current, 0);
	mutex_unlock(&main_mutex);
	return 0;
}

static int main_get(char *text, const struct kernel_param *param)
{
	return scnprintf(text, PAGE_SIZE, "%s", main_result);
}

static const struct kernel_param_ops main_ops = { .set = main_set, .get = main_get };

module_param_cb(run, &main_ops, NULL, 0600);
MODULE_PARM_DESC(run, "kind of round to run, and the last result");

static int __init main_init(void)
{
	return round_init();
}

static void __exit main_exit(void)
{
	round_exit();
}

module_init(main_init);
module_exit(main_exit);
MODULE_DESCRIPTION("Counts the instructions of the idle path (for emulators)");
MODULE_LICENSE("GPL");
