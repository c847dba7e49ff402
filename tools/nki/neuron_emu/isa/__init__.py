# SPDX-License-Identifier: MIT
"""nki.isa: each function records an instruction or a transfer."""

from ..errors import NkiValidationError
from ..target import get_nc_sub_version, get_nc_version, nc_version
from ..objects import NKIObject, VirtualRegister
from ..tensor import NkiTensor
from ..trace import NkiInstruction
from .compute import (activate2, activation, activation_reduce, bn_aggr, bn_stats, exponential,
                      max8, memset, nc_find_index8, nc_match_replace8, nc_stream_shuffle,
                      quantize_mx, range_select, reciprocal, scalar_tensor_tensor, select_reduce,
                      tensor_copy, tensor_copy_predicated, tensor_reduce, tensor_scalar,
                      tensor_scalar_cumulative, tensor_scalar_reduce, tensor_tensor,
                      tensor_tensor_scan)
from .cores import core_barrier, sendrecv
from .dma import dma_compute, dma_copy, dma_transpose
from .enums import (dge_mode, dma_engine, engine, gpsimd_engine, matmul_perf_mode, oob_mode,
                    reduce_cmd, scalar_engine, tensor_engine, unknown_engine, vector_engine)
from .gpsimd import (affine_select, dropout, iota, local_gather, nc_n_gather, nonzero_with_count,
                     rand2, rand_get_state, rand_set_state, rng, sequence_bounds, set_rng_seed,
                     tensor_partition_reduce, topk)
from .matmul import nc_matmul, nc_matmul_mx, nc_transpose
from .registers import register_alloc, register_load, register_move, register_store

__neuron_emu__ = True

__all__ = [
    "NKIObject", "NkiInstruction", "NkiTensor", "NkiValidationError", "VirtualRegister",
    "activate2", "activation", "activation_reduce", "affine_select", "bn_aggr", "bn_stats",
    "core_barrier", "dge_mode", "dma_compute", "dma_copy", "dma_engine", "dma_transpose",
    "dropout", "engine", "exponential", "get_nc_sub_version", "get_nc_version", "gpsimd_engine",
    "iota", "local_gather", "matmul_perf_mode", "max8", "memset", "nc_find_index8",
    "nc_match_replace8", "nc_matmul", "nc_matmul_mx", "nc_n_gather", "nc_stream_shuffle",
    "nc_transpose", "nc_version", "nonzero_with_count", "oob_mode", "quantize_mx", "rand2",
    "rand_get_state", "rand_set_state", "range_select", "reciprocal", "reduce_cmd",
    "register_alloc", "register_load", "register_move", "register_store", "rng", "scalar_engine",
    "scalar_tensor_tensor", "select_reduce", "sendrecv", "sequence_bounds", "set_rng_seed",
    "tensor_copy", "tensor_copy_predicated", "tensor_engine", "tensor_partition_reduce",
    "tensor_reduce", "tensor_scalar", "tensor_scalar_cumulative", "tensor_scalar_reduce",
    "tensor_tensor", "tensor_tensor_scan", "topk", "unknown_engine", "vector_engine"
]
