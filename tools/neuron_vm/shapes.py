# SPDX-License-Identifier: MIT
"""Machines by their public names, and where chips are on the PCI bus."""

import re
from dataclasses import dataclass, field

from .errors import UsageError

TYPES = ("trn1", "inf2", "trn2", "trn3")

# Up to so many chips have a PCI device number each; of more, eight share one.
SINGLE_CHIPS = 16
# Device numbers 6 to 30 of the root bus, eight chips on each.
MOST_CHIPS = 200


@dataclass(frozen=True)
class Shape:
    """What an instance is made of.

    Attributes:
        name: what the guest reads as its product name.
        type: generation of the chips.
        servers, each: servers, and chips of each of them.
        memory: of the guest. It is a little of what the instance has.
        chip_props, fabric_props: properties that differ from the defaults. UltraServers get
            a part of the device memory: all of it would be 6 to 20 TiB of addresses.
    """

    name: str
    type: str
    servers: int
    each: int
    memory: str = "2G"
    chip_props: dict = field(default_factory=dict)
    fabric_props: dict = field(default_factory=dict)

    @property
    def chips(self):
        return self.servers * self.each


INSTANCES = {shape.name: shape for shape in (
    Shape("inf2.xlarge", "inf2", 1, 1),
    Shape("inf2.8xlarge", "inf2", 1, 1),
    Shape("inf2.24xlarge", "inf2", 1, 6),
    Shape("inf2.48xlarge", "inf2", 1, 12),
    Shape("trn1.2xlarge", "trn1", 1, 1),
    Shape("trn1.32xlarge", "trn1", 1, 16, "4G"),
    Shape("trn1n.32xlarge", "trn1", 1, 16, "4G", fabric_props={"link-mbps": "96000"}),
    Shape("trn2.3xlarge", "trn2", 1, 1),
    Shape("trn2.48xlarge", "trn2", 1, 16, "4G"),
    Shape("trn2u.48xlarge", "trn2", 1, 16, "4G", fabric_props={"servers": "4"}),
    Shape("trn2-ultraserver", "trn2", 4, 16, "4G", {"bar4-size": "16G"}),
    Shape("trn3-ultraserver-gen1", "trn3", 4, 16, "4G", {"bar4-size": "16G"}),
    Shape("trn3-ultraserver-gen2", "trn3", 36, 4, "6G", {"bar4-size": "8G"}),
)}


def is_shape(text):
    """Does a word of the command line name one?"""
    return text in INSTANCES or text.partition(":")[0] in TYPES


def find(text):
    """The shape that a word of the command line names: an instance, TYPE or TYPE:CHIPS."""
    if text in INSTANCES:
        return INSTANCES[text]
    match = re.fullmatch(r"([a-z0-9]+)(?::(\d+))?", text)
    if match and match[1] in TYPES:
        return Shape("neuron-emu", match[1], 1, int(match[2] or 1))
    raise UsageError(f"no shape is called '{text}'; a shape is an instance of --instance list, "
                     f"or TYPE or TYPE:CHIPS with a type of {', '.join(TYPES)}")


def table():
    """The instances as the lines of a table."""
    yield f"{'INSTANCE':<22} {'CHIP':<5} {'CHIPS':>5} {'SERVERS':>7}"
    for shape in INSTANCES.values():
        yield f"{shape.name:<22} {shape.type:<5} {shape.chips:>5} {shape.servers:>7}"
