#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Workloads on a recorded server with a hierarchy of control groups beside it: plain directories, whose files are
# written as the kernel and systemd would. What the CPUs' files hold after each step is said here, not computed.
set -u
# shellcheck source-path=SCRIPTDIR source=buslib.sh
. "$(dirname "$0")/buslib.sh"

make_host aml-y-2
G=$H/sys/fs/cgroup
c=("$B/bin/cpuidlectl" --socket "$H/run/cpuidled/bus")
id=4c01db0b339c9a3b7b0c1ffd2a8e3b2b1c1d6a5f4e3d2c1b0a9f8e7d6c5b4a39

# cpus VALUES: of CPUs 0 to 3, in us; 0 is no limit
cpus()
{
	local now cpu=$H/sys/devices/system/cpu/cpu file=power/pm_qos_resume_latency_us
	now=$(cat "${cpu}0/$file" "${cpu}1/$file" "${cpu}2/$file" "${cpu}3/$file" | xargs)
	[ "$now" = "$*" ] || { echo "the files hold $now, not $*"; return 1; }
}

# begin PATH CPUS: a control group with a process in it
begin()
{
	mkdir -p "$G/$1"
	printf 'populated 1\nfrozen 0\n' >"$G/$1/cgroup.events"
	echo "$2" >"$G/$1/cpuset.cpus.effective"
}
end()
{
	rm -r "${G:?}/$1"
}
said()
{
	grep -qE -- "$1" "$T/daemon.log"
}

mkdir -p "$G/system.slice" "$G/user.slice"
echo cpuset >"$G/cgroup.controllers"
echo 0-3 | tee "$G/cpuset.cpus.effective" >"$G/system.slice/cpuset.cpus.effective"
policy <<END
[Profile tight]
LatencyLimit=20us
[Profile loose]
LatencyLimit=50us
[Workload database]
Unit=db-main\\x2done.service
Profile=tight
[Workload web]
Slice=web.slice
Profile=loose
[Workload box]
Container=${id:0:12}
Profile=loose
END
start_daemon >"$T/.output" 2>&1
tap_result $? "the daemon starts"
check "nothing lives, nothing is limited" cpus 0 0 0 0
check "status says so" says 0 "Workloads: 0 of 3 live" "${c[@]}" status

begin 'system.slice/db-main\x2done.service' 1-2
check "a unit with an escaped name comes" wait_for cpus 0 20 20 0
check "the log tells it" wait_for said 'workloads: 1 of 3 live: database on 1-2'
check "status tells it" says 0 "Workloads: 1 of 3 live: database on 1-2" "${c[@]}" status
check "in JSON, too" json status "${c[@]}" status --json
check "explain tells who and why" says 0 \
	'for Unit=db-main\x2done.service, which is /system.slice/db-main\x2done.service' "${c[@]}" explain 1
check "plan tells whose limit it is" says 0 'by profile tight of workload database (20us)' "${c[@]}" plan
check "without the daemon it is the same" says 0 'by profile tight of workload database (20us)' \
	ctl plan --root "$H"
echo 2-3 >"$G/system.slice/db-main\\x2done.service/cpuset.cpus.effective"
check "it gets other CPUs" wait_for cpus 0 0 20 20

begin web.slice 0-2
check "a slice comes beside it: the strictest limit where both are" wait_for cpus 50 50 20 20
check "explain has both" says 0 "which loses to the stricter 20us" "${c[@]}" explain 2
begin "user.slice/user-1000.slice/user@1000.service/user.slice/libpod-$id.scope" 3
begin user.slice/user-1000.slice/user@1000.service/app.slice/web.slice 3
end 'system.slice/db-main\x2done.service'
check "the unit goes: what the slice and a container have is left" wait_for cpus 50 50 50 50
end "user.slice/user-1000.slice/user@1000.service/user.slice/libpod-$id.scope"
check "the container goes; somebody's own slice of that name is not meant" wait_for cpus 50 50 50 0
printf 'populated 0\nfrozen 0\n' >"$G/web.slice/cgroup.events"
check "the slice is empty" wait_for cpus 0 0 0 0
printf 'populated 1\nfrozen 0\n' >"$G/web.slice/cgroup.events"
check "and is not" wait_for cpus 50 50 50 0
rm "$G/web.slice/cpuset.cpus.effective"
printf 'populated 1\nfrozen 0\n' >"$G/web.slice/cgroup.events"
check "without a cpuset of its own it has all" wait_for cpus 50 50 50 50

printf '[Profile p]\nLatencyLimit=7us\n[Workload w]\nCgroup=/box*/a\nCPUs=all\nProfile=p\n' | policy
check "another policy: reload" status 0 "${c[@]}" reload
check "the old one's workloads are none any more" cpus 0 0 0 0
begin boxes/a 1
check "a control group by its path; CPUs=all are all" wait_for cpus 7 7 7 7
end boxes
check "and gone" wait_for cpus 0 0 0 0

quiet()
{
	local before after
	before=$(awk '/ctxt/ { n += $2 } END { print n }' "/proc/$daemon_pid/status")
	sleep 2
	after=$(awk '/ctxt/ { n += $2 } END { print n }' "/proc/$daemon_pid/status")
	[ "$before" = "$after" ] || { echo "woke up $((after - before)) times"; return 1; }
}
check "no wake-up while nothing happens" quiet
rm "$G/cgroup.controllers"
check "check says when there is no hierarchy" says 0 \
	"[Workload w] cannot be followed: there is no cgroup v2 hierarchy" ctl check --root "$H"
stop_daemon
check "the host is as before" cpus 0 0 0 0
finish
