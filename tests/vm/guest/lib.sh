#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the guest scripts have in common: ". /tests/lib.sh" first. They run in busybox's sh and in bash.
# shellcheck disable=SC2034 # used by the scripts
cpu=/sys/devices/system/cpu
log=/run/daemon.log
count=0

# What may help to see why a case failed; a script may have its own.
notes()
{
	tail -n 8 $log 2>/dev/null | sed 's/^/# daemon: /'
}

# is TITLE GOT WANTED
is()
{
	count=$((count + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $count - $1: $2"
	else
		echo "not ok $count - $1: '$2', wanted '$3'"
		notes
	fi
}

# say STATUS TITLE
say()
{
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		notes
	fi
}

# has TITLE TEXT WORDS: are the words in the text?
has()
{
	case $2 in
	*"$3"*) is "$1" "$3" "$3" ;;
	*) is "$1" "$2" "$3" ;;
	esac
}

# until_true COMMAND ...: waits for what comes by itself; three minutes are only for when it never does
until_true()
{
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ $tries -lt 360 ] || return 1
		sleep 0.5
	done
}

# usage CPU STATE: how often it was entered
usage()
{
	cat "$cpu/cpu$1/cpuidle/state$2/usage"
}

# entered CPU STATE: is it within two seconds? A sleep that had begun before has its time to end.
entered()
{
	sleep 1
	before=$(usage "$1" "$2")
	sleep 2
	[ "$(usage "$1" "$2")" != "$before" ] && echo yes || echo no
}

# qos CPU: the limit in its file
qos()
{
	cat "$cpu/cpu$1/power/pm_qos_resume_latency_us"
}

# ---- its policy

# policy CPUS LINE ...: a profile for those CPUs, of those lines; a line may begin another section
policy()
{
	mkdir -p /etc/cpuidled/cpuidled.conf.d
	{
		printf '[Group g]\nCPUs=%s\nProfile=p\n[Profile p]\n' "$1"
		shift
		printf '%s\n' "$@"
	} >/etc/cpuidled/cpuidled.conf.d/50-guest.conf
}

reload()
{
	cpuidlectl reload >/run/reload 2>&1
	is "reload" $? 0
	sed 's/^/# reload: /' /run/reload
}

# ---- the daemon as a child of the script

start()
{
	cpuidled >>$log 2>&1 &
	pid=$!
	until_true serving
}

serving()
{
	cpuidlectl status >/run/status 2>/dev/null && grep -q ACTIVE /run/status
}

gone()
{
	! kill -0 "$pid" 2>/dev/null
}

# ---- the daemon as a unit of systemd

prop()
{
	systemctl show -P "$1" cpuidled.service
}

back_with_other_pid()
{
	[ "$(prop ActiveState)" = active ] && [ "$(prop MainPID)" != "$1" ]
}
