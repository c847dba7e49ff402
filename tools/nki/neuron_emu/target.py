# SPDX-License-Identifier: MIT
"""The NeuronCore that kernels are for, and its sizes."""

import enum
import os
import threading

from . import builder
from .errors import NkiError

__neuron_emu__ = True

INSTANCE = "NEURON_EMU_INSTANCE"
VARIABLE = "NEURON_PLATFORM_TARGET_OVERRIDE"
NAMES = {"trn1": 2, "inf2": 2, "gen2": 2, "trn1n": 2, "trn2": 3, "gen3": 3, "trn3": 4, "gen4": 4}
INSTANCES = {2: "trn1", 3: "trn2", 4: "trn3"}
_state = threading.local()


class nc_version(enum.Enum):
    """Generations of the NeuronCore."""
    gen2 = 2
    gen3 = 3
    gen4 = 4

    def __lt__(self, other):
        return self.value < other.value

    def __le__(self, other):
        return self.value <= other.value

    def __gt__(self, other):
        return self.value > other.value

    def __ge__(self, other):
        return self.value >= other.value


def generation_of(name, said_by=VARIABLE):
    """2, 3 or 4 from a name such as trn2."""
    key = str(name).lower().partition(".")[0].partition(":")[0]
    if key not in NAMES:
        raise NkiError(f"{said_by}={name}: there is no such target; "
                       f"{', '.join(sorted(NAMES))}")
    return NAMES[key]


def choose(default, told=None):
    """The generation for a kernel that is called now; `told` is what the kernel says."""
    name = os.environ.get(VARIABLE)
    if name:
        return generation_of(name)
    if told is not None:
        return generation_of(told, "platform_target")
    instance = os.environ.get(INSTANCE)
    return generation_of(instance, INSTANCE) if instance else default


def generation():
    """That of the kernel that is traced; outside of one what the environment says."""
    value = getattr(_state, "generation", None)
    return value if value is not None else choose(3)


def set_generation(value):
    """For the kernel that is traced in this thread; None: there is none. Returns the old one."""
    old = getattr(_state, "generation", None)
    _state.generation = value
    return old


def get_nc_version():
    """The generation as a member of nc_version."""
    return nc_version(generation())


def get_nc_sub_version():
    """The revision of the silicon: the first one."""
    return 0


class TileSize:
    """Sizes of the NeuronCore that kernels are traced for."""

    pmax = 128
    psum_fmax = 512
    psum_bank_fmax = 512
    psum_bank_fmax_bytes = 2048
    gemm_stationary_fmax = 128
    gemm_moving_fmax = 512
    bn_stats_fmax = 512
    psum_min_align = 4
    sbuf_min_align = 1
    psum_num_banks = 8

    @property
    def sbuf_fmax_bytes(self):
        """Bytes of SBUF in a partition."""
        return builder.value("sbuf", str(generation()))

    @property
    def total_available_sbuf_size(self):
        """The same under its old name."""
        return self.sbuf_fmax_bytes

    @property
    def sbuf_fmax(self):
        """FP32 elements of SBUF in a partition."""
        return self.sbuf_fmax_bytes // 4

    @property
    def sbuf_size_bytes(self):
        """Bytes of SBUF in all partitions."""
        return self.sbuf_fmax_bytes * self.pmax


tile_size = TileSize()
