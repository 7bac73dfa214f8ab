# SPDX-License-Identifier: GPL-2.0-only
#
# Makes of kmod/uapi/cpuidle_policy.h one that says it speaks the next version of its contract.
s/\(CPUIDLE_POLICY_VERSION[[:blank:]]*\)1$/\12/
