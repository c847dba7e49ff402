# SPDX-License-Identifier: MIT
"""What is measured on the host: the chip library's programs, timed and counted."""

import re
import subprocess

import figures
from trees import NotMeasured

PAIRS = 21
# Of a process when two commits take turns: each of their PAIRS runs is a sample.
ROUNDS_OF_RUN = 3


def program_names(tree):
    """Benchmarks that meson knows; "count" is not timed."""
    text = (tree.root / "selftests/bench/meson.build").read_text(encoding="utf-8")
    return [name for name in re.findall(r"^benchmark\('(\w+)'", text, re.M) if name != "count"]


def in_turns(trees, count):
    """Each tree so many times, every other time in the opposite order."""
    for i in range(count):
        yield from ((i, tree) for tree in (trees if i % 2 == 0 else trees[::-1]))


def measure_program(name, trees, progress):
    """Figures of a program, of each tree."""
    if len(trees) == 1:
        return [trees[0].bench(name, PAIRS)]
    runs = {tree.name: [] for tree in trees}
    for i, tree in in_turns(trees, PAIRS):
        progress(f"run {i + 1} of {PAIRS}")
        runs[tree.name].append(tree.bench(name, ROUNDS_OF_RUN))
    return [figures.combine(runs[tree.name]) for tree in trees]


def collected(tree, name, amount):
    """Instructions that bench-count needs for an amount of work."""
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
             str(tree.program("count")), name, str(amount)]
    log = f"count-{name}"
    tree.run(words, log)
    match = re.search(r"Collected : (\d+)", tree.log(log).read_text(encoding="utf-8"))
    if not match:
        raise NotMeasured(f"{tree.name}: callgrind counted nothing of {name}")
    return int(match[1])


def count_tree(tree, progress):
    result = []
    for line in tree.run([str(tree.program("count")), "--list"], "count-list").splitlines():
        name, small, large, units, per = line.split(maxsplit=4)
        progress(per)
        work = collected(tree, name, int(large)) - collected(tree, name, int(small))
        each = work / ((int(large) - int(small)) * int(units))
        result.append(figures.figure(name, figures.COUNT_UNIT, [each], lower_is_better=True))
    return result


def count_host(trees, progress):
    """Instructions of the chip library, by callgrind. They are the same every time."""
    try:
        subprocess.run(["valgrind", "--version"], stdout=subprocess.DEVNULL, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise NotMeasured("valgrind is missing: run tools/build/deps bench") from None
    return [count_tree(tree, progress) for tree in trees]
