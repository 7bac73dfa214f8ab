#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The notification protocol, and what goes to the journal.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

fresh()
{
	tree dnv0
	policy p '[Daemon]' 'DefaultProfile=p' '[Profile p]' 'LatencyLimit=20us'
}

protocol()
{
	fresh
	python3 "$top/tests/integration/notify.py" "$daemon" --no-bus --root "$T/tree" --policy "$T/p.conf"
}

once()
{
	fresh
	JOURNAL_STREAM=$1 "$daemon" --root "$T/tree" --policy "$T/p.conf" --once 2>"$T/log"
	"$daemon" --root "$T/tree" --restore
}

plain_lines_without_journal()
{
	once 1:2
	[ "$(grep -c '^CPUs 0,4-11: pm_qos_resume_latency_us none -> 20us (profile p)$' "$T/log")" = 1 ] &&
		[ "$(grep -c '^CPU 3: pm_qos_resume_latency_us 100us -> 20us (profile p)$' "$T/log")" = 1 ]
}

# With a socket where the journal's would be: entries with fields, and not a word on stderr.
entries_under_journal()
{
	fresh
	: >"$T/log"
	python3 "$top/tests/integration/journal.py" "$T/log" "$daemon" --root "$T/tree" --policy "$T/p.conf" --once >"$T/entries" || return 1
	"$daemon" --root "$T/tree" --restore
	cat "$T/entries"
	[ ! -s "$T/log" ] || { cat "$T/log"; return 1; }
	grep -q 'MESSAGE=CPUs 0,4-11: pm_qos_resume_latency_us none -> 20us (profile p)|PRIORITY=6|SYSLOG_IDENTIFIER=cpuidled|MESSAGE_ID=[0-9a-f]\{32\}|CPUS=0,4-11|KNOB=pm_qos_resume_latency_us|OLD=none|NEW=20us|PROFILE=p' "$T/entries"
}

check "sd_notify: READY, WATCHDOG, RELOADING, STATUS, STOPPING" protocol
check "not under the journal: plain lines on stderr, once each" plain_lines_without_journal
if unshare --mount true 2>/dev/null && [ -d /run/systemd ]; then
	check "under the journal: entries with fields, nothing on stderr" entries_under_journal
else
	skip "under the journal: entries with fields" "no mount namespace or no /run/systemd"
fi
finish
