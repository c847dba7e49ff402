# SPDX-License-Identifier: MIT
"""Functions of nki.isa for GpSimd, and those that make random numbers."""

from ..builder import value
from ..errors import refuse
from ..ops import find
from ..trace import GPSIMD, VECTOR, current
from .common import NUMBER, SBUF, alu, chosen, float_bits, needs, packed, same, scalar
from .enums import engine as engines

__neuron_emu__ = True

_F = {name: value("function", name) for name in (
    "iota", "affine_select", "tensor_partition_reduce", "local_gather", "nc_n_gather",
    "nonzero_with_count", "topk", "sequence_bounds", "rng", "rand2", "dropout", "set_rng_seed",
    "rand_set_state", "rand_get_state")}


def _affine(pattern, offset, multiplier, tile, function):
    """(dimensions of the tile as the pattern has them, arguments of the record)."""
    pairs = [(int(step), int(count)) for step, count in pattern]
    if not 1 <= len(pairs) <= 4:
        refuse(function, "pattern has 1 to 4 pairs [step, count]", pattern)
    count = 1
    for _, n in pairs:
        count *= n
    if count != tile.size // tile.shape[0]:
        refuse(function, f"pattern counts the {tile.size // tile.shape[0]} elements of a partition",
               f"{count} in {pattern}")
    steps = [step for step, _ in reversed(pairs)] + [0] * (4 - len(pairs))
    shaped = tile.reshape((tile.shape[0],) + tuple(n for _, n in pairs))
    dims = list(zip(shaped.shape[:0:-1], shaped.strides[:0:-1]))
    return dims, (*steps, int(offset), int(multiplier), 0, 0)


def iota(dst, pattern, offset=0, channel_multiplier=0, name=None):
    """dst = offset + partition * channel_multiplier + the steps of the pattern."""
    dims, args = _affine(pattern, offset, channel_multiplier, dst, "iota")
    return current().add(_F["iota"], GPSIMD, (packed(dst, "dst", "iota", GPSIMD, None, dims),),
                         args=args)


def affine_select(dst, pattern, channel_multiplier, on_true_tile, on_false_value,
                  cmp_op=find("equal"), offset=0, name=None):
    """dst = (that number cmp_op 0) ? on_true_tile : on_false_value."""
    function = "affine_select"
    same(dst, on_true_tile, "dst", "on_true_tile", function)
    dims, args = _affine(pattern, offset, channel_multiplier, dst, function)
    return current().add(_F[function], GPSIMD, (
        packed(dst, "dst", function, GPSIMD, None, dims),
        packed(on_true_tile, "on_true_tile", function, GPSIMD)), alu(cmp_op, function),
        kinds=(NUMBER, 0, 0), numbers=(float_bits(float(on_false_value)), 0, 0), args=args)


def tensor_partition_reduce(dst, op, data, name=None):
    """dst [1, F] = the reduction of data over its partitions."""
    function = "tensor_partition_reduce"
    return current().add(_F[function], GPSIMD, (
        packed(dst, "dst", function, GPSIMD), packed(data, "data", function, GPSIMD)),
        alu(op, function))


def local_gather(dst, src_buffer, index, num_elem_per_idx=1, num_valid_indices=None, name=None):
    """In each 16 partitions, the elements that the indices name."""
    function = "local_gather"
    return current().add(_F[function], GPSIMD, (
        packed(dst, "dst", function, GPSIMD), packed(src_buffer, "src_buffer", function, GPSIMD),
        packed(index, "index", function, GPSIMD)),
        args=(int(num_elem_per_idx), int(num_valid_indices or 0), 0, 0, 0, 0, 0, 0))


def nc_n_gather(dst, data, indices, name=None):
    """dst[i] = data[indices[i]] in each partition."""
    function = "nc_n_gather"
    return current().add(_F[function], GPSIMD, (
        packed(dst, "dst", function, GPSIMD), packed(data, "data", function, GPSIMD),
        packed(indices, "indices", function, GPSIMD)))


def nonzero_with_count(dst, src, index_offset=0, padding_val=-1, name=None):
    """The places of what is not 0, padding, and their number."""
    trace = current()
    function = "nonzero_with_count"
    needs(trace, 3, function)
    return trace.add(_F[function], GPSIMD, (
        packed(dst, "dst", function, GPSIMD), packed(src, "src", function, GPSIMD)),
        args=(int(index_offset), int(padding_val), 0, 0, 0, 0, 0, 0))


def topk(val_dst, idx_dst, src, n, name=None):
    """The largest of n numbers in each 16 partitions, ascending, and their places."""
    return current().add(_F["topk"], GPSIMD, (
        packed(val_dst, "val_dst", "topk", GPSIMD), packed(idx_dst, "idx_dst", "topk", GPSIMD),
        packed(src, "src", "topk", GPSIMD)), args=(int(n), 0, 0, 0, 0, 0, 0, 0))


def sequence_bounds(dst, segment_ids, name=None):
    """dst [1, 2, n] = where the segment of each element begins and ends."""
    function = "sequence_bounds"
    return current().add(_F[function], GPSIMD, (
        packed(dst, "dst", function, GPSIMD),
        packed(segment_ids, "segment_ids", function, GPSIMD)))


def rng(dst, engine=engines.vector, name=None):
    """dst = random bits."""
    trace = current()
    if engine is engines.gpsimd:
        needs(trace, 3, "rng on the gpsimd engine")
    number = chosen(engine, VECTOR, "rng", (VECTOR, GPSIMD))
    return trace.add(_F["rng"], number, (packed(dst, "dst", "rng", number),))


def rand2(dst, min, max, name=None):
    """dst = random numbers from min to max."""
    trace = current()
    needs(trace, 4, "rand2")
    k0, n0, column0 = scalar(min, "min", "rand2", VECTOR)
    k1, n1, column1 = scalar(max, "max", "rand2", VECTOR)
    return trace.add(_F["rand2"], VECTOR, (packed(dst, "dst", "rand2", VECTOR),) + column0 +
                     column1, kinds=(k0, k1, 0), numbers=(n0, n1, 0))


def dropout(dst, data, prob, name=None):
    """dst = data, but 0 with probability prob."""
    same(dst, data, "dst", "data", "dropout")
    k0, n0, column = scalar(prob, "prob", "dropout", VECTOR)
    return current().add(_F["dropout"], VECTOR, (
        packed(dst, "dst", "dropout", VECTOR), packed(data, "data", "dropout", VECTOR)) + column,
        kinds=(k0, 0, 0), numbers=(n0, 0, 0))


def set_rng_seed(src_seeds, name=None):
    """Seed the vector engine's generators."""
    return current().add(_F["set_rng_seed"], VECTOR, (
        packed(src_seeds, "src_seeds", "set_rng_seed", VECTOR),))


def _state_engine(trace, engine, function):
    needs(trace, 3, function)
    if engine is engines.vector:
        needs(trace, 4, f"{function} on the vector engine")
    return chosen(engine, GPSIMD, function, (VECTOR, GPSIMD))


def rand_set_state(src_seeds, engine=engines.gpsimd, name=None):
    """The generators' states."""
    trace = current()
    number = _state_engine(trace, engine, "rand_set_state")
    return trace.add(_F["rand_set_state"], number, (
        packed(src_seeds, "src_seeds", "rand_set_state", number, SBUF),))


def rand_get_state(dst, engine=engines.gpsimd, name=None):
    """dst = the generators' states."""
    trace = current()
    number = _state_engine(trace, engine, "rand_get_state")
    return trace.add(_F["rand_get_state"], number, (
        packed(dst, "dst", "rand_get_state", number, SBUF),))
