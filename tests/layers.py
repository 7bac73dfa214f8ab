#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds the include graph of a tree against the tables of its docs/HACKING.md.

layers.py DIR layers    each file is in one row of the layer table and includes only what its row sees
layers.py DIR doors     each foreign library is included only where the door table says
layers.py DIR acyclic   no header reaches itself
layers.py DIR dot       the graph of units, to look at

A row is `| 3 | `policy/{plan,view}` | 0-2 |`: number, files (shell patterns; without a suffix both the .c
and the .h are meant), rows that may be included. A row always sees itself.
"""
import fnmatch
import glob
import os
import re
import sys

SIDES = ("policy", "daemon", "cli", "lib")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def braces(text):
    match = re.search(r"\{([^{}]*)\}", text)
    if not match:
        return [text]
    return [
        out
        for word in match.group(1).split(",")
        for out in braces(text[: match.start()] + word.strip() + text[match.end() :])
    ]


def numbers(text):
    out = set()
    for part in filter(None, re.split(r"[ ,]+", text)):
        low, _, high = part.partition("-")
        out |= set(range(int(low), int(high or low) + 1))
    return out


def table(top, title):
    """Rows of the first table below the heading `title`: lists of cells."""
    rows, inside = [], False
    with open(os.path.join(top, "docs/HACKING.md"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                inside = line.strip("# \n").lower() == title.lower()
            elif inside and line.startswith("|"):
                rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    if len(rows) < 3:
        sys.exit(f"docs/HACKING.md: no table under '{title}'; the check reads its rules from there")
    return rows[2:]


def patterns(cell):
    return [p for quoted in re.findall(r"`([^`]+)`", cell) for p in braces(quoted)]


def matches(path, pattern):
    if os.path.splitext(pattern)[1] in (".c", ".h"):
        return fnmatch.fnmatchcase(path, pattern)
    return fnmatch.fnmatchcase(os.path.splitext(path)[0], pattern)


def sources(top):
    return sorted(
        os.path.relpath(path, top)
        for side in SIDES
        for path in glob.glob(os.path.join(top, side, "*.[ch]"))
    )


def includes(top, path):
    """(own, name): own headers as paths below top, foreign ones as spelled."""
    with open(os.path.join(top, path), encoding="utf-8") as file:
        text = file.read()
    for quote, name in INCLUDE.findall(text):
        if quote == "<":
            yield False, name
            continue
        here = os.path.dirname(path)
        found = [
            os.path.normpath(os.path.join(side, name))
            for side in (here, *SIDES)
            if os.path.exists(os.path.join(top, side, name))
        ]
        yield (True, found[0]) if found else (False, name)


def check_layers(top):
    rows = [(int(r[0]), patterns(r[1]), numbers(r[2])) for r in table(top, "Layers")]
    layer, faults = {}, []
    for path in sources(top):
        hits = [r for r in rows if any(matches(path, p) for p in r[1])]
        if len(hits) != 1:
            faults.append(f"{path}: in {len(hits)} rows of the layer table; one row must name it")
        else:
            layer[path] = hits[0]
    for number, names, _ in rows:
        for name in names:
            if not any(matches(path, name) for path in layer):
                faults.append(f"docs/HACKING.md: row {number} names `{name}`; there is no such file")
    for path in layer:
        for own, name in includes(top, path):
            if not own or name not in layer:
                continue
            number, _, sees = layer[path]
            other = layer[name][0]
            if other != number and other not in sees:
                faults.append(f"{path} (layer {number}) includes {name} (layer {other}), not below it")
    return faults


def check_doors(top):
    rows = [(patterns(r[0]), patterns(r[1])) for r in table(top, "Doors")]
    faults, seen = [], set()
    for path in sources(top):
        for own, name in includes(top, path):
            for headers, allowed in rows:
                if own or not any(fnmatch.fnmatchcase(name, h) for h in headers):
                    continue
                seen.add(headers[0])
                if not any(matches(path, p) for p in allowed):
                    faults.append(f"{path} includes <{name}>; only these may: {' '.join(allowed)}")
    for headers, allowed in rows:
        if allowed and headers[0] not in seen:
            faults.append(f"docs/HACKING.md: nobody includes {headers[0]}, which has a door there")
    return faults


def check_acyclic(top):
    graph = {
        path: [name for own, name in includes(top, path) if own]
        for path in sources(top)
        if path.endswith(".h")
    }
    faults, done = [], set()

    def walk(path, trail):
        if path in trail:
            faults.append("cycle: " + " -> ".join(trail[trail.index(path) :] + [path]))
            return
        if path in done:
            return
        for name in graph.get(path, []):
            walk(name, trail + [path])
        done.add(path)

    for path in graph:
        walk(path, [])
    return faults


def dot(top):
    edges = set()
    for path in sources(top):
        unit = os.path.splitext(path)[0]
        for own, name in includes(top, path):
            if own and os.path.splitext(name)[0] != unit:
                edges.add((unit, os.path.splitext(name)[0]))
    print("digraph units {")
    for a, b in sorted(edges):
        print(f'\t"{a}" -> "{b}"')
    print("}")
    return []


def main():
    top, what = sys.argv[1], sys.argv[2]
    if not sources(top):
        sys.exit(f"{top}: no sources")
    verbs = {"layers": check_layers, "doors": check_doors, "acyclic": check_acyclic, "dot": dot}
    faults = verbs[what](top)
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
