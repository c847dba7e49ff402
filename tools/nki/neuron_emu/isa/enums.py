# SPDX-License-Identifier: MIT
"""Enumerations of nki.isa."""

import enum

__neuron_emu__ = True


class engine(enum.Enum):
    """The engines."""
    unknown = 0
    tensor = 1
    scalar = 2
    gpsimd = 3
    dma = 4
    vector = 5
    sync = 6
    __hash__ = object.__hash__


class reduce_cmd(enum.Enum):
    """What becomes of the accumulators."""
    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4
    __hash__ = object.__hash__


class dge_mode(enum.Enum):
    """Who makes the descriptors of a transfer."""
    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3
    __hash__ = object.__hash__


class oob_mode(enum.Enum):
    """What an index out of bounds does."""
    error = 0
    skip = 1
    __hash__ = object.__hash__


class matmul_perf_mode(enum.Enum):
    """How the tensor engine multiplies."""
    none = "none"
    double_row = "double_row"
    __hash__ = object.__hash__


class dma_engine(enum.Enum):
    """Which engine exchanges tiles of two cores."""
    dma = 1
    gpsimd_dma = 2
    __hash__ = object.__hash__


tensor_engine = engine.tensor
vector_engine = engine.vector
scalar_engine = engine.scalar
gpsimd_engine = engine.gpsimd
unknown_engine = engine.unknown
