# SPDX-License-Identifier: MIT
"""nki.dtype"""

from neuron_emu import dtypes as _dtypes

__neuron_emu__ = True
for _name in _dtypes.TYPES:
    globals()[_name if _name != "bool" else "bool_"] = _name
