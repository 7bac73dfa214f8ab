#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The project's suites, built for another machine, on a kernel of that machine: those that ask it for files,
# directories, watches and sockets. On the further guest all but the two on recorded servers, whose trees
# are larger than its memory, and three that go on for thousands of rounds. Those run by qemu's user mode
# (`./dev test arm64`), as do the rest, sooner.
#
# guests: qemu-arm-none-6.12
# more: qemu-arm-none-6.1
# needs: suites
# seconds: 3600
export CK_TIMEOUT_MULTIPLIER=20 CK_TAP_LOG_FILE_NAME=/tmp/tap
suites="apply crowd foreign host missing restore source sysfs tally umwait"
if [ "$CPUIDLED_GUEST" = qemu-arm-none-6.1 ]; then
	suites=$(ls /suites | sed -n '/test-\(hosts\|field\|kernel\|simulate\|transition\)/d; s/^test-//p')
fi
count=0

for suite in $suites; do
	rm -f /tmp/tap
	# not the case of thousands of CPUs: a minute of opening files
	[ "$suite" != sysfs ] || export CK_RUN_CASE=sysfs
	/suites/test-"$suite" >/tmp/said 2>&1
	status=$?
	unset CK_RUN_CASE
	# "ok 1 - FILE:TCASE:TEST: Passed"; a message may have more lines than the first, and a # in it
	sed -n "/^\(not \)*ok/{s/ok [0-9]* - [^:]*:/ok - $suite: /;s/: Passed\$//;s/#/No. /g;p}" /tmp/tap
	count=$((count + $(grep -c '^\(not \)*ok' /tmp/tap) + 1))
	if [ $status = 0 ] && grep -q '^ok' /tmp/tap && ! grep -q '^not ok' /tmp/tap; then
		echo "ok - $suite: the suite"
	else
		echo "not ok - $suite: exit status $status"
		tail -n 20 /tmp/said | sed 's/^/# /'
	fi
done
echo "1..$count"
