#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The table of verbs in cli/main.c is the truth: help, manual, schemas and completions have to agree with it.
set -u
# shellcheck source-path=SCRIPTDIR source=buslib.sh
. "$(dirname "$0")/buslib.sh"

verbs=$(ctl --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z-]*\) .*/\1/p' | sort)
options=$(ctl --help | sed -n '/^Options:/,/^$/p' | grep -oE -- '--[a-z]+' | sort -u)
letters=$(ctl --help | sed -n '/^Options:/,/^$/s/^  \(-[a-zA-Z]\), .*/\1/p' | sort)
options_of()
{
	ctl "$1" --help | sed -n '/^Options:/,$p' | grep -oE -- '^ +(-[a-zA-Z], )?--[a-z]+' | grep -oE -- '--[a-z]+' | sort -u
}
same()
{
	diff <(printf '%s\n' "$1") <(printf '%s\n' "$2")
}
plain_man=$(sed 's/\\-/-/g; s/\\ / /g' "$top/man/cpuidlectl.1")

check "there are verbs" test "$(wc -w <<<"$verbs")" -ge 10
check "manual: verbs" same "$verbs" "$(sed -n '/^\.SH VERBS/,/^\.SH OPTIONS/p' <<<"$plain_man" | sed -n '/^\.TP/{n;s/^\.BI\{0,1\} \([a-z-]*\).*/\1/p}' | sort)"
check "manual: options" same "$options" "$(sed -n '/^\.SH OPTIONS/,/^\.SH EXIT/p' <<<"$plain_man" | sed -n '/^\.TP/{n;p}' | grep -oE -- '--[a-z]+' | sort)"
check "manual: exit statuses 0 to 4" same "0 1 2 3 4" "$(sed -n '/^\.SH EXIT/,/^\.SH JSON/p' <<<"$plain_man" | sed -n 's/^\.B \([0-9]\)$/\1/p' | xargs)"
check "manual: mandoc has nothing to say" same "" "$(mandoc -T lint -W warning "$top/man/cpuidlectl.1")"
check "a schema for each verb, and no other" same "$verbs" "$(basename -s .json "$top"/etc/schemas/*.json | sort)"
for verb in $verbs; do
	check "help of $verb names it" says 0 "Usage: cpuidlectl $verb" ctl "$verb" --help
	check "schema of $verb has its own name" grep -q "cpuidled/$verb/1" "$top/etc/schemas/$verb.json"
done

# ---- keys of set, by what the shipped configuration lists ----
keys_of()
{
	sed -n "/^#*\\[$1/,/^#*\\[[^$1]/p" "$top/etc/cpuidled.conf" | sed -n 's/^#\([A-Za-z0-9]*\)=.*/\1=/p' | sort -u
}
daemon_keys=$(keys_of Daemon)
cpu_keys=$( (keys_of Profile; keys_of Group | grep -v '^CPUs=') | sort -u)
check "there are keys" test "$(wc -w <<<"$cpu_keys")" -ge 10

# ---- bash ----
# bash_complete WORD ...: what comes up for the last word.
bash_complete()
{
	# shellcheck disable=SC2016 # for the inner shell
	bash -c '
		. "$1" && shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_cpuidlectl
		[ ${#COMPREPLY[@]} = 0 ] || printf "%s\n" "${COMPREPLY[@]}"
	' bash "$top/cli/completion/cpuidlectl.bash" "$@" | sort -u
}
check "bash: verbs" same "$verbs" "$(bash_complete cpuidlectl "")"
check "bash: a beginning" same "show
simulate
status" "$(bash_complete cpuidlectl s | grep -v '^set$')"
check "bash: options" same "$options" "$(bash_complete cpuidlectl --)"
for verb in $verbs; do
	check "bash: options of $verb" same "$(options_of "$verb")" "$(bash_complete cpuidlectl "$verb" --)"
done
check "bash: keys of [Daemon]" same "$daemon_keys" "$(bash_complete cpuidlectl set "")"
check "bash: keys for CPUs" same "$cpu_keys" "$(bash_complete cpuidlectl set --cpus 0 "")"
check "bash: an option's value is no verb" same "" "$(bash_complete cpuidlectl --socket nothing-here)"

# ---- zsh: its completion needs a terminal; the words are read, and the syntax is judged where zsh is ----
z=$top/cli/completion/_cpuidlectl
check "zsh: verbs" same "$verbs" "$(sed -n "/verbs=(/,/^\t)/s/^\t\t'\([a-z-]*\):.*/\1/p" "$z" | sort)"
check "zsh: options" same "$options" "$(grep -oE -- '--[a-z]+' "$z" | sort -u)"
# The branch of "case $verb" for a verb: its own options, and those of the arrays it names.
zsh_options()
{
	local branch
	# shellcheck disable=SC2016 # a pattern
	branch=$(sed -n '/^\tcase $verb in/,/^\tesac/p' "$z" | awk -v verb="$1" '
		/^\t[a-z|-]+\)/ { split($1, names, /[|)]/); on = 0; for (i in names) if (names[i] == verb) on = 1 }
		on
		/;;/ { on = 0 }')
	{
		grep -oE -- "'--[a-z]+" <<<"$branch" | tr -d "'"
		for array in common daemon; do
			grep -q "\$$array" <<<"$branch" &&
				sed -n "/^\t$array=(/,/^\t)/p" "$z" | grep -oE -- '--[a-z]+'
		done
	} | sort -u
}
for verb in $verbs; do
	check "zsh: options of $verb" same "$(options_of "$verb")" "$(zsh_options "$verb")"
done
check "zsh: keys for CPUs" same "$cpu_keys" "$(sed -n '/words\[(I)--cpus\]/,/else/p' "$z" | grep -oE '[A-Z][A-Za-z0-9]*=' | sort -u)"
check "zsh: keys of [Daemon]" same "$daemon_keys" "$(sed -n '/^\t\t\telse/,/fi/p' "$z" | grep -oE '[A-Z][A-Za-z0-9]*=' | sort -u)"
if command -v zsh >/dev/null; then
	check "zsh: syntax" zsh -n "$z"
else
	skip "zsh: syntax" "zsh is not installed"
fi

# ---- fish ----
f=$top/cli/completion/cpuidlectl.fish
check "fish: verbs" same "$verbs" "$(sed -n 's/^set -l verbs //p' "$f" | tr ' ' '\n' | sort)"
check "fish: a line for each verb" same "$verbs" "$(sed -n 's/.*seen_subcommand_from \$verbs" -a \([a-z-]*\) .*/\1/p' "$f" | sort)"
check "fish: options" same "$options" "$(grep -oE -- ' -l [a-z]+' "$f" | grep -vE 'verbs|daemon|files' | sed 's/ -l /--/' | sort -u)"
check "fish: letters" same "$letters" "$(grep -oE -- ' -s [a-zA-Z] -l' "$f" | sed 's/ -s \(.\) -l/-\1/' | sort)"
if command -v fish >/dev/null; then
	fish_complete()
	{
		HOME=$T XDG_CONFIG_HOME=$T XDG_DATA_HOME=$T fish --no-config -c "source $f; complete -C '$1'" 2>&1 | cut -f1 | sort -u
	}
	check "fish: verbs come up" same "$verbs" "$(fish_complete 'cpuidlectl ')"
	for verb in $verbs; do
		check "fish: options of $verb" same "$(options_of "$verb")" "$(fish_complete "cpuidlectl $verb --")"
	done
	check "fish: keys of [Daemon]" same "$daemon_keys" "$(fish_complete 'cpuidlectl set ' | grep '=')"
	check "fish: keys for CPUs" same "$cpu_keys" "$(fish_complete 'cpuidlectl set --cpus 0 ' | grep '=')"
else
	skip "fish: what comes up" "fish is not installed"
fi
finish
