# SPDX-License-Identifier: MIT
"""The inner loop: from an edit to the verdict of the test that belongs to it.

The edit is the time stamp of a file, which all build tools take for one; CCACHE_RECACHE
lets ccache compile it again all the same, as it does after a real edit. Nothing in the
source changes. The first run of each is not counted: it may have to build everything.
"""

import os
import time

import figures
from trees import GRACE_S, NotMeasured, last_words
from neuron_vm.process import Processes

RUNS = 5
LIMIT_S = 1800

# Figure, what it is, the edited file, the command, the goal in seconds.
LOOPS = (
    ("edit_chip_to_verdict", "a file of the chip to the verdict of its unit test",
     "qemu-device/chip/dma/trn_udma.c", ["make", "check", "SUITE=asan", "TEST=udma"], 5),
    ("edit_driver_to_verdict", "a file of the driver to the verdict of its kselftest",
     "driver/neuron_copy.c", ["make", "check", "SUITE=kselftest", "TEST=test_copy"], 25),
    ("neuron_vm_true", "neuron-vm -- true, with everything built",
     None, ["tools/neuron-vm", "--", "true"], 5),
)


def run_once(tree, name, edited, words):
    """Seconds of one edit and its command, which must succeed."""
    begin = time.monotonic()
    if edited:
        os.utime(tree.root / edited)
    done = Processes(GRACE_S).run(words, tree.log(name), LIMIT_S, cwd=tree.root,
                                  env={**tree.environment(), "CCACHE_RECACHE": "1"})
    if done.timed_out:
        raise NotMeasured(f"{' '.join(words)} has not ended after {LIMIT_S} s")
    if done.status:
        raise NotMeasured(f"{' '.join(words)}: exit status {done.status}: "
                          + last_words(tree.log(name).read_text(errors="replace")))
    return time.monotonic() - begin


def measure(trees, progress):
    """Only of this checkout: another commit's is a matter of its own build."""
    tree, result = trees[0], []
    if "SUITE" not in (tree.root / "Makefile").read_text(encoding="utf-8"):
        raise NotMeasured("make check cannot run one test here")
    for name, _what, edited, words, goal in LOOPS:
        if edited and not (tree.root / edited).exists():
            raise NotMeasured(f"there is no {edited}: name another file in inner_loop.py")
        seconds = []
        for i in range(RUNS + 1):
            progress(f"{' '.join(words)}, {i} of {RUNS}")
            seconds.append(run_once(tree, name, edited, words))
        result.append(figures.figure(name, "s", seconds[1:], goal=goal, lower_is_better=True))
    return [result]


def for_hacking(found):
    """Lines of a table in Markdown, which HACKING.md has."""
    by_name = {one["name"]: one for one in found}
    rows = [(what, " ".join(words), by_name[name], goal)
            for name, what, _edited, words, goal in LOOPS if name in by_name]
    if rows:
        yield "| from | command | median | quartiles | goal |"
        yield "|---|---|---|---|---|"
    for what, command, one, goal in rows:
        yield (f"| {what} | `{command}` | {one['value']:.1f} s | "
               f"{one['value_low']:.1f} to {one['value_high']:.1f} s | {goal} s |")
