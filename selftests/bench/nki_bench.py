# SPDX-License-Identifier: MIT
"""Kernels in Python beside numpy, and what making their programs costs; see nki_run.py."""

import json
import tempfile

import figures
from hosts import PAIRS, ROUNDS_OF_RUN, in_turns
from trees import NotMeasured

PROGRAM = "selftests/bench/nki_run.py"
# The one that Debian's numpy is for.
PYTHON = "/usr/bin/python3"
# Figure: unit, goal, whether less is better. With a baseline the goal is about the ratio.
GOALS = {
    "nki_gemm_1024_fp32": ("ms", 2, True),
    "nki_gemm_1024_bf16": ("ms", 2, True),
    "nki_softmax": ("ms", 2, True),
    "nki_layernorm": ("ms", 2, True),
    "nki_attention_fp32": ("ms", 2, True),
    "nki_attention_bf16": ("ms", 2, True),
    "nki_trace_10k": ("s", 0.3, True),
    "nki_cached_10k": ("ms", 10, True),
    "nki_trace_memory": ("B/insn", 1.1, True),
    "nki_gemm_4096_modelled": ("%", 97, False),
}


def figures_of(samples):
    """Figures of what the program has measured: (name, ours, those of the baseline or None)."""
    unknown = {name for name, _, _ in samples} ^ set(GOALS)
    if unknown:
        raise NotMeasured(f"{PROGRAM} and its goals disagree about {', '.join(sorted(unknown))}")
    found = []
    for name, ours, baseline in samples:
        unit, goal, lower = GOALS[name]
        found.append(figures.figure(name, unit, ours, baseline=baseline, goal=goal,
                                    lower_is_better=lower))
    return found


def run_once(tree, rounds):
    """The figures of one process."""
    program = tree.root / PROGRAM
    if not program.exists():
        raise NotMeasured(f"{tree.name} has no {PROGRAM}")
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        tree.run([PYTHON, str(program), "--build", str(tree.build / "user"), "--json", out.name,
                  "--rounds", str(rounds)], "nki")
        return figures_of(json.load(out))


def measure(trees, progress):
    """Of each tree; two of them take turns."""
    if len(trees) == 1:
        return [run_once(trees[0], PAIRS)]
    runs = {tree.name: [] for tree in trees}
    for i, tree in in_turns(trees, PAIRS):
        progress(f"run {i + 1} of {PAIRS}")
        runs[tree.name].append(run_once(tree, ROUNDS_OF_RUN))
    return [figures.combine(runs[tree.name]) for tree in trees]
