# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# For the shell tests: cases in TAP, a temporary folder $T, and the tree's own folder $top.
#
#   check NAME COMMAND ...   one case; the command's output is shown when it fails
#   refuse NAME COMMAND ...  the same, where the command has to fail
#   skip NAME REASON         a case that cannot run here, and what was missing
#   finish                   last line of each script

# shellcheck disable=SC2034 # used by the scripts
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
T=$(mktemp -d "${TMPDIR:-/tmp}/cpuidled-check.XXXXXX")
trap 'rm -rf "$T"' EXIT
tap_n=0
tap_bad=0

tap_result()
{
	tap_n=$((tap_n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tap_n - $2"
	else
		tap_bad=$((tap_bad + 1))
		echo "not ok $tap_n - $2"
		head -n 40 "$T/.output" | sed 's/^/#   /'
	fi
}

check()
{
	local name=$1 status=0
	shift
	("$@") >"$T/.output" 2>&1 </dev/null || status=$?
	tap_result "$status" "$name"
}

refuse()
{
	local name=$1 status=0
	shift
	("$@") >"$T/.output" 2>&1 </dev/null || status=1
	tap_result $((status == 0)) "$name"
}

skip()
{
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1 # SKIP $2"
}

finish()
{
	echo "1..$tap_n"
	[ "$tap_bad" = 0 ]
}

# The files of the tree, as git would commit them; without git, what lies there.
tree_files()
{
	local dir=$1
	if [ -e "$dir/.git" ] && command -v git >/dev/null; then
		git -c safe.directory='*' -C "$dir" ls-files --cached --others --exclude-standard "${@:2}"
	else
		(cd "$dir" && find . -type f ! -path './build*' ! -path './.git/*' | sed 's|^\./||')
	fi
}

# copy_of NAME: a copy of the tree in $T/NAME, for a check to be shown a fault in. Prints the folder.
copy_of()
{
	mkdir -p "$T/$1"
	(cd "$top" && tree_files . | tar -c -T - 2>/dev/null | tar -x -C "$T/$1")
	echo "$T/$1"
}

# Can strace be used? $why says why not.
can_trace()
{
	command -v strace >/dev/null || { why="no strace"; return 1; }
	strace -o /dev/null true 2>/dev/null || { why="ptrace is not allowed"; return 1; }
}
