#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""validate.py SCHEMA [--lines]: holds JSON on standard input against a published schema.

The schema itself is checked, too. Here, unlike for users of the schema, members it does not name are faults: what the
program prints and what is published must be the same. With --lines each line is one document, and there is at least one.
"""
import json
import sys

import jsonschema


def tighten(schema):
    if isinstance(schema, dict):
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for value in schema.values():
            tighten(value)
    elif isinstance(schema, list):
        for value in schema:
            tighten(value)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    tighten(schema)
    text = sys.stdin.read()
    documents = text.splitlines() if "--lines" in sys.argv else [text]
    if not documents:
        sys.exit("nothing to validate")
    validator = jsonschema.Draft202012Validator(schema)
    faults = [error for text in documents for error in validator.iter_errors(json.loads(text))]
    for error in faults[:5]:
        print(f"{error.json_path}: {error.message}")
    sys.exit(1 if faults else 0)


main()
