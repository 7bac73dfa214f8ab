# SPDX-License-Identifier: GPL-2.0-or-later
"""The idle path, counted in booted kernels: what the module adds to it, and how far it is from the end of a
wait to the handler and to the woken task.

In Bochs with one CPU a tick of the TSC is an instruction, and two boots are alike to the last one, so these
are exact numbers. tests/kmod/idlecost counts, and its run.sh says what is counted.
"""
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(HERE)
VM = os.path.join(TOP, "tests/vm")
COST = os.path.join(TOP, "tests/kmod/idlecost")
KERNELS = ("6.1", "6.12")
SLOW = 16  # instructions more in the way of the module that must be found too dear
# What is compared with the same state left alone; their names are those of run.sh.
MODES = ("loaded", "hooked", "window", "sti-mwait", "states-off", "avoid", "count", "again")
# The ways to wait, and what of the module stands for the kernel's own. .1 and .2 cost the same.
C0 = {"C1-C0": "C1", "row-C0": "C1", "POLL-C0": "POLL"}
WAYS = ("POLL", "C1", "hooked", "window", "sti-mwait", *(f"{way}.{depth}" for way in C0 for depth in "12"))


class Missing(Exception):
    """What the guests need is not here and cannot be brought by who asks."""


def checked(command, **options):
    result = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **options
    )
    if result.returncode:
        said = (result.stdout + result.stderr)[-2000:]
        raise RuntimeError(f"{' '.join(command)}: exit {result.returncode}: {said}")
    return result.stdout.strip()


def fetched(item):
    try:
        return checked([os.path.join(VM, "fetch"), item])
    except RuntimeError as error:
        if os.geteuid() == 0:
            raise
        raise Missing(str(error).splitlines()[-1]) from None


class Build:
    """Modules for one kernel, and the client that sets their modes."""

    def __init__(self, work, version):
        self.headers = os.path.join(fetched(f"headers-{version}"), "build")
        self.work = os.path.join(work, version)
        shutil.rmtree(self.work, ignore_errors=True)
        self.policy = self.module(os.path.join(TOP, "kmod"), "cpuidle_policy")
        self.cost = self.module(COST, "idlecost")

    def make(self, path):
        checked(["make", "-s", "-C", self.headers, f"M={path}", "modules"])

    def module(self, source, name):
        path = os.path.join(self.work, name)
        shutil.copytree(source, path, ignore=shutil.ignore_patterns("*.o", "*.ko", "*.mod*", ".*"))
        self.make(path)
        return os.path.join(path, f"{name}.ko")

    def slow(self):
        """The same module with SLOW instructions more in each ->enter."""
        path = os.path.join(self.work, "slow")
        shutil.copytree(os.path.dirname(self.policy), path)
        source = os.path.join(path, "enter.c")
        with open(source, encoding="utf-8") as file:
            text = file.read()
        line = "\traw_cpu_inc(enter_cpu.entries[row]);\n"
        if text.count(line) != 1:
            raise RuntimeError("kmod/enter.c has changed: where do the slow module's instructions go?")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text.replace(line, line + f'\tasm volatile(".rept {SLOW}; nop; .endr");\n'))
        self.make(path)
        return os.path.join(path, "cpuidle_policy.ko")


def counted(log):
    """What a guest said on its console: {"NAME KIND WORD": value}."""
    values = {}
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            found = re.search(r"ok \d+ - ([\w.-]+) (\w+): (rounds .*)$", line.rstrip())
            if found:
                name, kind, words = found.groups()
                pairs = re.findall(r"(path|vector|timer|task) (\d+)/", words)
                values.update({f"{name} {kind} {word}": int(value) for word, value in pairs})
    return values


def boot(work, label, name, build, client, slow=None):
    """Boots a guest with all of that; returns what it counted."""
    log = os.path.join(work, f"{label}.log")
    add = [f"{build.policy}:cpuidle_policy.ko", f"{build.cost}:idlecost.ko", f"{client}:kmodctl"]
    if slow:
        add.append(f"{slow}:cpuidle_policy_slow.ko")
    command = [os.path.join(VM, "run"), name, "--tests", os.path.join(COST, "run.sh"), "--log", log]
    for part in add:
        command += ["--add", part]
    checked(command)
    return counted(log)


def modes(version, values):
    """What each mode adds to an idle entry and exit, the ways of waiting, and shares in percent."""
    counts = {}
    for mode in MODES:
        counts[f"extra.{mode}"] = values[f"{mode} store path"] - values["C1 store path"]
    for way, state in C0.items():
        counts[f"extra.{way}.2"] = values[f"{way}.2 store path"] - values[f"{state} store path"]
    if "slow store path" in values:
        counts["extra.slow"] = values["slow store path"] - values["C1 store path"]
    for mode in ("window", "sti-mwait"):
        counts[f"interrupted.{mode}"] = values[f"{mode} pended path"] - values["C1 pended path"]
    for way in WAYS:
        for word in ("vector", "timer", "task"):
            counts[f"{word}.{way}"] = values[f"{way} wait {word}"]
    for word, way, beside in (
        ("vector", "window", "C1"),
        ("timer", "window", "C1"),
        ("timer", "POLL-C0.2", "POLL"),
        ("task", "POLL-C0.2", "POLL"),
        ("task", "row-C0.2", "POLL"),
    ):
        share = 100 * values[f"{way} wait {word}"] / values[f"{beside} wait {word}"]
        counts[f"share.{word}.{way}"] = round(share, 1)
    return {f"idle-path.{version}.{name}": value for name, value in counts.items()}


def own(values):
    """The same where the kernel has no driver: everything is compared with the kernel's plain halt."""
    return {
        f"idle-path.own.{name}": values[f"{name} pended path"] - values[f"{beside} pended path"]
        for name, beside in (
            ("loaded", "none"),
            ("own", "none"),
            ("own-hooked", "own"),
            ("own-window", "own"),
            ("again", "none"),
        )
    }


def measure(work):
    """{name: value} as in budgets.tsv."""
    work = os.path.join(work, "idle-path")
    os.makedirs(work, exist_ok=True)
    for item in ("tools", "busybox", "bochs", *(f"kernel-{version}" for version in KERNELS)):
        fetched(item)
    client = os.path.join(work, "kmodctl")
    checked(["make", "-s", "-C", os.path.dirname(COST), f"B={work}", client])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        old, new = pool.map(Build, [work] * 2, KERNELS)
        slow = old.slow()
        later, first, second, none = pool.map(
            lambda job: boot(work, *job),
            (
                ("6.12", "bochs-spr-6.12", new, client),  # the longest
                ("first", "bochs-spr-6.1", old, client, slow),
                ("second", "bochs-spr-6.1", old, client, slow),
                ("none", "bochs-none-6.1", old, client),
            ),
        )
    return judged(later, first, second, none)


def judged(later, first, second, none):
    """What four guests counted, as in budgets.tsv."""
    counts = {**modes("6.1", first), **modes("6.12", later), **own(none)}
    extra = first["slow store path"] - first["hooked store path"]
    counts["idle-path.blind"] = abs(extra - SLOW)
    differing = [name for name in first.keys() | second.keys() if first.get(name) != second.get(name)]
    counts["idle-path.unlike"] = len(differing)
    return counts
