#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""counts.py TREE SECONDS STATE CPU[-LAST] EVERY USAGE TIME ABOVE

Lets the counters of a state grow in a tree as a kernel would, every EVERY seconds by USAGE, TIME (us) and ABOVE,
for that long. Files that are not there are left out. While the state is disabled, state 1 gets its entries, all of a proper length;
with "!" behind STATE it keeps them, as in a kernel that does not do what it was told.
"""
import os
import sys
import time


def main():
    tree, seconds, state, cpus, every, *growth = sys.argv[1:]
    state, stubborn = state.rstrip("!"), state.endswith("!")
    first, _, last = cpus.partition("-")
    files = {}

    def grow(cpu, index, name, by):
        path = f"{tree}/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{index}/{name}"
        if not os.path.exists(path):
            return
        if path not in files:
            with open(path, encoding="ascii") as file:
                files[path] = int(file.read())
        files[path] += by
        # In one write, as long as before or longer: a reader never sees less than a whole number.
        with open(path, "r+", encoding="ascii") as file:
            file.write(f"{files[path]}\n")

    end = time.monotonic() + float(seconds)
    usage, spent, above = map(int, growth)
    while time.monotonic() < end:
        for cpu in range(int(first), int(last or first) + 1):
            with open(
                f"{tree}/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/disable", encoding="ascii"
            ) as file:
                off = file.read().strip() == "1"
            off = off and not stubborn
            index = "1" if off else state
            grow(cpu, index, "usage", usage)
            grow(cpu, index, "time", spent)
            grow(cpu, index, "above", 0 if off else above)
        time.sleep(float(every))


main()
