#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""journal.py STDERR DAEMON ARGS...: runs the daemon with a journal socket of our own in place of the host's, and
prints each entry as one line, fields joined by '|'. For the kernel it is the same socket, in a mount namespace."""
import os
import socket
import subprocess
import sys

FOLDER = "/run/systemd/journal"


def main():
    if os.environ.get("CPUIDLED_INSIDE") != "1":
        os.environ["CPUIDLED_INSIDE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable] + sys.argv)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run/systemd"], check=True)
    os.makedirs(FOLDER)
    journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    journal.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    journal.bind(FOLDER + "/socket")
    with open(sys.argv[1], "wb") as stderr:
        st = os.fstat(stderr.fileno())
        env = dict(os.environ, JOURNAL_STREAM=f"{st.st_dev}:{st.st_ino}")
        status = subprocess.run(sys.argv[2:], env=env, stderr=stderr, check=False).returncode
    journal.setblocking(False)
    while True:
        try:
            print(journal.recv(65536).decode().rstrip("\n").replace("\n", "|"))
        except BlockingIOError:
            break
    sys.exit(status)


main()
