#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# HaltPoll= and IoPort= as a policy asks for them: polling before a halt by the module's own driver, and gone
# when the daemon is killed; a SystemIO state entered by its port alone, or left to a kernel that does not need it.
#
# guests: qemu-none-6.1 qemu-ioport-intel-6.1 qemu-ioport-amd-6.1
# needs: module kmodctl daemon
# seconds: 600
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh

kept()
{
	/kmodctl config
}

# stat NAME: one of the module's counters, of all CPUs
stat()
{
	/kmodctl stats | sed -n "s/.* $1 \([0-9]*\).*/\1/p" | awk '{ n += $1 } END { print n + 0 }'
}

# moves NAME COMMAND...: does that counter while it runs?
moves()
{
	name=$1
	shift
	before=$(stat "$name")
	"$@"
	[ "$(stat "$name")" -gt "$before" ] && echo yes || echo no
}

# CPUIDLE_POLICY_F_DUMMY_WAIT
dummy_wait()
{
	features=$(/kmodctl caps | sed -n 's/.*features \(0x[0-9a-f]*\).*/\1/p')
	echo $((features >> 13 & 1))
}

# Two processes that wait for each other, and so wake each other from short waits.
ping_pong()
{
	mkfifo /run/there /run/back
	(
		exec 3</run/there 4>/run/back
		while read -r x <&3; do echo "$x" >&4; done
	) &
	(
		exec 3>/run/there 4</run/back
		n=0
		while [ $n -lt 500 ]; do
			echo x >&3
			read -r x <&4
			n=$((n + 1))
		done
	)
	wait $!
	rm /run/there /run/back
}

hits_come()
{
	[ "$(moves hits ping_pong)" = yes ]
}

insmod /cpuidle_policy.ko
case $CPUIDLED_GUEST in
qemu-none-*)
	policy all HaltPoll=auto
	start
	is "haltpoll brings the module's own driver" "$(cat $cpu/cpuidle/current_driver)" cpuidle_policy
	has "200us, on every CPU" "$(kept)" "haltpoll 200000"
	has "explain tells" "$(cpuidlectl explain 0)" "polls before it halts, up to 200us"
	has "the plan as well" "$(cpuidlectl plan --json --cpus 0)" '"effective": "200us"'
	# on a busy machine the first rounds may all be longer than the limit
	until_true hits_come
	is "waits are polled through" $? 0
	is "and the governor's polls are entries of POLL" \
		"$([ "$(cat $cpu/cpu0/cpuidle/state0/usage)" -gt 0 ] && echo yes)" yes
	cpuidlectl verify >/run/verify
	is "verify finds no difference" $? 0
	policy all HaltPoll=50us
	reload
	has "a time that is named" "$(kept)" "haltpoll 50000"
	kill -9 "$pid"
	until_true gone
	has "killed: gone at once" "$(kept)" "haltpoll 0"
	is "no poll any more" "$(moves hits ping_pong)" no
	start
	has "a successor brings it again" "$(kept)" "haltpoll 50000"
	kill "$pid"
	until_true gone
	is "stopped: no driver, as before" "$(cat $cpu/cpuidle/current_driver)" none
	;;
qemu-ioport-intel-*)
	policy all IoPort=auto
	start
	has "auto is for Zen" "$(kept)" "ioport 0"
	is "the module has measured the dummy read" "$(dummy_wait)" 1
	policy all IoPort=direct
	reload
	has "direct: by the port alone" "$(kept)" "ioport 1"
	has "explain tells" "$(cpuidlectl explain 0)" "enters C2 by the port alone"
	is "entries go that way" "$(moves ioports sleep 2)" yes
	cpuidlectl verify >/run/verify
	is "verify finds no difference" $? 0
	kill "$pid"
	until_true gone
	is "stopped: the kernel's own way" "$(moves ioports sleep 1)" no
	;;
qemu-ioport-amd-*)
	policy all IoPort=auto
	has "without the module nobody knows" "$(cpuidlectl explain 0 --root /)" \
		"only cpuidle_policy.ko can tell whether this kernel has the dummy read"
	start
	is "the module has measured that there is none" "$(dummy_wait)" 0
	has "auto: left to the kernel" "$(kept)" "ioport 0"
	has "explain says that nothing is needed" "$(cpuidlectl explain 0)" \
		"nothing is needed: this kernel enters the state without the dummy read"
	has "the plan as well" "$(cpuidlectl plan --json)" "nothing is needed"
	policy all IoPort=direct
	reload
	has "direct is done all the same" "$(kept)" "ioport 1"
	is "entries go that way" "$(moves ioports sleep 2)" yes
	policy all HaltPoll=auto
	reload
	has "no guest, it says of itself: no polling" "$(kept)" "haltpoll 0"
	kill "$pid"
	until_true gone
	;;
esac
has "stopped: the driver's table is put back" "$(/kmodctl caps)" "attached 0"
rmmod cpuidle_policy
is "the module can go" $? 0
sed 's/^/# log: /' $log | tail -n 30
echo "1..$count"
