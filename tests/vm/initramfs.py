#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a cpio archive (newc) as the kernel's initial RAM file system wants it.

initramfs.py OUT [--add SRC:DST | --program SRC:DST | --link TARGET:DST |
    --node PATH:MAJOR:MINOR | --exclude PATTERN | --tar FILE]...

--tar takes a tar archive over with its owners, without what --exclude named before it. --add takes
a file, or a folder with all below it (DST / lays it over the root). --program also takes along the
shared libraries that the program needs here, or in the root file system --sysroot names, which may be
another machine's. Made without cpio(1), because that reads owners and
device nodes from the disk, and so needs root for them. What is added belongs to root, and all is
dated 0: the same input gives the same bytes, which the deterministic guests need.
"""
import argparse
import fnmatch
import glob
import os
import re
import stat
import subprocess
import sys
import tarfile


def here(source):
    """What ldd finds: pairs of a library's file and the path it is looked for at."""
    listing = subprocess.run(["ldd", source], stdout=subprocess.PIPE, check=True, text=True)
    for line in listing.stdout.splitlines():
        words = line.split()
        path = words[2] if "=>" in words else words[0]
        if path == "not":
            sys.exit("initramfs.py: %s needs %s, which is not here" % (source, words[0]))
        if path.startswith("/"):
            yield path, path


def there(source, sysroot):
    """The same from the ELF headers, for a program that cannot run on this machine."""
    todo, found = [source], {}
    while todo:
        listing = subprocess.run(
            ["readelf", "-W", "-l", "-d", todo.pop()], stdout=subprocess.PIPE, check=True, text=True
        ).stdout
        names = re.findall(r"\(NEEDED\).*\[(.*)\]", listing)
        names += re.findall(r"program interpreter: (.*)\]", listing)
        for name in set(names) - set(found):
            found[name] = path = look_up(sysroot, name)
            if not path:
                sys.exit("initramfs.py: %s needs %s, which %s lacks" % (source, name, sysroot))
            todo.append(os.path.join(sysroot, path.strip("/")))
    return ((os.path.join(sysroot, path.strip("/")), path) for path in found.values())


def look_up(sysroot, name):
    """Debian's multi-architecture folders; an interpreter is named with its path."""
    folders = [""] if "/" in name else ["/lib/*-linux-gnu*/", "/usr/lib/*-linux-gnu*/"]
    for folder in folders:
        for path in sorted(glob.glob(sysroot + folder + name)):
            return path[len(sysroot) :]
    return None


class Archive:
    def __init__(self, out, merged_usr, sysroot):
        self.out = out
        self.merged_usr = merged_usr
        self.sysroot = sysroot
        self.size = 0
        self.inode = 0
        self.folders = set()
        self.libraries = set()

    def write(self, data):
        self.out.write(data)
        self.size += len(data)

    def pad(self):
        self.write(bytes(-self.size % 4))

    def entry(self, name, mode, data=b"", major=0, minor=0, uid=0, gid=0):
        self.inode += 1
        raw = name.encode() + b"\0"
        fields = (self.inode, mode, uid, gid, 1, 0, len(data), 0, 0, major, minor, len(raw), 0)
        self.write(b"070701" + b"".join(b"%08x" % field for field in fields) + raw)
        self.pad()
        self.write(data)
        self.pad()

    def place(self, name):
        """Where /lib and its like are links, a folder of that name would replace the link."""
        name = name.strip("/")
        if self.merged_usr and name.split("/")[0] in ("bin", "sbin", "lib", "lib64"):
            return "usr/" + name
        return name

    def folder(self, name, mode=0o755):
        name = self.place(name)
        if name in self.folders or not name:
            return
        self.folder(os.path.dirname(name))
        self.folders.add(name)
        self.entry(name, stat.S_IFDIR | mode)

    def file(self, source, name):
        name = self.place(name)
        info = os.lstat(source)
        if stat.S_ISDIR(info.st_mode):
            self.folder(name, stat.S_IMODE(info.st_mode))
            for child in sorted(os.listdir(source)):
                self.file(os.path.join(source, child), name + "/" + child)
            return
        self.folder(os.path.dirname(name))
        if stat.S_ISLNK(info.st_mode):
            self.entry(name, stat.S_IFLNK | 0o777, os.readlink(source).encode())
        elif stat.S_ISREG(info.st_mode):
            with open(source, "rb") as file:
                self.entry(name, stat.S_IFREG | stat.S_IMODE(info.st_mode), file.read())
        elif stat.S_ISCHR(info.st_mode) or stat.S_ISBLK(info.st_mode):
            self.entry(name, info.st_mode, b"", os.major(info.st_rdev), os.minor(info.st_rdev))

    def tar(self, source, excluded):
        kinds = {
            tarfile.DIRTYPE: stat.S_IFDIR,
            tarfile.REGTYPE: stat.S_IFREG,
            tarfile.LNKTYPE: stat.S_IFREG,
            tarfile.SYMTYPE: stat.S_IFLNK,
            tarfile.CHRTYPE: stat.S_IFCHR,
            tarfile.BLKTYPE: stat.S_IFBLK,
        }
        with tarfile.open(source) as tar:
            for member in tar:
                name = os.path.normpath(member.name)
                parents = name.split("/")
                if name == "." or member.type not in kinds:
                    continue
                above = ["/".join(parents[: i + 1]) for i in range(len(parents))]
                if any(fnmatch.fnmatch(path, wild) for path in above for wild in excluded):
                    continue
                data = b""
                if member.issym():
                    data = member.linkname.encode()
                elif member.isreg() or member.islnk():
                    data = tar.extractfile(member).read()
                self.folders.add(name)
                self.entry(
                    name, kinds[member.type] | member.mode, data, member.devmajor,
                    member.devminor, member.uid, member.gid,
                )

    def program(self, source, name):
        self.file(os.path.realpath(source), name)
        for library, path in there(source, self.sysroot) if self.sysroot else here(source):
            if path not in self.libraries:
                self.libraries.add(path)
                self.file(os.path.realpath(library), path)


def pair(text):
    source, colon, name = text.rpartition(":")
    if not colon or not source or not name:
        sys.exit("initramfs.py: '%s' is not SRC:DST" % text)
    return source, name


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    for option in ("add", "program", "link", "node", "exclude", "tar"):
        parser.add_argument(
            "--" + option, dest="parts", action="append", default=[],
            type=lambda text, option=option: (option, text),
        )
    parser.add_argument("--merged-usr", action="store_true", help="/bin, /lib … lie in /usr")
    parser.add_argument("--sysroot", metavar="DIR", help="where programs find their libraries")
    args = parser.parse_args()
    with open(args.out, "wb") as out:
        archive, excluded = Archive(out, args.merged_usr, args.sysroot), set()
        for kind, text in args.parts:
            if kind == "exclude":
                excluded.add(text)
                continue
            if kind == "tar":
                archive.tar(text, excluded)
                continue
            if kind == "node":
                name, major, minor = text.split(":")
                archive.folder(os.path.dirname(name))
                archive.entry(
                    name.strip("/"), stat.S_IFCHR | 0o600, b"", int(major), int(minor)
                )
                continue
            source, name = pair(text)
            if kind == "add":
                archive.file(source, name)
            elif kind == "program":
                archive.program(source, name)
            else:
                archive.folder(os.path.dirname(name.strip("/")))
                archive.entry(name.strip("/"), stat.S_IFLNK | 0o777, source.encode())
        archive.entry("TRAILER!!!", 0)
        # archives are concatenated: the kernel skips zeros up to the next one
        archive.write(bytes(-archive.size % 512))


if __name__ == "__main__":
    main()
