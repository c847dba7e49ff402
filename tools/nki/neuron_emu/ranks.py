# SPDX-License-Identifier: MIT
"""Kernels that several ranks run at the same time."""

import threading
import time

from . import nans, profile, run
from .arrays import is_array
from .errors import NkiError, NkiRankError
from .kernel import Kernel

__neuron_emu__ = True

# Physical cores of a chip, by the generation of its NeuronCores.
CORES = {2: 2, 3: 8, 4: 8}
# NRT_TIMEOUT
TIMEOUT = 5


def _call(arguments):
    """(args, kwargs) of a rank."""
    if isinstance(arguments, dict):
        return (), arguments
    if is_array(arguments):
        return (arguments,), {}
    return tuple(arguments), {}


def _compiled(kernel, calls):
    """(Compiled, Arguments) of each rank."""
    found = []
    for rank, (args, kwargs) in enumerate(calls):
        try:
            found.append(kernel.compile(args, kwargs, len(calls)))
        except Exception as error:
            error.args = (f"rank {rank} of {len(calls)}: {error}", *error.args[1:])
            raise
    return found


def _cores(count, chips, generation, lnc):
    """The logical core of each rank: as many on one chip as on another."""
    if chips is None:
        chips = count
    cores = CORES[generation] // lnc
    if chips < 1 or count % chips or count // chips > cores:
        raise NkiError(f"run_ranks: {count} ranks on {chips} chips: each chip has the same number "
                       f"of ranks, and at most {cores} with LNC {lnc}")
    each = count // chips
    return chips, [chip * cores + i for chip in range(chips) for i in range(each)]


class _Rank(threading.Thread):
    """The execution of one rank."""

    def __init__(self, number, program, trace):
        super().__init__(name=f"rank {number}", daemon=True)
        self.program = program
        self.trace = trace
        self.execution = None
        self.error = None
        self.ended = None

    def run(self):
        """Execute the program."""
        try:
            self.execution = self.program.execute(self.trace)
        except BaseException as error:
            self.error = error
        self.ended = time.monotonic()


def _execute(programs, traces):
    """Let all ranks run, and wait for all of them."""
    ranks = [_Rank(i, *both) for i, both in enumerate(zip(programs, traces))]
    try:
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join()
    except BaseException:
        # Ctrl-C, or no thread more: the runtime ends what its cores do.
        run.close()
        for rank in ranks:
            if rank.ident is not None:
                rank.join()
        raise
    return ranks


def _check(kernel, ranks, programs):
    """Raise NkiRankError if a rank has failed; the first one that did not just wait is the cause.
    """
    errors = {number: rank.error for number, rank in enumerate(ranks) if rank.error}
    if not errors:
        return
    run.forget(programs)
    first = min(errors, key=lambda number: (getattr(errors[number], "status", 0) == TIMEOUT,
                                            ranks[number].ended))
    others = [str(number) for number in errors if number != first]
    behind = f"; with it rank {', '.join(others)}" if others else ""
    why = "; ".join([str(errors[first]), *getattr(errors[first], "__notes__", [])])
    text = f"{kernel.func.__name__}: rank {first} of {len(ranks)} has failed: {why}{behind}"
    raise NkiRankError(text, first, errors) from errors[first]


def _loaded(found, chips, cores, check, numbers=False):
    """The programs of all ranks on their cores, with their inputs."""
    first = found[0][0]
    programs = run.gang([(c.key, c.path, c.tensors) for c, _ in found], first.generation,
                        first.lnc, check, chips, cores, len(found), numbers)
    for (compiled, some), program in zip(found, programs):
        compiled.write(program, some)
    return programs


def _executions(kernel, programs, traces):
    """Run them all; what the device tells of each rank."""
    ranks = _execute(programs, traces or [None] * len(programs))
    _check(kernel, ranks, programs)
    return [rank.execution for rank in ranks]


def run_ranks(kernel, arguments, chips=None):
    """Call a kernel on several ranks at the same time; returns what it returns on each.

    `arguments` has for each rank its arguments: a tuple, a dict of keyword arguments, or one
    array. The ranks are spread over `chips` chips; without it each has a chip of its own. If one
    of them fails, all end, and NkiRankError names it.
    """
    if not isinstance(kernel, Kernel):
        kernel = Kernel(kernel)
    calls = [_call(some) for some in arguments]
    if not calls:
        raise NkiError("run_ranks: arguments has an entry for each rank")
    found = _compiled(kernel, calls)
    chips, cores = _cores(len(calls), chips, found[0][0].generation, found[0][0].lnc)
    folder = profile.folder_of(kernel.folder)
    files = [profile.Files(folder, kernel.func, rank) for rank in range(len(calls))] if folder \
        else []
    told = kernel.is_checked and nans.may_be_told(found)
    with run.lock:
        programs = _loaded(found, chips, cores, kernel.is_checked)
        for (compiled, _), file in zip(found, files):
            file.begin(compiled.path)
        executions = _executions(kernel, programs, [file.trace for file in files])
        results = [compiled.read(program) for (compiled, _), program in zip(found, programs)]
        if told:
            nans.tell(found, results, executions, lambda: _executions(
                kernel, _loaded(found, chips, cores, False, True), []))
    returned = [compiled.finish(some, rank) for (compiled, rank), some in zip(found, results)]
    kernel.keep(executions, [file.end() for file in files])
    return returned
