# SPDX-License-Identifier: MIT
"""How functions of NKI Beta 1 give their results, and how results reach what they are assigned to.

A function of Beta 1 returns a tile; an instruction has a destination. produce() makes the tile and
lets the instruction write it. Where a result that has no name is assigned at once to a part of a
tensor, the instruction is taken back and written anew with that part as its destination, as the
compiler of Beta 1 does it: no copy, and products accumulate in PSUM. In all other cases it is
copied.
"""

import math
import sys

from .. import isa
from ..errors import refuse
from ..isa.common import packed
from ..isa.matmul import Written
from ..language import core
from ..tensor import AP, MemoryRegion, NkiTensor
from ..trace import ARGS, RECORD, TENSOR, TILE_AT, TILE_NEW, current
from . import index, narrow
from .index import Index, Mask
from .narrow import is_wide
from .tensor import Tensor

__neuron_emu__ = True

SBUF, PSUM = MemoryRegion.sbuf, MemoryRegion.psum


class _Probe:
    """Counts the references that a method of an operator sees of its operand."""

    def __init__(self):
        self.seen = []

    def __setitem__(self, key, value):
        self.seen.append(sys.getrefcount(value))

    def __iadd__(self, other):
        self.seen.append(sys.getrefcount(other))
        return self


def _temporary():
    """How many there are of an operand that only the expression has; 0: one cannot tell."""
    probe, name = _Probe(), object()
    probe[0] = object()
    probe += object()
    probe[0] = name
    probe += name
    return probe.seen[0] if probe.seen[0] == probe.seen[1] < min(probe.seen[2:]) else 0


_TEMPORARY = _temporary()


def named(references, value):
    """A tile that the kernel may use again stays where it is, and is copied."""
    if isinstance(value, Tensor) and references > _TEMPORARY:
        value.redo = None


class Redo:
    """A result that can still be written elsewhere: nothing has come after it."""

    __slots__ = ("emit", "memory", "before", "after", "box", "product", "anywhere")

    def __init__(self, emit, memory, before, after, box, product, anywhere):
        self.anywhere = anywhere
        self.emit = emit
        self.memory = memory
        self.before = before
        self.after = after
        self.box = box
        self.product = product


def _position():
    trace = current()
    return len(trace.records), len(trace.patches), trace.copies


def _uses(redo, storage):
    """Does it read the tile, whose parts would then be read and written at once?"""
    for record in current().records[redo.before[0]:redo.after[0]]:
        if len(record) == AP.size:
            fields = AP.unpack(record)
            if storage.tile in (fields[0], fields[-3]):
                return True
    return False


def _made_since(redo, storage):
    """The records since then, if they do nothing but make the tile: a block at its first use."""
    made = current().records[redo.after[0]:]
    for record in made:
        fields = RECORD.unpack(record) if len(record) == RECORD.size else (None,)
        if fields[0] not in (TILE_NEW, TILE_AT) or fields[ARGS] != storage.tile:
            return None
    return made


def _take_back(redo, storage):
    """Undo the instruction, if it is the last one, so that it can write to the tile."""
    trace = current()
    if redo is None or _position()[1:] != redo.after[1:] or redo.after[1] != redo.before[1] or \
            _uses(redo, storage):
        return False
    made = _made_since(redo, storage)
    if made is None:
        return False
    trace.records[redo.before[0]:] = made
    trace.copies = redo.before[2]
    return True


def boxed(view, shape, box):
    """A result of a function, of which a mask may have left a part."""
    if all(a == 0 and n == m for (a, n), m in zip(box, shape)):
        if tuple(shape) != view.shape and len(shape) < len(view.shape):
            return Tensor.of(view)
        return Tensor.of(view if view.shape == tuple(shape) else view.reshape(tuple(shape)))
    return Tensor.holding(view, shape, box)


def nothing(shape, dtype, memory=SBUF):
    """The result of a function that a mask has left nothing of."""
    view = core.ndarray(tuple(shape), dtype, memory)
    return Tensor(view.shape, view, soft=[(-1, (0,) * len(view.shape))])


def tile_shape(shape):
    """A tile has two dimensions or more."""
    shape = tuple(shape)
    return shape if len(shape) > 1 else shape + (1,)


def produce(shape, dtype, box, emit, memory=SBUF, product=None, anywhere=False):
    """A tile that `emit` writes; `product` writes it with its option `accumulate`.

    `anywhere`: it may begin in any partition, as a transfer may.
    """
    shape = tile_shape(shape)
    if box is None:
        return nothing(shape, dtype, memory)
    box = list(box) + [(0, 1)] * (len(shape) - len(box))
    before = _position()
    dst = core.ndarray(tuple(n for _, n in box), dtype, memory)
    emit(dst)
    if product is None:
        note(dst)
    result = boxed(dst, shape, box)
    result.redo = Redo(emit, memory, before, _position(), box, product, anywhere)
    return result


def spread(value, shape, function):
    """A tile as a tile of another shape: dimensions of one element are repeated."""
    if value.shape == tuple(shape):
        return value
    if value.size == math.prod(shape) and value.shape[0] == shape[0]:
        return value.reshape(shape)
    from . import language
    return language.broadcast_to(value, shape=shape, function=function)


def assign(dst, value, mask=None):
    """dst = value: what `dst[...] = value` and nl.store() do."""
    if isinstance(value, Tensor) and _is_same(dst, value):
        # The end of dst[...] += value.
        return
    if isinstance(value, Reduction):
        value.into(dst)
    elif isinstance(value, Tensor):
        _assign_tile(dst, value, mask)
    elif isinstance(value, Index):
        refuse("tensor[...]", "an index expression becomes a tile by nisa.iota", value)
    else:
        _assign_number(dst, value, mask)


def _is_same(a, b):
    if a.view_ is None or b.view_ is None:
        return a is b
    x, y = a.view_, b.view_
    return a.dynamic is None and b.dynamic is None and x.storage is y.storage and \
        x.offset == y.offset and x.shape == y.shape and x.strides == y.strides and \
        x.dtype == y.dtype


def _assign_number(dst, value, mask):
    for block in dst.each_block():
        box = block.box(mask, "tensor[...]")
        if box is None:
            continue
        part = block.part(box, "tensor[...]")
        if value != 0:
            note(part)
        if block.on_chip and begins_well(part):
            for (piece,) in narrow.pieces(part):
                isa.memset(piece, value)
        else:
            filled = core.full((part.shape[0], part.size // part.shape[0]), value, part.dtype)
            isa.dma_copy(part, filled)


def _assign_tile(dst, value, mask):
    function = "tensor[...]"
    if dst.view_ is None or value.view_ is None:
        for a, b in zip(dst.each_block(), _blocks(value, dst)):
            _assign_tile(a, b, mask)
        return
    movable = dst.on_chip and value.redo is not None and not value.soft and \
        value.size == dst.size and value.shape[0] == dst.shape[0]
    if value.shape != dst.shape and not movable:
        value = spread(value, dst.shape, function)
    terms = dst.soft + (value.soft if value.shape == dst.shape else ())
    terms += tuple(index.fitted(t, dst.shape) for t in Mask.of(mask).terms)
    if dst.on_chip and value.on_chip:
        box, skew = index.cut(terms, dst.shape)
        if skew:
            refuse(function, "the mask leaves a box of the tile", "another shape",
                   "use nisa.affine_select or nl.where")
        if box is not None:
            _move(dst, value, box, mask is not None, function)
        return
    for box in index.boxes(terms, dst.shape):
        _transfer(dst.part(box, function), value.part(box, function))


def _blocks(value, dst):
    """The tiles for those of dst: one for all, or as many."""
    tiles, count = list(value.each_block()), sum(1 for _ in dst.each_block())
    if len(tiles) == 1:
        return tiles * count
    if len(tiles) != count:
        refuse("tensor[...]", f"the value has {count} blocks, or is one tile",
               f"{len(tiles)} blocks")
    return tiles


def _move(dst, value, box, masked, function):
    """A tile into a tile, by the instruction that made it where that is possible."""
    redo, value.redo = value.redo, None
    part = dst.part(box, function)
    well = begins_well(part)
    same = redo is not None and not masked and value.kind == dst.kind and \
        (well and not is_wide(part) or redo.anywhere) and \
        math.prod(n for _, n in redo.box) == part.size and \
        redo.memory is dst.buffer
    if same and _take_back(redo, part.storage):
        if redo.product is None:
            note(part)
        sizes = tuple(n for _, n in redo.box)
        redo.emit(part if part.shape == sizes else part.reshape(sizes))
        return
    note(part)
    source = value.part(box, function) if value.shape == dst.shape else value.whole(function)
    if well and begins_well(source) or PSUM in (dst.buffer, value.buffer):
        narrow.copy(part, source)
        return
    if part.storage is source.storage:
        # What a transfer reads and writes at once has no stated order.
        through = core.ndarray(source.shape, source.dtype, SBUF)
        isa.dma_copy(through, source)
        source = through
    isa.dma_copy(part, source)


def note(part):
    """A product that comes to this part of PSUM later is added to what is written now."""
    if part.buffer is PSUM:
        storage = part.storage
        storage.written = storage.written or Written(storage)
        storage.written.look(part, packed(part, "dst", "tensor[...]", TENSOR, PSUM))


def begins_well(view):
    """May an engine begin in its first partition?"""
    first, count = view.offset * view.itemsize // view.storage.row, view.shape[0]
    unit = 32 if count <= 32 else 64 if count <= 64 else 128
    return first % unit == 0


def _transfer(dst, src):
    """HBM = a tile, or a tile = HBM."""
    if src.buffer is PSUM or (dst.buffer is PSUM):
        through = core.ndarray(src.shape, src.dtype, SBUF)
        if src.buffer is PSUM:
            isa.tensor_copy(through, src)
            src = through
        else:
            isa.dma_copy(through, src)
            isa.tensor_copy(dst, through)
            return
    isa.dma_copy(dst, src)


def accumulate(dst, value, name, compute):
    """dst = dst + value and the like, in place; a product is added by the tensor engine."""
    if isinstance(value, Tensor) and value.redo is not None and value.redo.product is not None \
            and name == "add" and dst.buffer is PSUM and value.size == dst.size and \
            dst.kind == "float32":
        redo = value.redo
        box = dst.box() if value.shape != dst.shape or not value.soft else value.box()
        part = None if box is None else dst.part(box, "+=")
        if part is not None and _take_back(redo, part.storage):
            value.redo = None
            # What nothing has written yet is not added to, as in a tile of nl.ndarray().
            redo.product(part, None)
            return dst
    result = compute(dst, value, dtype=dst.kind)
    if isinstance(dst.view_, NkiTensor):
        assign(dst, result)
    else:
        refuse(name, "a tile is one block of a tensor", f"shape {dst.shape}")
    return dst


class Reduction:
    """What nl.loop_reduce() returns: an operand of the tile that it is assigned to."""

    __slots__ = ("value", "compute", "mask")

    def __init__(self, value, compute, mask):
        self.value = value
        self.compute = compute
        self.mask = mask

    def into(self, dst):
        """dst = dst op value"""
        box = dst.box(self.mask)
        if box is not None:
            assign(dst, self.compute(dst, self.value, dtype=dst.kind, mask=self.mask))

    def __getattr__(self, name):
        return refuse("nl.loop_reduce", "its result is assigned to a part of a tile, as in "
                      "b[...] = nl.loop_reduce(...)", f"used (.{name})")


def boxes_of(tensor, mask):
    """The boxes of a tensor that a mask leaves."""
    terms = tensor.soft + tuple(index.fitted(t, tensor.shape) for t in Mask.of(mask).terms)
    return index.boxes(terms, tensor.shape) if terms else [[(0, n) for n in tensor.shape]]
