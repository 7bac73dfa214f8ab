#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# check-docs.sh BUILD: manual pages against the programs and the table of keys.
set -u
# shellcheck source-path=SCRIPTDIR source=tap.sh
. "$(dirname "$0")/tap.sh"
build=$(readlink -f "${1:-$top/build/gcc}")
pages=("$top"/man/*.[158])

# Keys as "Section Key": the table's own words, from the text it makes of itself.
schema_keys()
{
	sed -n 's/^#*\[\([A-Z][a-z]*\).*\]$/S \1/p; s/^# *\([A-Z][A-Za-z0-9]*\)=.*/K \1/p' \
		"$1/etc/cpuidled.conf" | awk '$1 == "S" { s = $2 } $1 == "K" { print s, $2 }' | sort -u
}

# The manual: ".SS [Profile NAME]", and below it ".TP" (or ".TQ") with ".B Key=".
manual_keys()
{
	awk '/^\.S[SH]/ { s = ""; if (match($0, /\[[A-Z][a-z]*/)) s = substr($0, RSTART + 1, RLENGTH - 1) }
		tag && s != "" && match($0, /^\.BI? [A-Z][A-Za-z0-9]*=/) {
			print s, substr($2, 1, index($2, "=") - 1) }
		{ tag = /^\.T[PQ]/ }' "$1/man/cpuidled.conf.5" | sort -u
}

same_keys()
{
	schema_keys "$1" >"$T/schema"
	manual_keys "$1" >"$T/manual"
	[ -s "$T/schema" ] && diff "$T/schema" "$T/manual"
}

lint()
{
	# Pages have no date of their own: the release's is the package's.
	! mandoc -T lint -W warning "$@" | grep -v 'missing date'
}

# verbs_in TEXT: every verb and option that the client itself lists is written of.
words_of_help()
{
	"$@" --help | grep -oE -- '--[a-z][a-z-]+' | sort -u
}

options_written()
{
	local page=$1 word status=0
	shift
	for word in $(words_of_help "$@"); do
		sed 's/\\-/-/g' "$page" | grep -qE -- "(--|Fl -|-)${word#--}" || {
			echo "$(basename "$page"): $word is not written of"
			status=1
		}
	done
	return "$status"
}

verbs()
{
	"$build/bin/cpuidlectl" --help | awk '/^Verbs:/ { on = 1; next } /^$/ { on = 0 } on { print $1 }'
}

verbs_written()
{
	local verb status=0
	[ -n "$(verbs)" ] || return 1
	for verb in $(verbs); do
		sed 's/\\-/-/g' "$1" | grep -qE "(^|[^a-z-])$verb([^a-z-]|$)" || {
			echo "$(basename "$1"): verb $verb is not written of"
			status=1
		}
	done
	return "$status"
}

# The README's own policy and what it says the plan of it is.
readme_policy()
{
	awk '/^## One policy/ { on = 1 } on && /^```/ { if (++n == 2) exit; next } n == 1' "$1" >"$T/readme.conf"
	[ -s "$T/readme.conf" ] && "$build/bin/cpuidlectl" check --strict --root "$T/gnr0" "$T/readme.conf"
}

readme_plan()
{
	awk '/^On a Xeon 6980P/ { on = 1 } on && /^```/ { if (++n == 2) exit; next } n == 1 && !/^  \.\.\.$/' "$1" >"$T/said"
	"$build/bin/cpuidlectl" plan --root "$T/gnr0" --policy "$T/readme.conf" >"$T/plan" || return 1
	[ -s "$T/said" ] && ! grep -vxF -f "$T/plan" "$T/said"
}

"$top/tests/hosts/unpack" "$top/tests/hosts/gnr0.sysfs.gz" "$T/gnr0"
check "the README's policy is a good one" readme_policy "$top/README.md"
check "its plan is as the README shows it" readme_plan "$top/README.md"
sed 's/^  3 C6    off/  3 C6    on /' "$top/README.md" >"$T/README.md"
refuse "another plan in the README is found" readme_plan "$T/README.md"

if ! command -v mandoc >/dev/null; then
	skip "manual pages" "mandoc"
	finish
	exit
fi
check "keys of the manual are those of the table" same_keys "$top"
for page in "${pages[@]}"; do
	check "mandoc has no complaint: $(basename "$page")" lint "$page"
done
check "cpuidled(8) writes of each option" options_written "$top/man/cpuidled.8" "$build/sbin/cpuidled"
check "cpuidlectl(1) writes of each option" options_written "$top/man/cpuidlectl.1" "$build/bin/cpuidlectl"
check "cpuidlectl(1) writes of each verb" verbs_written "$top/man/cpuidlectl.1"
for shell in bash zsh fish; do
	for file in "$top"/etc/completions/*"$shell"* "$top"/etc/completion/*"$shell"*; do
		[ ! -f "$file" ] || check "completion knows each verb: $(basename "$file")" verbs_written "$file"
	done
done

mkdir -p "$T/docs/man" "$T/docs/etc"
cp "$top/man/cpuidled.conf.5" "$T/docs/man/" && sed '0,/^# *LatencyLimit=/s//#NewKey=\n&/' "$top/etc/cpuidled.conf" \
	>"$T/docs/etc/cpuidled.conf"
refuse "a key without a paragraph is found" same_keys "$T/docs"
sed 's/explain/xxplain/g' "$top/man/cpuidlectl.1" >"$T/cpuidlectl.1"
refuse "a verb without a paragraph is found" verbs_written "$T/cpuidlectl.1"
printf '.Dd x\n.Dt\n.Sh\n.Xx' >"$T/bad.1"
refuse "a malformed page is found" lint "$T/bad.1"
finish
