# SPDX-License-Identifier: MIT
"""The first NaN of a kernel that has to do with other ranks.

The trace that names it would make the times of all ranks inexact. So there is a second execution,
of all of them, and only where an output has a NaN. Its times are inexact, but in the order of
causes: what a rank gets from another one is not before what that one has sent.
"""

import re

from . import arrays, run

__neuron_emu__ = True

# Where libnrt says when an instruction made it
_TIME = re.compile(r"made the first NaN, at (\d+) ns")


def may_be_told(found):
    """Is a NaN in an output worth a warning? `found` has (Compiled, Arguments) of each rank. One
    that came from outside on any rank may be in the outputs of all.
    """
    return not run.tells_numbers() and all(compiled.makes_nan(some) for compiled, some in found)


def _output(compiled, results):
    """The first output with a NaN, or None."""
    return next((name for name, _, dtype, role in compiled.tensors
                 if role in ("output", "inout") and arrays.has_nan(results[name], dtype)), None)


def _time(text):
    """When it was made; infinite where no instruction did."""
    time = _TIME.search(text)
    return int(time[1]) if time else float("inf")


def tell(found, results, executions, again):
    """Give the execution of the rank that made the first NaN what libnrt says of it.

    `results` has the outputs of each rank, `again()` runs all of them once more on new chips
    and returns the executions. If that fails, the results are as good as before, so the warning
    names an output. The caller holds run.lock.
    """
    outputs = [_output(compiled, some) for (compiled, _), some in zip(found, results)]
    name = next(filter(None, outputs), None)
    if name is None:
        return
    try:
        told = {rank: execution.nan for rank, execution in enumerate(again()) if execution.nan}
    except Exception as error:
        executions[outputs.index(name)].nan = (
            f"the output {name} has a NaN, and the execution that looks for the instruction has "
            f"failed ({type(error).__name__}: {error})")
        return
    if not told:
        return
    rank = min(told, key=lambda number: (_time(told[number]), number))
    who = f"rank {rank} of {len(found)}: " if len(found) > 1 else ""
    executions[rank].nan = who + told[rank]
