# SPDX-License-Identifier: MIT
"""Semantic cases: one call of a function of NKI with one set of options, and what it has to make.

A case has its tiles and its expectation written down beside each other, the expectation in NumPy or
by hand from the public documents. What a case calls by way of call() or put() is recorded, with its
options, so that the census (test_census.py) counts what has really run. The cases of a table are
one kernel, because a start of the chip costs more than hundreds of instructions.
"""

import enum
import functools
import inspect
import warnings

import numpy as np

import neuron_emu
import nki
import nki.isa as nisa
import nki.language as nl
from neuron_emu.ops import Op

TARGETS = ("trn1", "trn2", "trn3")
GENERATION = {"trn1": 2, "trn2": 3, "trn3": 4}
F32 = "float32"
TABLES = {}
# (function, option, value) of all calls of cases, by case.
CALLS = {}
_running = []


class Case:
    """`make` returns one tile or several, which must be `want`."""

    def __init__(self, table, name, make, want, since, until, bound, refused):
        self.table, self.name, self.make = table, name, make
        self.wanted = want if isinstance(want, tuple) else (want,)
        self.since, self.until, self.bound, self.refused = since, until, bound, refused
        self.key = f"{table}: {name}"

    def on(self, target):
        """Has this generation what the case is about?"""
        return self.since <= GENERATION[target] <= self.until

    def check(self, found):
        """`found` is what the chip made, or the exception that ended the kernel."""
        if self.refused is not None:
            assert isinstance(found, Exception), f"{self.key}: it is not refused"
            assert self.refused in str(found), f"{self.key}: {found}"
            return
        if isinstance(found, Exception):
            raise AssertionError(f"{self.key}: {type(found).__name__}: {found}") from found
        assert len(found) == len(self.wanted), f"{self.key}: {len(found)} results"
        for got, want in zip(found, self.wanted):
            self._compare(got, want() if callable(want) else want)

    def _compare(self, got, want):
        got, want = plain(got), plain(np.asarray(want))
        assert got.size == want.size, f"{self.key}: shapes {got.shape} and {want.shape}"
        want = want.reshape(got.shape)
        if not self.bound:
            np.testing.assert_array_equal(got, want, self.key)
            return
        np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), self.bound,
                                   self.bound, err_msg=self.key)


class Table:
    """Cases that run as one kernel.

    With two cores both of them run a case, and what they make lies behind each other: that of core
    0 first.
    """

    def __init__(self, name, cores=1):
        self.name, self.cores = name, cores
        self.cases = {}
        TABLES[name] = self

    def case(self, name, make, want, since=2, until=4, bound=0.0):
        """Add one. `bound`: relative, and absolute below 1."""
        self._add(Case(self.name, name, make, want, since, until, bound, None))

    def refused(self, name, make, message, since=2, until=4):
        """Add one that must be an error with this message."""
        self._add(Case(self.name, name, make, (), since, until, 0.0, message))

    def _add(self, case):
        assert case.name not in self.cases, f"{case.key}: there are two of them"
        self.cases[case.name] = case


def plain(array):
    """Types that NumPy lacks as FP32."""
    return neuron_emu.to_float32(array) if array.dtype.kind == "V" else array


def token(value):
    """How the census names a value of an option."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, Op):
        return value.name
    if isinstance(value, nl.NkiTensor):
        return "tile"
    if isinstance(value, nl.VirtualRegister):
        return "register"
    return str(value)


def call(function, *args, **kwargs):
    """Call it, and note it with its options for the case that runs."""
    if isinstance(function, Op):
        name, bound = f"nl.{function.name}", _bound(function.function, args, kwargs)
    else:
        module = "nisa" if function.__module__.startswith("neuron_emu.isa") else "nl"
        name, bound = f"{module}.{function.__name__}", _bound(function, args, kwargs)
    if _running:
        CALLS.setdefault(_running[-1], set()).update(
            (name, option, token(value)) for option, value in bound.items())
        CALLS[_running[-1]].add((name, "", ""))
    return function(*args, **kwargs)


def _bound(function, args, kwargs):
    """{parameter: what is passed for it}"""
    try:
        found = dict(inspect.signature(function).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        return dict(kwargs)
    found.update(found.pop("kwargs", {}))
    found.pop("args", None)
    return found


def method(tensor, name, *args, **kwargs):
    """Call a method of a tensor, and note it."""
    found = getattr(type(tensor), name)
    if _running:
        bound = _bound(found, (tensor,) + args, kwargs)
        CALLS.setdefault(_running[-1], set()).update(
            (f"tensor.{name}", option, token(value)) for option, value in bound.items())
        CALLS[_running[-1]].add((f"tensor.{name}", "", ""))
    return found(tensor, *args, **kwargs)


def tile(array, dtype=None, psum=False):
    """A tile with these numbers; in `dtype`, which has to hold them, where NumPy lacks it."""
    array = np.asarray(array)
    loaded = nl.load(nl.shared_constant(array))
    if dtype is None and not psum:
        return loaded
    made = nl.ndarray(loaded.shape, dtype or loaded.dtype, buffer=nl.psum if psum else nl.sbuf)
    nisa.tensor_copy(made, loaded, engine=nisa.engine.vector)
    return made


def put(shape, dtype, function, *args, psum=False, **kwargs):
    """A new tile that `function` writes."""
    made = nl.ndarray(shape, dtype, buffer=nl.psum if psum else nl.sbuf)
    call(function, made, *args, **kwargs)
    return made


def like(array, function, *args, **kwargs):
    """A new FP32 tile of the array's shape that `function` writes."""
    return put(array.shape, F32, function, *args, **kwargs)


def rows(*values, dtype=np.float32):
    """A tile's array, a row for each partition."""
    return np.array(values, dtype)


def _stored(tensor, cores):
    """A tensor that a kernel may return, with the contents of a tile or a tensor."""
    if tensor.buffer is nl.shared_hbm:
        return tensor
    if tensor.buffer is nl.psum:
        copied = nl.ndarray(tensor.shape, tensor.dtype)
        nisa.tensor_copy(copied, tensor, engine=nisa.engine.vector)
        tensor = copied
    out = nl.ndarray((cores,) + tensor.shape, tensor.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out[nl.program_id(0) if cores == 2 else 0], tensor)
    return out


def launch(cases, target, cores):
    """{case: arrays}"""
    counts = []

    @nki.jit(platform_target=target, check=True)
    def kernel():
        outs = []
        counts.clear()
        for case in cases:
            _running.append(case.key)
            try:
                made = case.make()
            finally:
                _running.pop()
            made = made if isinstance(made, (tuple, list)) else (made,)
            counts.append(len(made))
            outs += [_stored(tensor, cores) for tensor in made]
        return tuple(outs)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        arrays = kernel[cores]() if cores > 1 else kernel()
    arrays = list(arrays) if isinstance(arrays, (tuple, list)) else [arrays]
    return {case: [arrays.pop(0) for _ in range(n)] for case, n in zip(cases, counts)}


@functools.lru_cache(maxsize=None)
def results(table, target):
    """{case: arrays, or the exception}; where all of them fail together, each runs alone."""
    cases = [case for case in TABLES[table].cases.values() if case.on(target)]
    cores = TABLES[table].cores
    together = [case for case in cases if case.refused is None]
    alone, found = [case for case in cases if case.refused is not None], {}
    try:
        found.update(launch(together, target, cores) if together else {})
    except Exception:  # pylint: disable=broad-except
        alone += together
    for case in alone:
        try:
            found.update(launch([case], target, cores))
        except Exception as error:  # pylint: disable=broad-except
            found[case] = error
    return found
