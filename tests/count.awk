# SPDX-License-Identifier: GPL-2.0-or-later
#
# Counts single cases in a log: TAP as it is, or ctest's LastTest.log, whose tests speak Check, TAP,
# or only an exit status (one case then). Prints "PASSED FAILED SKIPPED".
#
#   -v status=N      exit status of what wrote the log
#   -v details=FILE  gets one line for each failure and each distinct reason to skip
#
# What is told twice is not counted twice; what fails without saying so is one failure more.

function fail(text)
{
	failed++
	here_bad++
	if (!(text in told)) {
		told[text]
		print "FAILED: " text > details
	}
}

function skip(text)
{
	skipped++
	here++
	if (!(text in told)) {
		told[text]
		print "skipped: " text > details
	}
}

# Ends one TAP stream or one ctest test.
function finish()
{
	for (; unnamed > 0; unnamed--)
		fail(name ": a failed case without a name")
	if (plan >= 0 && plan > seen)
		fail(name ": " (plan - seen) " of " plan " cases did not run")
	here = here_bad = seen = 0
	plan = -1
}

BEGIN {
	passed = failed = skipped = 0
	plan = -1
	printf "" > details
}

{
	sub(/\r$/, "")
}

/^[0-9]+\/[0-9]+ Test: / {
	finish()
	name = $0
	sub(/^[^:]*: /, "", name)
	ctest = 1
	next
}

/^# tests\/check-/ {
	finish()
	name = $2
}

/^ok([ \t]|$)/ {
	seen++
	if ($0 ~ /# *[Ss][Kk][Ii][Pp]/) {
		sub(/^ok *[0-9]* *-? */, "")
		sub(/ *# *[Ss][Kk][Ii][Pp] */, ": ")
		skip($0)
	} else {
		passed++
		here++
	}
	next
}

/^not ok/ {
	seen++
	sub(/^not ok *[0-9]* *-? */, "")
	fail((name == "" ? "" : name ": ") $0)
	explain = 12
	next
}

# Why it failed, as far as the test says so.
explain > 0 && /^#/ {
	explain--
	print "        " $0 > details
	next
}

{
	explain = 0
}

/^1\.\.[0-9]+/ {
	split($1, bounds, /\.\./)
	plan = bounds[2] + 0
	if (plan == 0 && $0 ~ /[Ss][Kk][Ii][Pp]/)
		skip(name ": " $0)
	next
}

# Check: "83%: Checks: 12, Failures: 1, Errors: 1"
/^[0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+/ {
	gsub(/,/, "")
	passed += $3 - $5 - $7
	here += $3 - $5 - $7
	unnamed = $5 + $7
	next
}

# Check names its failures below that: "test-x.c:12:F:case:test:0: text"
unnamed > 0 && /^[^ :]+:[0-9]+:[FE]:/ {
	unnamed--
	fail(name ": " $0)
	next
}

# For suites that cannot say it in another way.
/^# SKIP / {
	sub(/^# SKIP /, "")
	skip(name ": " $0)
	next
}

/^Test (Passed|Failed|Skipped)/ || /^Test Not Run/ {
	if (!ctest)
		next
	if ($2 ~ /^Passed/ && here == 0 && here_bad == 0) {
		passed++
	} else if ($2 ~ /^Skipped/ && here == 0) {
		skip(name)
	} else if (($2 ~ /^Failed/ || $2 ~ /^Not/) && here_bad == 0) {
		fail(name ": ended badly")
	}
	finish()
	name = ""
}

END {
	finish()
	if (status != 0 && failed == 0)
		fail("exit status " status " without a failed case")
	print passed, failed, skipped
}
