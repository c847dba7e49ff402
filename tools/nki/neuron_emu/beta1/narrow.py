# SPDX-License-Identifier: MIT
"""Views of more free dimensions than an instruction has, which index expressions may make."""

from .. import isa
from ..language import core
from ..tensor import MemoryRegion, NkiTensor

__neuron_emu__ = True

MOST = 4


def is_wide(view):
    """Does an instruction have too few dimensions for it?"""
    return view.index is None and view.dynamic is None and len(view.dims()) > MOST


def _row(view, axis, i):
    """The view where a dimension is one of its places."""
    shape, strides = list(view.shape), list(view.strides)
    del shape[axis]
    step = strides.pop(axis)
    return NkiTensor(tuple(shape), view.dtype, view.storage, strides=tuple(strides),
                     offset=view.offset + i * step)


def pieces(*views):
    """Views of one shape, cut along their smallest dimensions until an instruction takes them."""
    if not any(map(is_wide, views)):
        yield views
        return
    shape = views[0].shape
    axis = min((i for i in range(1, len(shape)) if shape[i] > 1), key=lambda i: shape[i])
    for i in range(shape[axis]):
        yield from pieces(*(_row(view, axis, i) for view in views))


def copy(dst, src):
    """dst = src, by as many instructions as it takes."""
    if dst.shape != src.shape and (is_wide(dst) or is_wide(src)):
        src = src.reshape(dst.shape)
    for to, part in pieces(dst, src):
        isa.tensor_copy(to, part)


def narrowed(view):
    """The view, or a tile with its elements that an instruction takes."""
    if not is_wide(view):
        return view
    through = core.ndarray(view.shape, view.dtype, MemoryRegion.sbuf)
    copy(through, view)
    return through
