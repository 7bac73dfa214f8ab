#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The unit under a real systemd, against the kernel's real files: it starts, is reloaded, refuses a bad
# policy, is killed, is watched, is stopped; and each time the host gets back what it had. Workloads are
# followed on systemd's own units, through the kernel's own cpusets.
#
# guests: qemu-systemd-6.1
# more: qemu-systemd-6.12
# needs: daemon
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh

notes()
{
	journalctl -u cpuidled -n 6 -o cat --no-pager | sed 's/^/# journal: /'
}

unit=cpuidled.service
drop=/etc/cpuidled/cpuidled.conf.d

quote()
{
	sed 's/^/#   /'
}

# works NAME COMMAND ..., fails NAME COMMAND ...
works()
{
	local name=$1 said status=0
	shift
	said=$("$@" 2>&1) || status=$?
	is "$name" "$status" 0
	[ "$status" = 0 ] || quote <<<"$said"
}

fails()
{
	local name=$1 said status=0
	shift
	said=$("$@" 2>&1) || status=1
	is "$name" "$status" 1
	quote <<<"$said"
}

# the global request of all together, in microseconds
dma_latency()
{
	od -An -td4 -N4 /dev/cpu_dma_latency | tr -d ' '
}

policy()
{
	mkdir -p "$drop"
	cat >"$drop/50-guest.conf" <<-END
		[Daemon]
		GlobalLatencyLimit=150us
		[Profile tight]
		LatencyLimit=$1
		[Group one]
		CPUs=1
		Profile=tight
	END
}

# override LINES: a drop-in of the unit
override()
{
	mkdir -p "/run/systemd/system/$unit.d"
	printf '[Service]\n%s\n' "$1" >"/run/systemd/system/$unit.d/test.conf"
	systemctl daemon-reload
}

# what others had set before: ours must be stricter beside it, and it must come back
host_is_as_before()
{
	is "CPU 0's own limit is back $1" "$(qos 0)" 0
	is "CPU 1's own limit is back $1" "$(qos 1)" 200
	is "the global limit is gone $1" "$(dma_latency)" 2000000000
}

dead()
{
	case $(prop ActiveState) in inactive | failed) return 0 ;; *) return 1 ;; esac
}

# becomes WHAT CPU0 CPU1: the limits of both CPUs, within a while
becomes()
{
	local i
	for ((i = 0; i < 300; i++)); do
		[ "$(qos 0) $(qos 1)" != "$2 $3" ] || break
		sleep 0.1
	done
	is "$1" "$(qos 0) $(qos 1)" "$2 $3"
}

workloads()
{
	local id=4c01db0b339c9a3b7b0c1ffd2a8e3b2b1c1d6a5f4e3d2c1b0a9f8e7d6c5b4a39 db='db-main\x2done.service'
	cat >"$drop/60-workload.conf" <<-END
		[Profile quick]
		LatencyLimit=2us
		[Profile calm]
		LatencyLimit=40us
		[Workload database]
		Unit=$db
		Profile=quick
		[Workload batch]
		Slice=batch.slice
		Profile=calm
		[Workload box]
		Container=${id:0:12}
		Profile=quick
	END
	works "workloads: the policy is taken" cpuidlectl reload
	becomes "workloads: none lives" 0 5
	works "a service with AllowedCPUs=0" systemd-run --quiet --unit="$db" -p AllowedCPUs=0 sleep 3000
	becomes "it is followed" 2 5
	is "explain tells it" "$(cpuidlectl explain 0 | grep -o 'which is /.*service')" "which is /system.slice/$db"
	is "status tells it" "$(cpuidlectl status | sed -n 's/ *Workloads: //p')" "1 of 3 live: database on 0"
	works "AllowedCPUs=1 while it runs" systemctl set-property --runtime "$db" AllowedCPUs=1
	becomes "it is followed there" 0 2
	works "a slice beside it" systemd-run --quiet --unit=job --slice=batch.slice sleep 3000
	works "with AllowedCPUs=0-1" systemctl set-property --runtime batch.slice AllowedCPUs=0-1
	becomes "the strictest limit where both are" 40 2
	works "the service stops" systemctl stop "$db"
	becomes "what the slice and the group have is left" 40 5
	works "the last of the slice stops" systemctl stop job
	becomes "and it is gone" 0 5
	systemd-run --quiet --scope --unit="docker-$id" -p AllowedCPUs=0 sleep 3000 &
	becomes "a container's scope" 2 5
	systemctl stop "docker-$id.scope"
	wait
	becomes "and gone" 0 5
	rm "$drop/60-workload.conf"
	works "no workloads any more" cpuidlectl reload
}

echo 200 >/sys/devices/system/cpu/cpu1/power/pm_qos_resume_latency_us
policy 5us
override "Restart=no"

works "the unit starts" systemctl start $unit
is "it has said READY" "$(prop ActiveState)" active
is "it has a status text" "$([ -n "$(prop StatusText)" ] && echo yes)" yes
echo "# $(prop StatusText)"
is "systemd watches it" "$([ "$(prop WatchdogUSec)" != 0 ] && echo yes)" yes
is "CPU 0 is left alone" "$(qos 0)" 0
is "CPU 1 has the policy's limit" "$(qos 1)" 5
is "the global limit is held" "$(dma_latency)" 150
works "the client reads the status" cpuidlectl status
works "the client finds all as planned" cpuidlectl verify
works "the bus object can be looked at" busctl --no-pager introspect org.cpuidled1 /org/cpuidled1
fails "a user may not reload" setpriv --reuid=65534 --regid=65534 --clear-groups cpuidlectl reload

policy 3us
works "systemctl reload" systemctl reload $unit
is "it took the new limit" "$(qos 1)" 3
policy 4us
works "cpuidlectl reload" cpuidlectl reload
is "it took that one, too" "$(qos 1)" 4

policy "4 bananas"
fails "a bad policy is refused" cpuidlectl reload
is "and the unit goes on" "$(prop ActiveState)" active
is "with the old limit" "$(qos 1)" 4
policy 5us
works "a good one is taken again" cpuidlectl reload
is "and its limit" "$(qos 1)" 5

workloads

works "the unit stops" systemctl stop $unit
is "without a failure" "$(prop Result)" success
host_is_as_before "after stop"

systemctl start $unit
is "started again" "$(qos 1)" 5
systemctl kill --kill-whom=main --signal=KILL $unit
works "killed with SIGKILL, it is down" until_true dead
host_is_as_before "after SIGKILL"
systemctl reset-failed $unit

override "WatchdogSec=20s"$'\n'"Restart=no"
systemctl start $unit
is "started with a short watchdog" "$(qos 1)" 5
kill -STOP "$(prop MainPID)"
works "stopped in its tracks, it is taken down" until_true dead
is "by the watchdog" "$(prop Result)" watchdog
host_is_as_before "after the watchdog"
systemctl reset-failed $unit

rm -r "/run/systemd/system/$unit.d"
systemctl daemon-reload
systemctl start $unit
pid=$(prop MainPID)
systemctl kill --kill-whom=main --signal=KILL $unit
works "as shipped, it is restarted after SIGKILL" until_true back_with_other_pid "$pid"
is "and the limit holds again" "$(qos 1)" 5
works "stopped for good" systemctl stop $unit
host_is_as_before "in the end"

systemctl start $unit
holder=$(systemd-run -q --wait --pipe --unit=holder cpuidlectl hold --latency 3us --cpus 1 --reason mine -- \
	cpuidlectl list-holds)
case $holder in
*"CPUs 1: 3us; cpuidlectl (pid "*", uid 0, holder.service) since "*": mine") is "a hold of a service: its owner" ok ok ;;
*) is "a hold of a service: its owner" "$holder" "1: CPUs 1: 3us; cpuidlectl (pid N, uid 0, holder.service) ..." ;;
esac
is "gone with it" "$(qos 1)" 5
systemctl stop $unit

works "systemd calls the sandbox tight (2.0 at most)" \
	systemd-analyze security --no-pager --threshold=20 $unit
journalctl --no-pager -o cat -u $unit | tail -n 20 | sed 's/^/# /'
echo "1..$count"
echo "# guest done"
