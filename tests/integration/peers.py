#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""peers.py SOCKET PID: what a peer of the private socket may try, spoken by hand. Prints what failed, exits 1 then."""
import fcntl
import os
import signal
import socket
import struct
import sys
import termios
import time

PATH, PID = sys.argv[1], int(sys.argv[2])
ROOT_MAX = 48  # LINKS_MAX of daemon/link.h
PER_UID_MAX = 8  # LINKS_PER_UID_MAX
faults = []


def expect(what, ok):
    print(("ok: " if ok else "FAULT: ") + what)
    if not ok:
        faults.append(what)


def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.connect(PATH)  # waits while the backlog is full, as the client does
    s.settimeout(10)
    return s


def authenticate(s, uid=None):
    text = str(os.getuid() if uid is None else uid).encode().hex().encode()
    s.sendall(b"\0AUTH EXTERNAL " + text + b"\r\n")
    answer = s.recv(4096)
    if not answer.startswith(b"OK "):
        return False
    s.sendall(b"BEGIN\r\n")
    time.sleep(0.02)  # sd-bus takes what comes with BEGIN for a message only when more follows
    return True


def pad(data, n):
    return data + b"\0" * (-len(data) % n)


def string(s):
    raw = s.encode()
    return struct.pack("<I", len(raw)) + raw + b"\0"


def message(member, body=b"", signature=None, serial=1, path="/org/cpuidled1"):
    fields = b""
    for code, kind, value in (
        (1, b"o", path),
        (2, b"s", "org.cpuidled1.Manager"),
        (3, b"s", member),
    ):
        fields = pad(fields, 8) + bytes([code, 1]) + kind + b"\0" + string(value)
    if signature:
        fields = pad(fields, 8) + bytes([8, 1]) + b"g\0" + bytes([len(signature)]) + signature + b"\0"
    head = struct.pack("<cBBBIII", b"l", 1, 0, 1, len(body), serial, len(fields))
    return pad(head + fields, 8) + body


def read_reply(s):
    head = b""
    while len(head) < 16:
        got = s.recv(16 - len(head))
        if not got:
            return None
        head += got
    size, fields = struct.unpack("<I", head[4:8])[0], struct.unpack("<I", head[12:16])[0]
    rest = size + fields + (-fields % 8)
    data = b""
    while len(data) < rest:
        got = s.recv(min(65536, rest - len(data)))
        if not got:
            return None
        data += got
    return head[1]


def alive():
    try:
        with connect() as s:
            if not authenticate(s):
                return False
            s.settimeout(2)
            for serial in range(1, 11):
                # Once more, should the first have come together with BEGIN on a busy machine.
                s.sendall(message("GetStatus", serial=serial))
                try:
                    return read_reply(s) == 2
                except socket.timeout:
                    pass
    except OSError:
        pass
    return False


def closed(s):
    s.settimeout(5)
    try:
        while True:
            if not s.recv(65536):
                return True
    except ConnectionError:
        return True
    except socket.timeout:
        return False


def rss():
    with open(f"/proc/{PID}/smaps_rollup", encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Anonymous:"))


def test_garbage():
    for what, data in (
        ("zeros", b"\0" * 4096),
        ("text instead of a handshake", b"GET / HTTP/1.0\r\n\r\n"),
        ("half a handshake", b"\0AUTH EXT"),
        ("nothing at all", b""),
    ):
        with connect() as s:
            try:
                s.sendall(data)
            except OSError:
                pass
        expect(f"{what}: others are served", alive())
    with connect() as s:
        expect("another's uid is refused", not authenticate(s, os.getuid() + 1))
    for what, data in (
        ("bytes after the handshake", os.urandom(4096)),
        ("a message that claims 2 GiB", struct.pack("<cBBBIII", b"l", 1, 0, 1, 1 << 31, 1, 64) + b"x" * 64),
        ("a message cut short", message("GetStatus")[:20]),
        ("a string longer than its body", message("GetPlan", struct.pack("<I", 1 << 20) + b"x\0", b"s")),
        ("a string without its NUL", message("GetPlan", struct.pack("<I", 3) + b"abcd", b"s")),
    ):
        with connect() as s:
            authenticate(s)
            s.sendall(data)
        expect(f"{what}: others are served", alive())


def test_limit():
    peers = []
    before = len(os.listdir(f"/proc/{PID}/fd"))
    for _ in range(100):
        s = connect()
        peers.append(s)
    time.sleep(0.3)
    served = 0
    for s in peers:
        try:
            served += 1 if authenticate(s) else 0
        except OSError:
            pass
    expect(f"of 100 connections of root {served} are served, at most {ROOT_MAX}", 0 < served <= ROOT_MAX)
    # One for each that is served; since systemd 256 a pidfd of the peer as well.
    more = len(os.listdir(f"/proc/{PID}/fd")) - before
    expect(f"they cost the daemon {more} descriptors", more <= 2 * ROOT_MAX)
    for s in peers:
        s.close()
    time.sleep(0.3)
    expect("after they have gone there is room", alive())


def test_limit_of_others():
    hold_read, hold_write = os.pipe()
    told_read, told_write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        served, kept = 0, []
        for _ in range(60):
            try:
                s = connect()
                if authenticate(s):
                    served += 1
                    kept.append(s)
            except OSError:
                pass
        os.write(told_write, bytes([served]))
        os.close(hold_write)
        os.read(hold_read, 1)
        os._exit(0)
    os.close(hold_read)
    served = os.read(told_read, 1)[0]
    expect(f"of 60 connections of one user {served} are served, at most {PER_UID_MAX}", 0 < served <= PER_UID_MAX)
    expect("meanwhile root is served", alive())
    os.close(hold_write)
    os.waitpid(child, 0)


def test_unread():
    """Asks and never reads: the answers may not pile up."""
    before = rss()
    with connect() as s:
        authenticate(s)
        s.settimeout(1)
        sent = 0
        try:
            for i in range(20000):
                s.sendall(message("Explain", string(""), b"s", serial=i + 1))
                sent += 1
        except OSError:
            pass
        grown = rss() - before
        if "--sanitized" not in sys.argv:  # a sanitizer keeps what is freed
            expect(f"{sent} unread questions cost {grown} kB", grown < 8192)
        expect("such a peer is disconnected", closed(s))
    expect("others are served", alive())


def test_killed():
    for _ in range(20):
        with connect() as s:
            authenticate(s)
            s.sendall(message("Explain", string(""), b"s"))
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with connect() as s:
            authenticate(s)
            s.sendall(message("Reload"))
    expect("peers that die in the middle of a call do no harm", alive())


def answers(s, n, seconds):
    """Types of up to n answers, other than signals, that come within that time: 2 is a return, 3 an error."""
    kinds = []
    s.settimeout(seconds)
    try:
        while len(kinds) < n:
            kind = read_reply(s)
            if kind is None:
                break
            if kind != 4:
                kinds.append(kind)
    except socket.timeout:
        pass
    return kinds


def test_observers():
    """Calls that are answered later: how many may wait, and that they go with their peer."""
    with connect() as s:
        authenticate(s)
        for i in range(6):
            s.sendall(message("Verify", struct.pack("<Q", 300000), b"t", serial=i + 1))
        expect("of six calls of one peer four wait, two are refused", answers(s, 6, 10) == [3, 3, 2, 2, 2, 2])
    peers = [connect() for _ in range(3)]
    for i, s in enumerate(peers):
        authenticate(s)
        for j in range(4):
            s.sendall(message("Verify", struct.pack("<Q", 60000000 + 4 * i + j), b"t", serial=j + 1))
    refused = sum(len(answers(s, 4, 0.5)) for s in peers)
    expect(f"of twelve observations of other lengths {refused} are refused", refused == 4)
    for s in peers:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    with connect() as s:
        authenticate(s)
        s.sendall(message("Verify", struct.pack("<Q", 1000), b"t"))
        expect("when these have gone there is room", answers(s, 1, 10) == [2])


def test_large():
    """A message of 120 MB, where the daemon runs under the unit's LimitDATA=64M."""
    peak, size = 0, 120 << 20
    with connect() as s:
        authenticate(s)
        head = message("GetPlan", b"", b"s")
        try:
            s.sendall(head[:4] + struct.pack("<I", size + 5) + head[8:] + struct.pack("<I", size))
            for _ in range(size >> 20):
                s.sendall(b"x" * (1 << 20))
                peak = max(peak, rss())
        except OSError:
            pass
        expect(f"a message of 120 MB costs {peak} kB", peak < 64 << 10)
        expect("its peer is disconnected", closed(s))
    expect("others are served", alive())


def unread(s):
    return struct.unpack("i", fcntl.ioctl(s, termios.FIONREAD, b"\0" * 4))[0]


def test_stop():
    """A peer that has not read all it asked for, with some of it still in the daemon: the daemon ends nevertheless."""
    with connect() as s:
        authenticate(s)
        serial, before = 0, -1
        while unread(s) != before:
            before = unread(s)
            for _ in range(8):
                serial += 1
                s.sendall(message("Explain", string(""), b"s", serial=serial))
            alive()  # by then these are answered
        expect(f"the answers to {serial} questions do not fit the peer's socket", serial > 8)
        os.kill(PID, signal.SIGTERM)
        expect("the daemon ends all the same", gone())


def gone():
    for _ in range(200):
        try:
            with open(f"/proc/{PID}/stat", encoding="ascii") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def main():
    tests = (test_garbage, test_limit, test_limit_of_others, test_unread, test_killed, test_observers)
    if "--large" in sys.argv:
        tests = (test_large,)
    elif "--stop" in sys.argv:
        tests = (test_stop,)
    for test in tests:
        test()
    sys.exit(1 if faults else 0)


main()
