#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs an emulator, reads the guest's console from it, and judges what the guest says.

console.py [options] -- COMMAND...

The console is the emulator's standard input and output, or, where COMMAND contains @PORT@, a TCP
connection that the emulator opens to that port of this machine.

Verdict: TAP lines (ok N - …, not ok, # SKIP, 1..N), no kernel splat, a whole plan, and the line
"# guest done" before the time is over. Exit 0: all of it; 1: not; 2: the emulator did not start.
"""
import argparse
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time

DONE = "# guest done"
STAMP = re.compile(r"\[ *\d+\.\d{6}\]")
SPLAT = re.compile(
    r"WARNING:|BUG:|\bBUG at\b|Oops|general protection|invalid opcode|Kernel panic|Call [Tt]race:"
    r"|cut here|self-detected stall|detected stalls|rcu.*stall|soft lockup|hard LOCKUP"
    r"|INFO: task .* blocked|possible (circular|recursive|irq)|inconsistent lock state"
    r"|suspicious RCU|RCU used illegally|scheduling while atomic|sleeping function called"
    r"|bad: scheduling from the idle|UBSAN:|KASAN:|KCSAN:|KFENCE:|ODEBUG:|DEBUG_LOCKS_WARN"
    r"|refcount_t:|list_(add|del) corruption|unchecked MSR access|[Uu]nable to handle|Internal error:"
    r"|cannot create duplicate|Attempted to kill init"
)
# A kernel that measures its clock while this machine has no time for the emulator takes it for many
# times slower than it is; then each wait is too short and stalls are seen where none are.
CLOCK = re.compile(r"tsc: PIT calibration deviates from .*: (\d+) (\d+)")
# A CPU that ran into a breakpoint which is not in memory: the emulator ran code that had been written over. QEMU
# 7.2 can keep such code when one CPU writes what another just translates, as kernels do to their static keys.
TRAP = re.compile(r"int3: 0000 \[#\d+\]")
CODE = re.compile(r"Code: [0-9a-f ]*\b([0-9a-f]{2}) <[0-9a-f]{2}>")
BOOTS = 3
PANIC = re.compile(r"Kernel panic|Attempted to kill init|---\[ end Kernel panic")
# /proc/sys/kernel/tainted: bad page, died, warned, locked up. Out-of-tree and unsigned modules
# taint as well, and are what is tested here.
TAINT = {5: "bad page", 7: "oops", 9: "warning", 14: "soft lockup"}
# What wakes a guest that sleeps with its devices at hand is a key pressed on its console.
KEY = re.compile(r"# press a key in (\d+) s$")
AFTER_PANIC = 3.0  # for the trace that follows
AFTER_DONE = 20.0  # for init's word on the kernel's taint; a guest that is off by then is fine
ESCAPE = b"\x1d"  # Ctrl-]
INTERRUPT = b"\x03"  # Ctrl-C


class Lines:
    """Cuts the byte stream into lines, and mends lines that a kernel message was put into: the
    kernel writes to the serial port at any moment, also between two characters of a program."""

    def __init__(self):
        self.rest = b""
        self.held = ""

    def feed(self, data):
        *whole, self.rest = (self.rest + data).split(b"\n")
        for raw in whole:
            yield from self.line(raw.decode("utf-8", "replace").strip("\r").replace("\r", ""))

    def line(self, text):
        stamp = STAMP.search(text)
        before = text[: stamp.start()] if stamp else ""
        # A diagnostic may quote the kernel's log, so its rest is not waited for.
        if before.startswith("#") and not before.startswith("# guest"):
            yield before
            yield text[stamp.start() :]
        elif before:
            self.held += before
            yield text[stamp.start() :]
        elif stamp:
            yield text[stamp.start() :]
        else:
            text, self.held = self.held + text, ""
            yield text

    def end(self):
        for text in (self.held, self.rest.decode("utf-8", "replace").strip()):
            if text:
                yield text


class Verdict:
    def __init__(self):
        self.passed, self.skipped, self.failed = [], [], []
        self.wrong = []  # what is wrong with the guest rather than with a test of it
        self.plan = self.reason = None
        self.done = False
        self.tainted = False
        self.panicked = False
        self.splats = []
        self.trapped = False  # into a breakpoint
        self.emulator = None  # what it has done wrong, so that the guest says nothing
        self.key = None  # seconds until a key is to be pressed

    def line(self, text):
        if STAMP.match(text):
            clock = CLOCK.search(text)
            if clock:
                pit, other = (max(int(khz), 1) for khz in clock.groups())
                if not 1 / 2 < pit / other < 2:
                    self.emulator = "measured its clock wrongly, for this machine was busy"
            self.trapped = self.trapped or bool(TRAP.search(text))
            code = CODE.search(text)
            if self.trapped and code:
                self.trapped = False
                if code.group(1) != "cc":
                    self.emulator = "ran into a breakpoint that is not in memory"
            if SPLAT.search(text):
                self.splats.append(STAMP.sub("", text, count=1).strip())
            self.panicked = self.panicked or bool(PANIC.search(text))
            return
        tap = re.match(r"(not )?ok\b *(\d+)? *(?:- *)?([^#]*)(# *(SKIP|TODO)\b.*)?", text, re.I)
        if tap and text.startswith(("ok", "not ok")):
            directive = (tap.group(5) or "").upper()
            if directive == "SKIP" and not tap.group(1):
                self.skipped.append(text)
            elif tap.group(1) and directive != "TODO":
                self.failed.append(text)
            else:
                self.passed.append(text)
            return
        plan = re.match(r"1\.\.(\d+)\b", text)
        if plan:
            if self.plan is not None:
                self.wrong.append("a second plan: " + text)
            self.plan = int(plan.group(1))
            self.reason = text[plan.end() :].strip() or "# SKIP no cases"
        elif text.startswith("Bail out!"):
            self.wrong.append(text)
        elif KEY.match(text):
            self.key = int(KEY.match(text).group(1))
        elif text.startswith("# guest tainted "):
            self.tainted = True
            bits = int(text.split()[3])
            names = [name for bit, name in TAINT.items() if bits >> bit & 1]
            if names and not self.splats:
                self.wrong.append("the kernel is tainted: " + ", ".join(names))
        elif text.strip() == DONE:
            self.done = True

    def close(self, how):
        if self.panicked:
            pass  # told already; what is missing follows from it
        elif not self.done:
            self.wrong.append(how)
        elif self.plan is None:
            self.wrong.append("the guest ended without a plan (1..N)")
        seen = len(self.passed) + len(self.skipped) + len(self.failed)
        if self.done and self.plan is not None and seen != self.plan:
            self.wrong.append("planned %d tests, saw %d" % (self.plan, seen))
        if self.plan == 0 and self.done and not seen:
            self.skipped.append("ok - %s" % self.reason)
        if self.splats:
            text = "kernel: " + self.splats[0]
            if len(self.splats) > 1:
                text += " (and %d more such lines)" % (len(self.splats) - 1)
            self.wrong.insert(0, text)


class Guest:
    """The emulator as a process and a two-way stream of bytes."""

    def __init__(self, command, log):
        self.listener = self.link = None
        if any("@PORT@" in word for word in command):
            self.listener = socket.create_server(("127.0.0.1", 0))
            port = str(self.listener.getsockname()[1])
            command = [word.replace("@PORT@", port) for word in command]
        pipe = subprocess.DEVNULL if self.listener else subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=log if self.listener else pipe, stderr=log,
            bufsize=0, start_new_session=True,
        )

    def fileno(self):
        if self.listener:
            return (self.link or self.listener).fileno()
        return self.process.stdout.fileno()

    def read(self):
        """Bytes from the guest; None at the end."""
        if self.listener and not self.link:
            self.link = self.listener.accept()[0]
            return b""
        try:
            return os.read(self.fileno(), 65536) or None
        except ConnectionError:
            return None

    def write(self, data):
        if self.listener:
            if self.link:
                self.link.sendall(data)
        else:
            self.process.stdin.write(data)

    def running(self):
        return self.process.poll() is None

    def stop(self):
        if self.running():
            self.process.kill()
        self.process.wait()


def relay(guest, keys):
    """The guest's console on this terminal, until the guest ends or one of keys is pressed."""
    import termios
    import tty

    terminal = sys.stdin.isatty()
    saved = termios.tcgetattr(0) if terminal else None
    sources = [guest, 0]
    try:
        if terminal:
            tty.setraw(0)
        while True:
            ready = select.select(sources, [], [], 1)[0]
            if guest in ready:
                data = guest.read()
                if data is None:
                    break
                os.write(1, data)
            elif not guest.running():
                break
            if 0 in ready:
                data = os.read(0, 4096)
                if any(key in data for key in keys):
                    break
                if data:
                    guest.write(data)
                else:
                    sources = [guest]
    finally:
        if terminal:
            termios.tcsetattr(0, termios.TCSADRAIN, saved)
        guest.stop()
    return 0


def watch(guest, console, seconds, verbose, again):
    """Reads to the guest's last line, its end, or its time's end; returns the verdict. With again, only to
    where a guest says what the emulator has done wrong."""
    verdict, lines = Verdict(), Lines()
    end = time.monotonic() + seconds
    how = "the guest hung: not done after %d seconds" % seconds
    ending = False
    press = None
    while not (verdict.done and verdict.tainted) and not (verdict.emulator and again):
        if not ending and (verdict.panicked or verdict.done):
            ending = True
            end = time.monotonic() + (AFTER_PANIC if verdict.panicked else AFTER_DONE)
        left = end - time.monotonic()
        if left <= 0:
            break
        if press is not None and time.monotonic() >= press:
            guest.write(b"\n")
            press = None
        if not select.select([guest], [], [], min(left, 0.5))[0]:
            if not guest.running():
                how = "the emulator ended (status %d) before the guest was done" % (
                    guest.process.returncode
                )
                break
            continue
        data = guest.read()
        if data is None:
            guest.process.wait()
            how = "the emulator ended (status %d) before the guest was done" % (
                guest.process.returncode
            )
            break
        console.write(data)
        for text in lines.feed(data):
            verdict.line(text)
            if verdict.key is not None:
                press, verdict.key = time.monotonic() + verdict.key, None
            if verbose:
                print("  " + text, flush=True)
    for text in lines.end():
        verdict.line(text)
    verdict.close(how)
    return verdict


def judge(args):
    """The verdict on the guest; on its last boot, if the emulator failed it on those before."""
    for boot in range(1, BOOTS + 1):
        with open(args.emulator_log, "wb") as log:
            guest = Guest(args.command, log)
        try:
            with open(args.log, "wb", 0) as console:
                verdict = watch(guest, console, args.seconds, args.verbose, boot < BOOTS)
        finally:
            guest.stop()
        if not verdict.emulator:
            break
        print("# %s: %s (boot %d)" % (args.name, verdict.emulator, boot))
    return verdict


def tail(path, count):
    with open(path, "rb") as file:
        lines = file.read().decode("utf-8", "replace").replace("\r", "").splitlines()
    return lines[-count:]


def last_words(args):
    """The end of the console and of what the emulator said."""
    for text in tail(args.log, args.tail):
        yield text
    for text in tail(args.emulator_log, 5):
        yield "emulator: " + text


def report(verdict, args, seconds):
    """For a reader: why, and the counts as the last line."""
    if verdict.failed or verdict.wrong:
        print("---- %s: the end of its console (%s)" % (args.name, args.log))
        for text in last_words(args):
            print("  " + text)
        print("----")
        for text in verdict.failed + verdict.wrong:
            print("%s: %s" % (args.name, text))
    print("# %s: %.0f s" % (args.name, seconds))
    # What is wrong with the guest itself counts as one failure, so that no reader of the totals
    # takes a guest that died early for a good one.
    print(
        "%d passed, %d failed, %d skipped"
        % (len(verdict.passed), len(verdict.failed) + bool(verdict.wrong), len(verdict.skipped))
    )


def report_tap(verdict, args):
    """For a program: each case, then what is wrong with the guest as one more."""
    for text in verdict.passed + verdict.skipped + verdict.failed:
        result, name = re.match(r"((?:not )?ok)\b[ \d]*(?:- *)?(.*)", text).groups()
        print("%s - %s: %s" % (result, args.tap, name))
    for text in verdict.wrong:
        print("not ok - %s: %s" % (args.tap, text))
    if verdict.failed or verdict.wrong:
        print("# the end of the console (%s):" % args.log)
        for text in last_words(args):
            print("#   " + text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--log", required=True, help="the console goes here")
    parser.add_argument("--emulator-log", required=True, help="what the emulator itself says")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--tail", type=int, default=60, help="lines shown of a failed guest")
    parser.add_argument("--interactive", action="store_true")
    parser.add_argument("--quit-on-interrupt", action="store_true")
    parser.add_argument("--tap", metavar="LABEL")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    begin = time.monotonic()
    try:
        if args.interactive:
            with open(args.emulator_log, "wb") as log:
                guest = Guest(args.command, log)
            return relay(guest, [ESCAPE] + ([INTERRUPT] if args.quit_on_interrupt else []))
        verdict = judge(args)
    except OSError as error:
        print("%s: %s" % (args.name, error), file=sys.stderr)
        return 2
    if args.tap:
        report_tap(verdict, args)
    else:
        report(verdict, args, time.monotonic() - begin)
    return 1 if verdict.failed or verdict.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
