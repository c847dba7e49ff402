#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the instances that neuron-vm knows as a table in C, for emb_machine.c.

The embedded back end has the chips of one server, so larger ones are left out.
"""

import os
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
sys.path.insert(0, os.path.join(ROOT, "tools"))

from neuron_vm import shapes


def row(shape):
    """The line of struct instance for a shape."""
    mbps = shape.fabric_props.get("link-mbps", "0")
    return f'\t{{ "{shape.name}", &neuron_gen_{shape.type}, {shape.each}, {mbps} }},'


def main():
    for shape in shapes.INSTANCES.values():
        if shape.servers == 1:
            print(row(shape))


if __name__ == "__main__":
    main()
