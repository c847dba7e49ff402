# SPDX-License-Identifier: MIT
"""What neuronxcc.nki.language and neuronxcc.nki.isa have, and what is said of other names."""

import functools
import inspect

from ..errors import place, refuse

__neuron_emu__ = True

LANGUAGE = (
    "abs", "add", "affine_range", "all", "all_reduce", "arctan", "atomic_rmw", "bfloat16", "bfp16",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bool_", "broadcast_to", "ceil", "copy", "cos",
    "device_print", "divide", "dropout", "empty_like", "equal", "erf", "erf_dx", "exp",
    "expand_dims", "finfo", "float16", "float32", "float8_e4m3", "float8_e5m2", "floor", "fmod",
    "fp32", "full", "gather_flattened", "gelu", "gelu_apprx_sigmoid", "gelu_apprx_tanh", "gelu_dx",
    "greater", "greater_equal", "hbm", "int16", "int32", "int8", "invert", "left_shift", "less",
    "less_equal", "load", "load_transpose2d", "log", "logical_and", "logical_not", "logical_or",
    "logical_xor", "loop_reduce", "matmul", "max", "maximum", "mean", "min", "minimum", "mish",
    "mod", "multiply", "ndarray", "negative", "not_equal", "num_programs", "ones", "par_dim",
    "power", "private_hbm", "prod", "program_id", "program_ndim", "psum", "rand", "random_seed",
    "reciprocal", "relu", "right_shift", "rms_norm", "rsqrt", "sbuf", "sequential_range",
    "shared_constant", "shared_hbm", "shared_identity_matrix", "sigmoid", "sign", "silu",
    "silu_dx", "sin", "softmax", "softplus", "sqrt", "square", "static_cast", "static_range",
    "store", "subtract", "sum", "tan", "tanh", "tfloat32", "transpose", "trunc", "uint16",
    "uint32", "uint8", "var", "where", "zeros", "zeros_like")

ISA = (
    "activation", "activation_reduce", "affine_select", "bn_aggr", "bn_stats", "dge_mode",
    "dma_copy", "dma_transpose", "dropout", "engine", "fp32", "get_nc_version", "gpsimd_engine",
    "iota", "local_gather", "max8", "memset", "nc_find_index8", "nc_match_replace8", "nc_matmul",
    "nc_stream_shuffle", "nc_transpose", "oob_mode", "range_select", "reciprocal", "reduce_cmd",
    "scalar_engine", "scalar_tensor_tensor", "select_reduce", "sequence_bounds", "tensor_copy",
    "tensor_copy_dynamic_dst", "tensor_copy_dynamic_src", "tensor_copy_predicated",
    "tensor_engine", "tensor_partition_reduce", "tensor_reduce", "tensor_scalar",
    "tensor_scalar_cumulative", "tensor_scalar_reduce", "tensor_tensor", "tensor_tensor_scan",
    "unknown_engine", "vector_engine")


def missing(module, name):
    """A name that the public documentation of Beta 1 does not explain, or that is not here."""
    raise AttributeError(f"{place()}: neuronxcc.{module}.{name} is not here; the names are those "
                         "that the public documentation of NKI Beta 1 explains")


def checked(name, function):
    """A function of Beta 1 that takes any option: it refuses those that it does not know.

    Every function has the option `name`, which changes nothing.
    """
    if not inspect.isfunction(function):
        return function
    options = inspect.signature(function).parameters.values()
    kinds = {option.kind for option in options}
    if inspect.Parameter.VAR_KEYWORD not in kinds or inspect.Parameter.VAR_POSITIONAL in kinds:
        return function
    known = {option.name for option in options} | {"name"}

    @functools.wraps(function)
    def call(*args, **kwargs):
        if not known.issuperset(kwargs):
            unknown = min(set(kwargs) - known)
            refuse(name, f"the options are {', '.join(sorted(known - {'kwargs'}))}", unknown)
        return function(*args, **kwargs)
    return call
