#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""notify.py DAEMON ARGS...: what the daemon says on NOTIFY_SOCKET (sd_notify(3)) from start to stop, as TAP."""
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time


class Listener:
    def __init__(self, folder):
        self.path = os.path.join(folder, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(20)

    def wait(self, *wanted):
        """Messages up to the one with all that is wanted; watchdog pings in between are counted."""
        pings = 0
        while True:
            message = self.socket.recv(4096).decode()
            fields = message.split("\n")
            if "WATCHDOG=1" in fields:
                pings += 1
            if all(any(f.startswith(w) for f in fields) for w in wanted):
                return fields, pings


def main():
    n = 0

    def ok(good, name):
        nonlocal n
        n += 1
        print(f"{'ok' if good else 'not ok'} {n} - {name}", flush=True)
        if not good:
            sys.exit(1)

    policy = sys.argv[sys.argv.index("--policy") + 1]
    with tempfile.TemporaryDirectory() as folder:
        listener = Listener(folder)
        env = dict(os.environ, NOTIFY_SOCKET=listener.path, WATCHDOG_USEC="400000")
        env.pop("WATCHDOG_PID", None)
        daemon = subprocess.Popen(sys.argv[1:], env=env, stderr=subprocess.DEVNULL)
        try:
            fields, _ = listener.wait("READY=1", "STATUS=")
            status = [f for f in fields if f.startswith("STATUS=")][0]
            ok("ACTIVE" in status and "12 of 12 CPUs limited" in status, f"READY=1 and {status}")
            before = time.monotonic()
            pings = 0
            while pings < 3:
                pings += listener.wait("WATCHDOG=1")[1]
            took = time.monotonic() - before
            ok(took < 10, "WATCHDOG=1 without anything happening")
            daemon.send_signal(signal.SIGHUP)
            now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            fields, _ = listener.wait("RELOADING=1")
            stamp = [f for f in fields if f.startswith("MONOTONIC_USEC=")]
            ok(len(stamp) == 1 and abs(int(stamp[0].split("=")[1]) - now) < 20_000_000, "RELOADING=1 with MONOTONIC_USEC")
            ok(listener.wait("READY=1", "STATUS=ACTIVE"), "READY=1 after the reload")
            with open(policy, "a", encoding="ascii") as f:
                f.write("nonsense\n")
            daemon.send_signal(signal.SIGHUP)
            listener.wait("RELOADING=1")
            ok(listener.wait("READY=1", "STATUS=ACTIVE"), "READY=1 after a refused reload, too")
            daemon.send_signal(signal.SIGTERM)
            ok(listener.wait("STOPPING=1", "STATUS="), "STOPPING=1")
            ok(daemon.wait(20) == 0, "ends with 0")
        finally:
            if daemon.poll() is None:
                daemon.kill()
    print(f"1..{n}")


main()
