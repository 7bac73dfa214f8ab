#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Somebody else writes the files we govern: noticed, named, answered as OnForeignWrite= says, never loosened.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

for answer in yield reassert alert; do
	policy $answer '[Daemon]' 'DefaultProfile=p' "OnForeignWrite=$answer" '[Profile p]' 'LatencyLimit=20us' 'DisableStates=C1E'
	policy zero-$answer '[Daemon]' 'DefaultProfile=p' "OnForeignWrite=$answer" '[Profile p]' 'LatencyLimit=0'
done

begin()
{
	tree dnv0
	state >"$T/before"
	start --root "$T/tree" --policy "$T/$1.conf" || { cat "$T/log"; return 1; }
}

disable()
{
	echo "$T/tree/sys/devices/system/cpu/cpu$1/cpuidle/state2/disable"
}

# found FILE VALUE
found()
{
	[ "$(cat "$1")" = "$2" ] || { echo "$1: $(cat "$1") instead of $2"; cat "$T/log"; return 1; }
}

looser_reassert()
{
	begin reassert || return 1
	echo 0 >"$(qos 4)"
	await 'CPU 4: somebody set pm_qos_resume_latency_us from 20us to none; looser' || return 1
	await 'CPU 4: pm_qos_resume_latency_us none -> 20us' && found "$(qos 4)" 20 || return 1
	echo 50 >"$(qos 5)"
	await 'CPU 5: pm_qos_resume_latency_us 50us -> 20us' && found "$(qos 5)" 20 || return 1
	echo 0 >"$(disable 6)"
	await 'CPU 6: state2/disable 0 -> 1' && found "$(disable 6)" 1 || return 1
	# What they asked for last is what they get back.
	stop && found "$(qos 4)" 0 && found "$(qos 5)" 50 && found "$(disable 6)" 0
}

looser_yield()
{
	begin yield || return 1
	echo 0 >"$(qos 4)"
	await 'CPU 4: somebody set pm_qos.* yielding until the next reload' || return 1
	echo 50 >"$(qos 5)"
	await 'CPU 5: somebody set' && found "$(qos 4)" 0 && found "$(qos 5)" 50 || return 1
	! logged '^DEGRADED' >/dev/null || return 1
	kill -HUP "$pid"
	await 'reload done' && found "$(qos 4)" 20 && found "$(qos 5)" 20 || return 1
	stop && found "$(qos 4)" 0 && found "$(qos 5)" 50 && found "$(qos 6)" 0
}

looser_alert()
{
	begin alert || return 1
	echo 0 >"$(qos 4)"
	await 'CPU 4: somebody set pm_qos.* left standing' && await '^DEGRADED' && found "$(qos 4)" 0 || return 1
	# Who relents ends it.
	echo 10 >"$(qos 4)"
	await '^ACTIVE' && found "$(qos 4)" 10 && stop && found "$(qos 4)" 10 && found "$(qos 5)" 0
}

stricter_is_kept()
{
	begin "$1" || return 1
	echo 3 >"$(qos 4)"
	await 'CPU 4: somebody set pm_qos.* from 20us to 3us; taken as' || return 1
	echo n/a >"$(qos 5)"
	await 'CPU 5: somebody set pm_qos.* from 20us to 0; taken as' || return 1
	kill -HUP "$pid"
	await 'reload done, no change' && found "$(qos 4)" 3 && found "$(qos 5)" n/a || return 1
	stop && found "$(qos 4)" 3 && found "$(qos 5)" n/a && found "$(qos 6)" 0
}

# CPU 1 is held at 5 by others: when they let go our limit is set, whatever the answer to overwriting is.
others_let_go()
{
	begin "$1" || return 1
	echo 0 >"$(qos 1)"
	await 'CPU 1: pm_qos_resume_latency_us none -> 20us' && found "$(qos 1)" 20 && stop && found "$(qos 1)" 0
}

# A scheduler that takes "n/a" for 0 and writes it back as "no limit" (sched_ext's layered scheduler does).
scheduler_writes_none_over_zero()
{
	begin zero-reassert || return 1
	found "$(qos 4)" n/a || return 1
	for cpu in 3 4 5; do
		echo 0 >"$(qos $cpu)"
	done
	# In one look or in several, as the machine has time.
	while [ "$(cat "$(qos 3)" "$(qos 4)" "$(qos 5)" | grep -c n/a)" != 3 ]; do
		await 'pm_qos_resume_latency_us none -> 0' || return 1
	done
	stop && found "$(qos 4)" 0
}

# Telling our own writes apart reads the events of others with them; here one comes while the answer to another
# is on its way.
while_answering()
{
	begin reassert || return 1
	strace -qq -o /dev/null -p "$pid" -e trace=renameat -e inject=renameat:delay_enter=200000 &
	tracer=$!
	until grep -q "^TracerPid:	$tracer\$" "/proc/$pid/status"; do
		kill -0 "$tracer" || return 1
	done
	echo 0 >"$(qos 4)"
	await 'CPU 4: somebody set' || return 1
	echo 0 >"$(qos 5)"
	# seen before the answer is planned, or after it
	await 'CPUs? (4-)?5: pm_qos_resume_latency_us none -> 20us' || return 1
	found "$(qos 4)" 20 && found "$(qos 5)" 20 || return 1
	kill -INT "$tracer"
	wait "$tracer"
	stop && found "$(qos 4)" 0 && found "$(qos 5)" 0
}

insisting()
{
	local i
	begin reassert || return 1
	for ((i = 0; i < 10; i++)); do
		echo 0 >"$(qos 4)"
		await 'CPU 4: pm_qos_resume_latency_us none -> 20us' || return 1
	done
	echo 0 >"$(qos 4)"
	await 'CPU 4: somebody set pm_qos.* set too often' && await '^DEGRADED' && found "$(qos 4)" 0 && found "$(qos 5)" 20 || return 1
	stop && found "$(qos 5)" 0
}

while_dead()
{
	begin reassert || return 1
	kill -KILL "$pid"
	drain
	wait "$pid"
	pid=
	echo 0 >"$(qos 4)"
	echo 2 >"$(qos 5)"
	echo 70 >"$(qos 6)"
	start --root "$T/tree" --policy "$T/reassert.conf" || return 1
	found "$(qos 4)" 20 && found "$(qos 5)" 2 && found "$(qos 6)" 20 || return 1
	stop && found "$(qos 4)" 0 && found "$(qos 5)" 2 && found "$(qos 6)" 70 && found "$(qos 3)" 100
}

umwait_file()
{
	echo "$T/tree/sys/devices/system/cpu/umwait_control/$1"
}

# The files of umwait_control: set, answered like any other, put back to what others want.
umwait_answers()
{
	policy umwait '[Daemon]' 'DefaultProfile=p' "OnForeignWrite=$1" 'UmwaitMaxTime=0' 'UmwaitC02=off' '[Profile p]'
	tree dnv0
	umwait
	start --root "$T/tree" --policy "$T/umwait.conf" || { cat "$T/log"; return 1; }
	logged 'umwait_control/max_time 100000 -> 0' && logged 'umwait_control/enable_c02 1 -> 0' || return 1
	found "$(umwait_file max_time)" 0 && found "$(umwait_file enable_c02)" 0 || return 1
	echo 5000 >"$(umwait_file max_time)"
	if [ "$1" = reassert ]; then
		await 'umwait_control/max_time 5000 -> 0' && found "$(umwait_file max_time)" 0 || return 1
	else
		await 'somebody set umwait_control/max_time from 0 to 5000; looser' && found "$(umwait_file max_time)" 5000 || return 1
	fi
	stop && found "$(umwait_file max_time)" 5000 && found "$(umwait_file enable_c02)" 1
}

haltpoll_file()
{
	echo "$T/tree/sys/module/haltpoll/parameters/guest_halt_poll_ns"
}

# That of the kernel's governor haltpoll: the same.
haltpoll_answers()
{
	policy haltpoll '[Daemon]' 'DefaultProfile=p' "OnForeignWrite=$1" '[Profile p]' 'HaltPoll=70us'
	tree dnv0
	haltpoll
	start --root "$T/tree" --policy "$T/haltpoll.conf" || { cat "$T/log"; return 1; }
	logged 'haltpoll/guest_halt_poll_ns 200000 -> 70000' && found "$(haltpoll_file)" 70000 || return 1
	echo 5000 >"$(haltpoll_file)"
	if [ "$1" = reassert ]; then
		await 'haltpoll/guest_halt_poll_ns 5000 -> 70000' && found "$(haltpoll_file)" 70000 || return 1
	else
		await 'somebody set haltpoll/guest_halt_poll_ns from 70000 to 5000' && found "$(haltpoll_file)" 5000 || return 1
	fi
	stop && found "$(haltpoll_file)" 5000
}

# The file replaced by another of its name, as an editor does: still watched.
replaced()
{
	begin reassert || return 1
	echo 0 >"$T/new"
	mv "$T/new" "$(qos 4)"
	await 'CPU 4: pm_qos_resume_latency_us none -> 20us' || return 1
	echo 30 >"$(qos 4)"
	await 'CPU 4: pm_qos_resume_latency_us 30us -> 20us' && stop && found "$(qos 4)" 30
}

# A change that makes no event (a mapped page) is found by verify, reported, and answered as if there had been one.
found_by_verify()
{
	local status=0
	bus='' begin reassert || return 1
	python3 -c 'import mmap, sys; f = open(sys.argv[1], "r+b"); m = mmap.mmap(f.fileno(), 0); m[0:2] = b"99"; m.flush()' "$(qos 4)"
	found "$(qos 4)" 99 || return 1
	"$build/bin/cpuidlectl" --socket "$T/tree/run/cpuidled/bus" verify --interval 0 >"$T/verify" || status=$?
	cat "$T/verify"
	[ $status = 3 ] && grep -q '99us' "$T/verify" || return 1
	await 'CPU 4: pm_qos_resume_latency_us 99us -> 20us' && found "$(qos 4)" 20 || return 1
	"$build/bin/cpuidlectl" --socket "$T/tree/run/cpuidled/bus" verify --interval 0 && stop && found "$(qos 4)" 99
}

host_answers()
{
	local file=$host_cpus/cpu0/power/pm_qos_resume_latency_us
	host_state >"$T/host"
	start --policy "$T/zero-reassert.conf" || return 1
	found $file n/a || return 1
	echo 0 >$file
	await 'CPU 0: pm_qos_resume_latency_us none -> 0' && found $file n/a || return 1
	stop && host_state | diff "$T/host" -
}

host_global()
{
	policy global '[Daemon]' 'DefaultProfile=p' 'GlobalLatencyLimit=40us' '[Profile p]'
	effective() { od -An -td4 -N4 /dev/cpu_dma_latency | tr -d ' '; }
	start --policy "$T/global.conf" || return 1
	[ "$(effective)" = 40 ] || return 1
	# A stricter one of somebody else counts while he holds it, a looser one does not.
	exec {other}<>/dev/cpu_dma_latency
	printf '\013\000\000\000' >&"$other"
	await 'others now hold 11us on cpu_dma_latency' && [ "$(effective)" = 11 ] || return 1
	exec {other}>&-
	await 'others now hold none on cpu_dma_latency' && [ "$(effective)" = 40 ] || return 1
	exec {other}<>/dev/cpu_dma_latency
	printf '\144\000\000\000' >&"$other"
	[ "$(effective)" = 40 ] || return 1
	exec {other}>&-
	sed -i 's/40us/400ns/' "$T/global.conf"
	kill -HUP "$pid"
	await 'reload done' && [ "$(effective)" = 0 ] || return 1
	stop && [ "$(effective)" = 2000000000 ] || return 1
	sed -i 's/400ns/90us/' "$T/global.conf"
	start --policy "$T/global.conf" && [ "$(effective)" = 90 ] || return 1
	kill -KILL "$pid"
	drain
	wait "$pid"
	pid=
	# The kernel forgets a dead holder.
	[ "$(effective)" = 2000000000 ] && "$daemon" --restore
}

host_without_capabilities()
{
	host_state >"$T/host"
	policy caps '[Daemon]' 'DefaultProfile=p' 'GlobalLatencyLimit=40us' '[Profile p]' 'LatencyLimit=20us'
	wrap='setpriv --bounding-set=-all --inh-caps=-all --no-new-privs' start --policy "$T/caps.conf" || { cat "$T/log"; return 1; }
	grep -q '^CapEff:	0*$' "/proc/$pid/status" && found $host_cpus/cpu1/power/pm_qos_resume_latency_us 20 || return 1
	stop && host_state | diff "$T/host" -
}

check "B3-17: looser value, reassert" looser_reassert
check "looser value, yield" looser_yield
check "B3-25: looser value, alert" looser_alert
check "umwait_control: theirs, ours again" umwait_answers reassert
check "umwait_control: theirs stays" umwait_answers yield
check "guest_halt_poll_ns: theirs, ours again" haltpoll_answers reassert
check "guest_halt_poll_ns: theirs stays" haltpoll_answers yield
for answer in yield reassert alert; do
	check "stricter value is kept, $answer" stricter_is_kept $answer
	check "others let go, $answer" others_let_go $answer
done
check "B3-17: 0 written over our zero" scheduler_writes_none_over_zero
if can_trace; then
	check "written while another is answered" while_answering
else
	skip "written while another is answered" "$why"
fi
check "insisting is left alone after ten times" insisting
check "B3-16: written while we were dead" while_dead
check "file replaced" replaced
check "B3-31: change without an event, found by verify" found_by_verify
if host_wanted; then
	check "this machine: 0 over our zero is answered" host_answers
	check "B2(c), this machine: cpu_dma_latency" host_global
	check "this machine: no capability is needed" host_without_capabilities
else
	skip "this machine: foreign writes, cpu_dma_latency, capabilities" "$why"
fi
finish
