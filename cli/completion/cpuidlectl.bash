# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Completion of cpuidlectl(1) for bash. A test holds it against 'cpuidlectl --help'.

_cpuidlectl_options()
{
	local daemon="--json --quiet --help --version --host --root --socket"
	case $1 in
	status | reload | monitor | release | list-holds) echo "$daemon" ;;
	verify) echo "$daemon --interval" ;;
	show | explain | list-profiles) echo "$daemon --policy" ;;
	plan) echo "$daemon --policy --cpus --changes" ;;
	check) echo "--json --quiet --help --version --root --policy --strict" ;;
	set) echo "$daemon --cpus --reset" ;;
	simulate) echo "--json --quiet --help --version --root --policy --trace --convert" ;;
	import) echo "--json --quiet --help --version --output" ;;
	hold) echo "$daemon --cpus --latency --profile --mode --reason --ttl" ;;
	*) echo "$daemon --policy --cpus --strict --changes --reset --latency --profile --mode --reason --ttl --trace --convert --output --interval" ;;
	esac
}

_cpuidlectl_keys()
{
	if [[ " ${COMP_WORDS[*]} " == *" --cpus "* ]]; then
		echo "Profile= Priority= LatencyLimit= C0= C0Depth= ZeroLatency= C1Interrupts= HaltPoll=" \
			"Broadcast= IoPort= DisableStates= EnableStates= Base= Description= Adapt= AdaptScope= ResidencyGuard="
	else
		echo "DefaultProfile= OnForeignWrite= GlobalLatencyLimit= UmwaitC02= UmwaitMaxTime="
	fi
}

_cpuidlectl()
{
	local verbs="status show explain plan check set list-profiles reload verify hold release list-holds simulate import monitor"
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local verb="" i
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-H | --host | --root | --socket | --policy | --cpus | --latency | --profile | --mode | --reason | --ttl | --trace | --convert | --output | --interval) ((i++)) ;;
		-*) ;;
		*)
			verb=${COMP_WORDS[i]}
			break
			;;
		esac
	done
	case $prev in
	--root) mapfile -t COMPREPLY < <(compgen -d -- "$cur") && return ;;
	--socket | --policy | --trace | --convert | --output) mapfile -t COMPREPLY < <(compgen -f -- "$cur") && return ;;
	-H | --host) mapfile -t COMPREPLY < <(compgen -A hostname -- "$cur") && return ;;
	--cpus)
		mapfile -t COMPREPLY < <(compgen -W "all isolated nohz_full housekeeping online" -- "$cur")
		return
		;;
	--mode)
		mapfile -t COMPREPLY < <(compgen -W "C0= C0Depth= ZeroLatency= C1Interrupts= HaltPoll= Broadcast= IoPort=" -- "$cur")
		return
		;;
	--interval)
		mapfile -t COMPREPLY < <(compgen -W "0 500ms 1s 10s 1min" -- "$cur")
		return
		;;
	--latency | --profile | --reason | --ttl) return ;;
	esac
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_cpuidlectl_options "$verb")" -- "$cur")
	elif [[ -z $verb ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$cur")
	elif [[ $verb == import && $prev == import ]]; then
		mapfile -t COMPREPLY < <(compgen -W "tuned saptune crio pepc" -- "$cur")
	elif [[ $verb == check || $verb == import ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	elif [[ $verb == explain ]]; then
		mapfile -t COMPREPLY < <(compgen -W "all isolated nohz_full housekeeping" -- "$cur")
	elif [[ $verb == hold ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
	elif [[ $verb == set ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_cpuidlectl_keys)" -- "$cur")
		[[ ${COMPREPLY[*]} == *= ]] && compopt -o nospace 2>/dev/null
	fi
}

complete -F _cpuidlectl cpuidlectl
