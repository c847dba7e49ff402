# SPDX-License-Identifier: MIT
"""Grids of programs: nl.nc and nl.spmd_dim say which of them run on which core."""

import math

__neuron_emu__ = True


class nc(int):
    """nl.nc(2): programs along this dimension are those of several cores."""

    def __mul__(self, other):
        return spmd_dim(self, other)

    def __rmul__(self, other):
        return spmd_dim(other, self)


def spmd_dim(*parts):
    """A dimension of a grid out of several: nl.spmd_dim(nl.nc(2), 4) is nl.nc(2) * 4.

    Programs run in order, so only their number matters here.
    """
    return math.prod(int(n) for n in parts)
