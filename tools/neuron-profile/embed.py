#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write files as C arrays.

usage: embed.py NAME=FILE...

Each becomes `static const unsigned char NAME[]`, without a zero at its end.
"""
import pathlib
import sys


def array(name, data):
    """The definition of one array."""
    rows = [", ".join(str(byte) for byte in data[at:at + 24]) for at in range(0, len(data), 24)]
    return f"static const unsigned char {name}[] = {{\n" + ",\n".join(rows) + "\n};\n"


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        key, _, path = argument.partition("=")
        print(array(key, pathlib.Path(path).read_bytes()))
