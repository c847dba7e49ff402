# SPDX-License-Identifier: MIT
"""Names and numbers of the interfaces, read from the headers in uapi."""

import os
import re

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../..")


def read_header(header, folder="neuron"):
    """The text of a header without its comments."""
    with open(os.path.join(ROOT, "uapi", folder, header), encoding="utf-8") as file:
        return re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)


def enum(header, prefix, folder="neuron"):
    """The enumerators of a header that begin with a prefix: name without it to value."""
    for body in re.findall(r"enum \w+ \{(.*?)\}", read_header(header, folder), flags=re.S):
        names = [name.strip() for name in body.split(",") if name.strip()]
        if not names[0].startswith(prefix):
            continue
        values, value = {}, 0
        for name in names:
            name, _, given = (part.strip() for part in name.partition("="))
            value = int(given, 0) if given else value
            values[name[len(prefix):]] = value
            value += 1
        return values
    raise LookupError(f"{header} has no enum whose names begin with {prefix}")


def numbers(header):
    """The plain numbers that a header defines: name without NEURON_ to value."""
    found = re.findall(r"^#define NEURON_(\w+)\s+(0x[0-9a-f]+|\d+)\b", read_header(header), re.M)
    return {name: int(value, 0) for name, value in found}
