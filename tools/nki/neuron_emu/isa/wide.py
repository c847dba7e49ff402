# SPDX-License-Identifier: MIT
"""Numbers of fills, which hold every integer of 32 bits."""

import struct

from ..errors import refuse

__neuron_emu__ = True

_DOUBLE = struct.Struct("<d")
_WORDS = struct.Struct("<ii")


def wide_args(number, function):
    """The arguments of a record that has a double."""
    try:
        low, high = _WORDS.unpack(_DOUBLE.pack(float(number)))
    except (TypeError, ValueError):
        refuse(function, "value is a number", repr(number))
    return low, high, 0, 0, 0, 0, 0, 0
