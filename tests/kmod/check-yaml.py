#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""check-yaml.py HEADER YAML: names and numbers of the uapi header and its YAML twin are equal.

Reads the YAML by its own plain lines, so that no YAML library is needed."""
import re
import sys


def header_enums(text):
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
    enums = {}
    for name, body in re.findall(r'enum cpuidle_policy_(\w+) \{(.*?)\};', text, re.S):
        value, entries = -1, []
        for item in filter(None, (x.strip() for x in body.split(','))):
            key, _, expr = (x.strip() for x in item.partition('='))
            if '__' in key or '__' in expr:
                continue
            value = eval(expr) if expr else value + 1  # only "1 << n" and numbers stand there
            entries.append((key, value))
        enums[name] = entries
    return enums


def yaml_lists(text):
    """-> {(section, name): [entries]} for definitions, attribute sets and operations"""
    out, section, name = {}, None, None
    text = re.sub(r',\n\s+', ', ', text)
    for line in text.splitlines():
        top = re.match(r'(\w[\w-]*):', line)
        if top:
            section = top.group(1)
        named = re.match(r'    name: (\S+)', line) or re.match(r'      name: (\S+)', line)
        if named:
            name = named.group(1)
            if section == 'operations':
                out.setdefault(('operations', 'cmd'), []).append([name, None])
        entries = re.match(r'    entries: \[ (.*) \]', line)
        if entries:
            out[section, name] = re.split(r',\s*', entries.group(1))
        attr = re.match(r'      - \{ name: ([\w-]+), type: (\w+)', line)
        if attr:
            out.setdefault((section, name), []).append(attr.group(1))
        value = re.match(r'      value: (\d+)', line)
        if value:
            out['operations', 'cmd'][-1][1] = int(value.group(1))
    return out


def main():
    enums = header_enums(open(sys.argv[1]).read())
    lists = yaml_lists(open(sys.argv[2]).read())
    bad = 0

    def compare(what, prefix, header, twin):
        nonlocal bad
        want = [(k, v) for k, v in header if not k.endswith('_UNSPEC') or what == 'lease']
        have = [('CPUIDLE_POLICY_%s_%s' % (prefix, n.replace('-', '_').upper()), v)
                for n, v in twin]
        if want != have:
            bad = 1
            print('%s differs:\n header %s\n yaml   %s' % (what, want, have))

    for what in ('broadcast', 'poll', 'c1', 'row', 'ioport', 'lease'):
        names = lists['definitions', what]
        compare(what, what.upper(), enums[what], [(n, i) for i, n in enumerate(names)])
    for what, enum in (('f', 'feature'), ('sf', 'state_flag')):
        names = lists['definitions', what]
        compare(what, what.upper(), enums[enum], [(n, 1 << i) for i, n in enumerate(names)])
    for what, enum in (('a', 'attr'), ('state', 'state_attr'), ('rule', 'rule_attr'),
                       ('qos', 'qos_attr'), ('cpu', 'cpu_attr')):
        names = lists['attribute-sets', what]
        compare(what, what.upper(), enums[enum], [(n, i + 1) for i, n in enumerate(names)])
    compare('cmd', 'CMD', enums['cmd'], [tuple(x) for x in lists['operations', 'cmd']])
    if not bad:
        print('uapi header and YAML are equal')
    return bad


sys.exit(main())
