#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# C0.1 and C0.2, by the instructions themselves. The emulator ends UMWAIT at umwait_control's limit as
# at a deadline (CF stays 0), so the limit is taken away: on silicon the wait is taken up again.
#
# guests: bochs-spr-6.12 bochs-spr2-6.1 bochs-skx-6.1 bochs-acpi-6.1 bochs-none-6.1
# more: bochs-spr-6.1 bochs-spr2-6.12 qemu-acpi-6.1
# debug: bochs-spr-debug
# needs: module kmodctl
# seconds: 900
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh
limit=/sys/devices/system/cpu/umwait_control/max_time
[ ! -e $limit ] || echo 0 >$limit
insmod /cpuidle_policy.ko
/kmodctl c0 | sed '/^1\.\./d' | tee /tmp/tap
count=$(grep -c '^\(not \)*ok' /tmp/tap)

names()
{
	cat /sys/devices/system/cpu/cpu0/cpuidle/state*/name 2>/dev/null | tr '\n' ' '
}

# the module goes while its state is there and in use
if grep -q 'state1 is C0.2' /tmp/tap; then
	# the own driver may still be there for the killed owner's grace, and goes with the module
	own=
	before=
	case $(cat /sys/devices/system/cpu/cpuidle/current_driver) in
	none | cpuidle_policy) own="own=1 " ;;
	*) before=$(names) ;;
	esac
	/kmodctl hold "${own}cpus=0 row=2 poll=2 off=2" </dev/null >/tmp/held &
	holder=$!
	tries=0
	until grep -q ready /tmp/held || [ $tries = 20 ]; do
		tries=$((tries + 1))
		usleep 100000
	done
	case " $(names)" in *" C0.2 "*) true ;; *) false ;; esac
	say $? "there is a state C0.2: $(names)"
	rmmod cpuidle_policy
	say $? "rmmod with it in use"
	[ "$(names)" = "$before" ]
	say $? "the states are what they were: $(names)"
	kill -9 $holder
else
	rmmod cpuidle_policy
	say $? "rmmod"
fi
echo "1..$count"
