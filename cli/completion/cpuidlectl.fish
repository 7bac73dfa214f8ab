# SPDX-License-Identifier: GPL-2.0-or-later
# Completion of cpuidlectl(1) for fish. A test holds it against 'cpuidlectl --help'.

set -l verbs status show explain plan check set list-profiles reload verify hold release list-holds simulate import monitor
set -l daemon status show explain plan set list-profiles reload verify hold release list-holds monitor
set -l files show explain plan check list-profiles simulate
complete -c cpuidlectl -f

complete -c cpuidlectl -n "not __fish_seen_subcommand_from $verbs" -a status -d "state of the daemon"
complete -c cpuidlectl -n "not __fish_seen_subcommand_from $verbs" -a show -d "the policy in force"
complete -c cpuidlectl -n "not __fish_seen_subcommand_from $verbs" -a explain -d "every layer that decides about CPUs"
complete -c cpuidlectl -n "not __fish_seen_subcommand_from $verbs" -a plan -d "what each CPU gets and why"
complete -c cpuidlectl -n "not __fish_seen_subcommand_from $verbs" -a check -d "judge policy files"
complete -c cpuidlectl -n "not __fish_seen_subcommand_from $verbs" -a set -d "change settings until the daemon ends"
complete -c cpuidlectl -n "not __fish_seen_subcommand_from $verbs" -a list-profiles -d "the profiles there are"
complete -c cpuidlectl -n "not __fish_seen_subcommand_from $verbs" -a reload -d "read the policy again"
complete -c cpuidlectl -n "not __fish_seen_subcommand_from $verbs" -a verify -d "compare plan, kernel and what the counters show"
complete -c cpuidlectl -n "not __fish_seen_subcommand_from $verbs" -a hold -d "hold a limit, profile or mode while a command runs"
complete -c cpuidlectl -n "not __fish_seen_subcommand_from $verbs" -a release -d "end a hold"
complete -c cpuidlectl -n "not __fish_seen_subcommand_from $verbs" -a list-holds -d "what is held now, by whom and why"
complete -c cpuidlectl -n "not __fish_seen_subcommand_from $verbs" -a simulate -d "play recorded idle periods against a policy"
complete -c cpuidlectl -n "not __fish_seen_subcommand_from $verbs" -a import -d "settings of another program as policy text"
complete -c cpuidlectl -n "not __fish_seen_subcommand_from $verbs" -a monitor -d "print what the daemon decides and why"

complete -c cpuidlectl -l json -d "print JSON"
complete -c cpuidlectl -s q -l quiet -d "print less"
complete -c cpuidlectl -s h -l help -d "print help"
complete -c cpuidlectl -l version -d "print the version"
complete -c cpuidlectl -n "not __fish_seen_subcommand_from import" -l root -x -a "(__fish_complete_directories)" -d "the host is the tree below DIR"
complete -c cpuidlectl -n "__fish_seen_subcommand_from $daemon" -s H -l host -x -a "(__fish_print_hostnames)" -d "another host"
complete -c cpuidlectl -n "__fish_seen_subcommand_from $daemon" -l socket -r -F -d "this socket only"
complete -c cpuidlectl -n "__fish_seen_subcommand_from $files" -l policy -r -F -d "policy file"
complete -c cpuidlectl -n "__fish_seen_subcommand_from plan set hold" -l cpus -x -a "all isolated nohz_full housekeeping online" -d "these CPUs"
complete -c cpuidlectl -n "__fish_seen_subcommand_from check" -l strict -d "warnings are errors"
complete -c cpuidlectl -n "__fish_seen_subcommand_from check" -F
complete -c cpuidlectl -n "__fish_seen_subcommand_from plan" -l changes -d "also the writes"
complete -c cpuidlectl -n "__fish_seen_subcommand_from set" -l reset -d "drop all run-time settings"
complete -c cpuidlectl -n "__fish_seen_subcommand_from hold" -l latency -x -d "longest exit latency to hold"
complete -c cpuidlectl -n "__fish_seen_subcommand_from hold" -l profile -x -d "profile to hold"
complete -c cpuidlectl -n "__fish_seen_subcommand_from hold" -l mode -x -a "C0= C0Depth= ZeroLatency= C1Interrupts= HaltPoll= Broadcast= IoPort=" -d "mode to hold"
complete -c cpuidlectl -n "__fish_seen_subcommand_from hold" -l reason -x -d "why"
complete -c cpuidlectl -n "__fish_seen_subcommand_from simulate" -l trace -r -F -d "idle periods to play"
complete -c cpuidlectl -n "__fish_seen_subcommand_from simulate" -l convert -r -F -d "output of perf script"
complete -c cpuidlectl -n "__fish_seen_subcommand_from verify" -l interval -x -a "0 500ms 1s 10s 1min" -d "observe so long"
complete -c cpuidlectl -n "__fish_seen_subcommand_from hold" -l ttl -x -d "end after this time"
complete -c cpuidlectl -n "__fish_seen_subcommand_from hold" -a "(__fish_complete_command)"
complete -c cpuidlectl -n "__fish_seen_subcommand_from explain" -a "all isolated nohz_full housekeeping"
complete -c cpuidlectl -n "__fish_seen_subcommand_from set; and not __fish_contains_opt cpus" -a "DefaultProfile= OnForeignWrite= GlobalLatencyLimit= UmwaitC02= UmwaitMaxTime="
complete -c cpuidlectl -n "__fish_seen_subcommand_from set; and __fish_contains_opt cpus" -a "Profile= Priority= LatencyLimit= C0= C0Depth= ZeroLatency= C1Interrupts= HaltPoll= Broadcast= IoPort= DisableStates= EnableStates= Base= Description= Adapt= AdaptScope= ResidencyGuard="
complete -c cpuidlectl -n "__fish_seen_subcommand_from import" -l output -r -F -d "write the policy text there"
complete -c cpuidlectl -n "__fish_seen_subcommand_from import" -F -a "tuned saptune crio pepc"
