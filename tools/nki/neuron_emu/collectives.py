# SPDX-License-Identifier: MIT
"""nki.collectives: what the ranks of a kernel do together.

Each call becomes one collective of the NEFF, with lists where there are several tensors. Its
tensors are whole ones in HBM; what else a kernel names goes by way of such a tensor.
"""

import numpy as np

from . import dtypes
from .builder import value
from .errors import refuse
from .isa import transfer
from .isa.common import needs
from .isa.constants import hbm_constant
from .isa.cores import meet
from .isa.registers import known_place, load_on, rank_register, table_register
from .ops import operator
from .objects import NKIObject
from .tensor import MemoryRegion, NkiTensor, chip_type
from .trace import GPSIMD, PLACE, current, enter

__neuron_emu__ = True

__all__ = ["ReplicaGroup", "all_gather", "all_gather_v", "all_reduce", "all_to_all", "all_to_all_v",
           "collective_permute", "collective_permute_implicit",
           "collective_permute_implicit_current_processing_rank_id",
           "collective_permute_implicit_reduce", "rank_id", "reduce_scatter"]

_COLLECTIVE = value("function", "collective")
_REDUCE = {"add": "add", "minimum": "min", "maximum": "max"}
_DMA = {"add": transfer.ADD, "min": value("dma", "min"), "max": value("dma", "max")}
# What only moves is moved as integers.
_MOVED = {1: "uint8", 2: "uint16", 4: "uint32"}
# Of a NEFF (Documentation/libnrt/neff.rst).
MOST = 1024
MOST_TENSORS = 64
# From here on the two more passes through HBM of a list cost more than a collective does.
ALONE_BYTES = 1 << 20
MOST_LISTS = 16
MOST_CHANNELS = 4
HBM = (MemoryRegion.private_hbm, MemoryRegion.shared_hbm)


class ReplicaGroup(NKIObject):
    """Lists of ranks, in each of which a collective is carried out by itself."""

    def __init__(self, groups):
        super().__init__()
        try:
            self.groups = tuple(tuple(int(rank) for rank in group) for group in groups)
        except (TypeError, ValueError):
            refuse("ReplicaGroup", "it is made of lists of ranks", repr(groups))
        ranks = [rank for group in self.groups for rank in group]
        if not ranks or not all(self.groups) or min(ranks) < 0:
            refuse("ReplicaGroup", "it has lists of ranks, which are numbers from 0 on",
                   self.lists())
        if len(set(ranks)) != len(ranks):
            twice = next(rank for rank in ranks if ranks.count(rank) > 1)
            refuse("ReplicaGroup", "a rank is in one list, once", f"rank {twice} in {self.lists()}")

    def lists(self):
        """The lists of ranks."""
        return [list(group) for group in self.groups]

    def __repr__(self):
        return f"ReplicaGroup({self.lists()})"

    def __eq__(self, other):
        return isinstance(other, ReplicaGroup) and self.groups == other.groups

    def __hash__(self):
        return hash(self.groups)


class Collective:
    """One of a NEFF: names as nb_collective() has them, numbers of tensors in HBM, as many srcs as
    dsts, and their bytes."""

    __slots__ = ("op", "reduce", "dtype", "srcs", "dsts", "groups", "pairs", "priority",
                 "metadata", "recv_counts_known", "has_rdispls", "record")

    def __init__(self, op, reduce, dtype, tensors, groups, pairs, priority, varied):
        self.op = op
        self.reduce = reduce
        self.dtype = dtype
        self.srcs, self.dsts = (
            tuple((tensor.storage.slot, tensor.storage.bytes) for tensor in some)
            for some in zip(*tensors))
        self.groups = groups
        self.pairs = pairs
        self.priority = priority
        # The number of a tensor, too; -1: all sizes are known while the kernel is traced.
        self.metadata, self.recv_counts_known, self.has_rdispls = varied
        # That starts it, in the trace.
        self.record = None

    def key(self):
        """What it is, as a tuple."""
        return tuple(getattr(self, name) for name in self.__slots__[:-1])


# --- Rules ---

def _begin(function, priority=None):
    """The trace of a kernel in which a collective may be started."""
    trace = current()
    if trace.loops:
        refuse(function, "a collective is started once: not in a loop on the device",
               fix="unroll the loop with range()")
    if trace.programs > trace.cores:
        refuse(function, "the grid of a kernel with collectives is that of the cores of a pair",
               f"{trace.programs} programs on one core")
    if priority is not None:
        needs(trace, 4, f"{function} with a priority")
        if priority not in (0, 1, 2, 3):
            refuse(function, "priority is 0 to 3", priority)
    return trace


def _groups(trace, replica_group, function):
    """The lists of a ReplicaGroup; each rank is in one of them."""
    if not isinstance(replica_group, ReplicaGroup):
        refuse(function, "replica_group is a ReplicaGroup", type(replica_group).__name__)
    groups = replica_group.groups
    ranks = {rank for group in groups for rank in group}
    if max(ranks) >= trace.ranks:
        refuse(function, f"the kernel runs on ranks 0 to {trace.ranks - 1}", f"rank {max(ranks)}",
               "call it on more ranks with neuron_emu.run_ranks()")
    if len(ranks) != trace.ranks:
        missing = min(set(range(trace.ranks)) - ranks)
        refuse(function, f"each of the {trace.ranks} ranks is in a list of the replica group",
               f"{replica_group.lists()}, which lacks rank {missing}")
    if len({len(group) for group in groups}) > 1:
        refuse(function, "the lists of a replica group have the same length", replica_group.lists())
    if len(groups) > MOST_LISTS:
        refuse(function, f"a replica group has at most {MOST_LISTS} lists", len(groups))
    return groups


def _tensors(srcs, dsts, function, sbuf=True):
    """Pairs of tensors of one type; all of them in HBM, or a single pair in SBUF."""
    for what, some in (("srcs", srcs), ("dsts", dsts)):
        if not isinstance(some, (list, tuple)) or not some or \
                not all(isinstance(tensor, NkiTensor) for tensor in some):
            refuse(function, f"{what} is a list of tensors", repr(some))
    if len(srcs) != len(dsts):
        refuse(function, "srcs and dsts have as many tensors", f"{len(srcs)} and {len(dsts)}")
    for src, dst in zip(srcs, dsts):
        _pair(src, dst, function)
    places = {tensor.buffer in HBM for tensor in (*srcs, *dsts)}
    if len(places) == 2:
        refuse(function, "all tensors lie in HBM, or all in SBUF")
    if places == {False}:
        if not sbuf:
            refuse(function, "the tensors lie in HBM", "sbuf",
                   "copy them with nisa.dma_copy first")
        if len(srcs) > 1:
            refuse(function, "several tensors at once lie in HBM", "sbuf",
                   "call it once for each tensor")
    return list(zip(srcs, dsts))


def _different(tensors, function):
    """No two of a call are the same bytes, but for the src and the dst of a pair."""
    def place(tensor):
        if _is_whole(tensor):
            return id(tensor.storage)
        return (id(tensor.storage), tensor.offset * tensor.itemsize, tensor.itemsize,
                *((n, step) for n, step in zip(tensor.shape, tensor.strides) if n > 1))

    written = [place(dst) for _, dst in tensors]
    if len(set(written)) != len(written):
        refuse(function, "dsts are different tensors", "one of them twice")
    for (src, _), own in zip(tensors, written):
        read = place(src)
        if read in written and read != own:
            refuse(function, "no pair reads what another pair of the call writes",
                   "one of srcs is in dsts of another pair")


def _pair(src, dst, function):
    for what, tensor in (("src", src), ("dst", dst)):
        if tensor.buffer is MemoryRegion.psum:
            refuse(function, f"{what} lies in HBM or SBUF", "psum",
                   "copy it to SBUF with nisa.tensor_copy first")
        known_place(tensor, what, function)
    if src.dtype != dst.dtype:
        refuse(function, "src and dst have one type", f"{src.dtype} and {dst.dtype}")


def _sizes(src, dst, more, fewer, function):
    """dst has `more` times the elements of src, or a `fewer`-th of them."""
    if src.size * more == dst.size * fewer:
        return
    rule = "as many elements as src" if more == fewer else (
        f"{more} times the elements of src" if more > fewer else f"1/{fewer} of src's elements")
    refuse(function, f"dst has {rule}", f"{dst.size} and {src.size} (shapes {dst.shape} and "
           f"{src.shape})")


def _dim(dim, src, function, sbuf_dims=(0,)):
    allowed = (0,) if src.buffer in HBM else sbuf_dims
    if dim not in allowed:
        refuse(function, "collective_dim is " + " or ".join(map(str, allowed)) +
               f" for tensors in {'HBM' if src.buffer in HBM else 'SBUF'}", repr(dim))


def _reduction(op, dtype, function):
    name = operator(op, function).name
    if name not in _REDUCE:
        refuse(function, "op is nl.add, nl.minimum or nl.maximum", f"nl.{name}")
    if dtype in dtypes.PACKED or dtype not in dtypes.FLOATS | dtypes.INTEGERS:
        refuse(function, "DMA engines calculate with numbers", dtype)
    return _REDUCE[name]


# --- Tensors of the NEFF ---

def _is_whole(tensor):
    """A tensor in HBM, with all that it has, in its order."""
    storage = tensor.storage
    return (tensor.buffer in HBM and storage.role != "constant" and not tensor.offset and
            tensor.is_contiguous() and tensor.size * tensor.itemsize == storage.bytes)


def _own(trace, tensor, function):
    """Of two cores the first one does the work, so both have to see the bytes."""
    if trace.cores == 1:
        return
    if tensor.buffer is not MemoryRegion.shared_hbm:
        refuse(function, "with LNC 2 tensors lie in shared_hbm", tensor.buffer.name,
               "copy the tensor to one in nl.shared_hbm first")


def _scratch(trace, shape, dtype, use=None):
    """A tensor of the NEFF for the time of a call.

    It is one of the last call but one, if there is one that was for the same `use`: the data of
    the last call may still be on its way. Of two cores, only the one that has read it then may
    write it before both meet.
    """
    now = len(trace.collectives)
    known = trace.scratch.setdefault((shape, dtype, use), [])
    if known and known[0][0] + 1 < now:
        tensor = known.pop(0)[1]
    elif trace.cores == 2:
        tensor = trace.shared_scratch(shape, dtype)
    else:
        tensor = trace.hbm_tensor(shape, dtype, MemoryRegion.private_hbm, "")
    known.append((now, tensor))
    return tensor


def _source(trace, tensor, function):
    """The tensor of the NEFF that has what `tensor` has."""
    _own(trace, tensor, function)
    if _is_whole(tensor):
        return tensor
    scratch = _scratch(trace, tensor.shape, tensor.dtype)
    if not trace.core:
        transfer.copy(trace, scratch, tensor)
    return scratch


def _destination(trace, tensor, function, kept):
    """The tensor of the NEFF that is written; it is `tensor`, or is copied there afterwards.

    `kept`: some ranks write nothing to it.
    """
    _own(trace, tensor, function)
    if tensor.storage.slot is not None:
        trace.written(tensor.storage)
    if _is_whole(tensor):
        return tensor
    scratch = _scratch(trace, tensor.shape, tensor.dtype)
    if kept and not trace.core:
        transfer.copy(trace, scratch, tensor)
    return scratch


def _start(trace, op, tensors, groups, function, reduce="", pairs=(), priority=None,
           varied=(-1, False, False)):
    """The record of a collective of pairs of tensors of the NEFF, all of one type."""
    number = len(trace.collectives)
    if number == MOST:
        refuse(function, f"a kernel has at most {MOST} collectives", f"one more at {function}")
    src = tensors[0][0]
    dtype = chip_type(src.dtype if reduce else _MOVED[src.itemsize])
    trace.collectives.append(Collective(op, reduce, dtype, tensors, groups, tuple(pairs),
                                        priority or 0, varied))
    if trace.core:
        return None
    trace.collectives[-1].record = len(trace.records)
    return trace.add(_COLLECTIVE, GPSIMD, (), args=(number, 0, 0, 0, 0, 0, 0, 0))


def _both(trace):
    """Both cores of a pair meet; returns the instruction, if there is one."""
    return meet(trace, GPSIMD) if trace.cores == 2 else None


def _is_of_each(trace, src, dst, function):
    """Does each core of a pair have tensors of its own? Else both see the same ones."""
    if trace.cores == 1:
        return False
    own = [tensor.buffer is not MemoryRegion.shared_hbm for tensor in (src, dst)]
    if own[0] != own[1]:
        refuse(function, "with LNC 2 src and dst lie both in shared_hbm, or neither does",
               f"{src.buffer.name} and {dst.buffer.name}")
    return own[0]


def _staged(trace, src, dst, shape, kept):
    """Pairs of tensors that the first core moves, one for each core: this one fills its own."""
    pairs = [(_scratch(trace, src.shape, src.dtype, ("src", core)),
              _scratch(trace, shape, dst.dtype, ("dst", core))) for core in range(trace.cores)]
    transfer.copy(trace, pairs[trace.core][0], src)
    if kept:
        transfer.copy(trace, pairs[trace.core][1], dst)
    return pairs


def _lists(tensors, reduce):
    """The pairs of each collective: of one type, and as many as it can have."""
    lists = {}
    for pair in tensors:
        kind = pair[0].dtype if reduce else pair[0].itemsize
        alone = max(tensor.storage.bytes for tensor in pair) >= ALONE_BYTES
        lists.setdefault((kind, id(pair) if alone else None), []).append(pair)
    return [some[i:i + MOST_TENSORS] for some in lists.values()
            for i in range(0, len(some), MOST_TENSORS)]


def _do(trace, op, tensors, groups, function, unpack=None, kept=False, reduce="", **options):
    """A collective of pairs of tensors; several of them if those are of several types, or many."""
    def shape(src, dst):
        return dst.shape if unpack is None else (len(groups[0]),) + src.shape

    _different(tensors, function)
    give = transfer.copy if unpack is None else unpack
    staged = [_staged(trace, src, dst, shape(src, dst), kept)
              if _is_of_each(trace, src, dst, function) else None for src, dst in tensors]
    _both(trace)
    moved, behind = [], []
    for (src, dst), pairs in zip(tensors, staged):
        if pairs:
            moved += pairs
            continue
        into = _destination(trace, dst, function, kept) if unpack is None else _scratch(
            trace, shape(src, dst), src.dtype)
        moved.append((_source(trace, src, function), into))
        if into is not dst:
            behind.append((dst, into))
    handle = None
    for some in _lists(moved, reduce):
        handle = _start(trace, op, some, groups, function, reduce=reduce, **options)
    if not trace.core:
        for dst, into in behind:
            handle = give(trace, dst, into)
    met = _both(trace)
    # The second core starts none.
    handle = met if handle is None else handle
    for (_, dst), pairs in zip(tensors, staged):
        if pairs:
            handle = give(trace, dst, pairs[trace.core][1])
    return handle


def finish(trace):
    """A kernel ends when its last collective does: GpSimd reads a word of what it has written."""
    if not trace.collectives or trace.cores > 1 or not trace.free_registers:
        return
    last = trace.collectives[-1]
    # Who is no target of a permute has perhaps nothing there.
    if last.pairs and len(last.pairs) < len(last.groups[0]):
        return
    storage = trace.hbm[last.dsts[-1][0]]
    if storage.bytes < 4:
        return
    word = NkiTensor((1,), "uint32", storage)
    at = len(trace.records)
    before = enter(trace)
    try:
        load_on(trace.register(), word, GPSIMD)
    finally:
        enter(before)
    load, start = trace.records[at], trace.records[last.record]
    trace.records[at] = load[:PLACE.start] + start[PLACE] + load[PLACE.stop:]


# --- The functions ---

def all_reduce(srcs, dsts, replica_group, op, priority=None, name=None):
    """Each rank gets the sum, the least or the greatest of all ranks' elements."""
    function = "all_reduce"
    trace = _begin(function, priority)
    groups = _groups(trace, replica_group, function)
    tensors = _tensors(srcs, dsts, function)
    for src, dst in tensors:
        _sizes(src, dst, 1, 1, function)
        reduce = _reduction(op, src.dtype, function)
    return _do(trace, "all_reduce", tensors, groups, function, reduce=reduce, priority=priority)


def all_gather(srcs, dsts, replica_group, collective_dim, priority=None, name=None):
    """Each rank gets the tensors of all, one behind the other in the order of the group."""
    function = "all_gather"
    trace = _begin(function, priority)
    groups = _groups(trace, replica_group, function)
    tensors = _tensors(srcs, dsts, function)
    for src, dst in tensors:
        _dim(collective_dim, src, function, (0, 1))
        _sizes(src, dst, len(groups[0]), 1, function)
        if src.buffer not in HBM and (src.ndim != 2 or dst.ndim != 2):
            refuse(function, "tensors in SBUF have two dimensions", f"{src.shape}, {dst.shape}")
    on_chip = tensors[0][0].buffer not in HBM

    def unpack(trace, dst, gathered):
        step = dst.shape[collective_dim] // len(groups[0])
        for i in range(len(groups[0])):
            part = slice(i * step, (i + 1) * step)
            handle = transfer.copy(trace, dst[part] if collective_dim == 0 else dst[:, part],
                                   gathered[i])
        return handle

    return _do(trace, "all_gather", tensors, groups, function, unpack if on_chip else None,
               priority=priority)


def reduce_scatter(srcs, dsts, replica_group, collective_dim, op, priority=None, name=None):
    """Each rank gets its part of the sum, of the least or of the greatest elements."""
    function = "reduce_scatter"
    trace = _begin(function, priority)
    groups = _groups(trace, replica_group, function)
    tensors = _tensors(srcs, dsts, function)
    for src, dst in tensors:
        _dim(collective_dim, src, function)
        _sizes(src, dst, 1, len(groups[0]), function)
        reduce = _reduction(op, src.dtype, function)
    return _do(trace, "reduce_scatter", tensors, groups, function, reduce=reduce,
               priority=priority)


def all_to_all(srcs, dsts, replica_group, collective_dim, priority=None, name=None):
    """Each rank gets, from each rank, the part that is for it."""
    function = "all_to_all"
    trace = _begin(function, priority)
    groups = _groups(trace, replica_group, function)
    tensors = _tensors(srcs, dsts, function, sbuf=False)
    for src, dst in tensors:
        _dim(collective_dim, src, function)
        _sizes(src, dst, 1, 1, function)
        if src.size % len(groups[0]):
            refuse(function, f"src has a part for each of the {len(groups[0])} ranks of a list",
                   f"{src.size} elements (shape {src.shape})")
    return _do(trace, "alltoall", tensors, groups, function, priority=priority)


def _is_private(trace, tensor):
    """Has each core of a pair a tensor of its own?"""
    return trace.cores == 2 and tensor.buffer is not MemoryRegion.shared_hbm


def _metadata(trace, metadata, rows, count, function):
    """The tensor of the NEFF with the rows of numbers."""
    if not isinstance(metadata, NkiTensor):
        refuse(function, "metadata_tensor is a tensor", type(metadata).__name__)
    shape = (rows, count) if metadata.buffer in HBM else (1, rows, count)
    if metadata.dtype != "uint32" or metadata.shape != shape or \
            metadata.buffer is MemoryRegion.psum:
        refuse(function, f"metadata_tensor is uint32 [{rows}, {count}] in HBM or "
               f"[1, {rows}, {count}] in SBUF: send_counts, send_displs, recv_counts"
               f"{', recv_displs' if rows == 4 else ''} of {count} ranks",
               f"{metadata.dtype} {list(metadata.shape)} in {metadata.buffer.name}")
    known_place(metadata, "metadata_tensor", function)
    if not _is_private(trace, metadata):
        return _source(trace, metadata, function)
    # Each core has its own; those of the first one count for the rank.
    scratch = _scratch(trace, metadata.shape, metadata.dtype, "metadata")
    if not trace.core:
        transfer.copy(trace, scratch, metadata)
    return scratch


def _vary(function, op, srcs, dsts, replica_group, metadata, recv_counts_known, has_rdispls,
          priority):
    """A collective whose counts are known only when the kernel runs."""
    trace = _begin(function, priority)
    needs(trace, 3, function)
    groups = _groups(trace, replica_group, function)
    count = len(groups[0])
    tensors = _tensors(srcs, dsts, function, sbuf=False)
    if len(tensors) > 1:
        refuse(function, "srcs and dsts have one tensor each", len(tensors))
    src, dst = tensors[0]
    _sizes(src, dst, count if op == "all_gatherv" else 1, 1, function)
    if dst.size % count:
        refuse(function, f"dst has a part for each of the {count} ranks of a list",
               f"{dst.size} elements (shape {dst.shape})")
    _both(trace)
    meta = _metadata(trace, metadata, 4 if has_rdispls else 3, count, function)
    if not recv_counts_known and metadata.storage.slot is not None:
        trace.written(metadata.storage)
    into = _destination(trace, dst, function, True)
    handle = _start(trace, op, [(_source(trace, src, function), into)], groups, function,
                    priority=priority,
                    varied=(meta.storage.slot, bool(recv_counts_known), bool(has_rdispls)))
    if not trace.core and into is not dst:
        handle = transfer.copy(trace, dst, into)
    back = meta is not metadata and not recv_counts_known
    private = _is_private(trace, metadata)
    if back and not private and not trace.core:
        transfer.copy(trace, metadata, meta)
    met = _both(trace)
    if back and private:
        return transfer.copy(trace, metadata, meta)
    return met if handle is None else handle


def all_gather_v(srcs, dsts, replica_group, metadata_tensor, recv_counts_known=False,
                 has_rdispls=False, priority=None, name=None):
    """Each rank gets as many elements of each rank as that one's metadata say."""
    return _vary("all_gather_v", "all_gatherv", srcs, dsts, replica_group, metadata_tensor,
                 recv_counts_known, has_rdispls, priority)


def all_to_all_v(srcs, dsts, replica_group, metadata_tensor, recv_counts_known=False,
                 has_rdispls=False, priority=None, name=None):
    """Each rank gets, from each rank, as many elements as that one's metadata say."""
    return _vary("all_to_all_v", "alltoallv", srcs, dsts, replica_group, metadata_tensor,
                 recv_counts_known, has_rdispls, priority)


def collective_permute(srcs, dsts, source_target_pairs, priority=None, name=None):
    """The tensor of each source goes to its target. Who is no target keeps what dst has."""
    function = "collective_permute"
    trace = _begin(function, priority)
    tensors = _tensors(srcs, dsts, function, sbuf=False)
    if len(tensors) > 1:
        refuse(function, "srcs and dsts have one tensor each", len(tensors))
    _sizes(*tensors[0], 1, 1, function)
    pairs = []
    for pair in source_target_pairs:
        pair = tuple(int(rank) for rank in pair)
        if len(pair) != 2 or not all(0 <= rank < trace.ranks for rank in pair):
            refuse(function, f"a pair is a source and a target, ranks from 0 to {trace.ranks - 1}",
                   pair, "call the kernel on more ranks with neuron_emu.run_ranks()")
        pairs.append(pair)
    for i, what in enumerate(("source", "target")):
        ranks = [pair[i] for pair in pairs]
        if not ranks or len(set(ranks)) != len(ranks):
            refuse(function, f"source_target_pairs has pairs, and a rank is the {what} of one",
                   source_target_pairs)
    return _do(trace, "permute", tensors, (tuple(range(trace.ranks)),), function,
               kept=len(pairs) < trace.ranks, pairs=pairs, priority=priority)


def _ring(groups):
    """From each place to the next one."""
    count = len(groups[0])
    return [(place, (place + 1) % count) for place in range(count)]


def _channels(lists, channel_ids, function):
    """The one tensor of each channel, of each of the lists."""
    count = len(channel_ids)
    if list(channel_ids) != list(range(count)) or not 1 <= count <= MOST_CHANNELS:
        refuse(function, f"channel_ids are numbers from 0 on, {MOST_CHANNELS} at most", channel_ids)
    for what, by_channel in lists.items():
        if len(by_channel) != count or any(len(inner) != 1 for inner in by_channel):
            refuse(function, f"{what} has a list of one tensor for each of the {count} channels",
                   f"{len(by_channel)} lists")
    return [[inner[0] for inner in by_channel] for by_channel in lists.values()]


def collective_permute_implicit(srcs_by_channel, dsts_by_channel, replica_group, channel_ids=(0,),
                                priority=None, name=None):
    """Each rank sends to the next one of its list, and gets what the one before it has sent."""
    function = "collective_permute_implicit"
    trace = _begin(function, priority)
    groups = _groups(trace, replica_group, function)
    srcs, dsts = _channels({"srcs_by_channel": srcs_by_channel,
                            "dsts_by_channel": dsts_by_channel}, channel_ids, function)
    tensors = []
    for src, dst in zip(srcs, dsts):
        tensors += _tensors([src], [dst], function)
        _sizes(src, dst, 1, 1, function)
    for pair in tensors:
        handle = _do(trace, "permute", [pair], groups, function, pairs=_ring(groups),
                     priority=priority)
    return handle


def collective_permute_implicit_reduce(srcs0_by_channel, srcs1_by_channel, dsts_by_channel,
                                       replica_group, op, channel_ids=(0,), priority=None,
                                       name=None):
    """The same with op(src0, src1)."""
    function = "collective_permute_implicit_reduce"
    trace = _begin(function, priority)
    groups = _groups(trace, replica_group, function)
    srcs0, srcs1, dsts = _channels({"srcs0_by_channel": srcs0_by_channel,
                                    "srcs1_by_channel": srcs1_by_channel,
                                    "dsts_by_channel": dsts_by_channel}, channel_ids, function)
    for src0, src1, dst in zip(srcs0, srcs1, dsts):
        for src in (src0, src1):
            _tensors([src], [dst], function)
            _sizes(src, dst, 1, 1, function)
            _is_of_each(trace, src, dst, function)
    _both(trace)
    handle = None
    for src0, src1, dst in zip(srcs0, srcs1, dsts):
        of_each = _is_of_each(trace, src0, dst, function)
        reduced = trace.hbm_tensor(src0.shape, src0.dtype, MemoryRegion.private_hbm, "") \
            if of_each else _scratch(trace, src0.shape, src0.dtype)
        code = _DMA[_reduction(op, src0.dtype, function)]
        if of_each or not trace.core:
            transfer.compute(trace, reduced, [src0, src1], op=code)
        handle = _do(trace, "permute", [(reduced, dst)], groups, function, pairs=_ring(groups),
                     priority=priority)
    return handle


def collective_permute_implicit_current_processing_rank_id(iteration_id, replica_group,
                                                           channel_id=0, name=None):
    """A register with the rank whose data a rank has after `iteration_id` steps of the ring."""
    function = "collective_permute_implicit_current_processing_rank_id"
    trace = current()
    groups = _groups(trace, replica_group, function)
    if not isinstance(iteration_id, int) or iteration_id < 0:
        refuse(function, "iteration_id is a number that is known while the kernel is traced",
               repr(iteration_id), "unroll the loop with range()")
    if channel_id not in range(MOST_CHANNELS):
        refuse(function, f"channel_id is 0 to {MOST_CHANNELS - 1}", repr(channel_id))
    table = np.zeros(trace.ranks, np.int32)
    for group in groups:
        for place, rank in enumerate(group):
            table[rank] = group[(place - iteration_id) % len(group)]
    return table_register(hbm_constant(table, "int32"), rank_register())


def rank_id(name=None):
    """A register with the number of this rank."""
    return rank_register()
