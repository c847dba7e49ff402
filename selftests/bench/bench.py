#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure: ours beside its baselines, or beside another commit.

Every figure that has a baseline is measured in at least 20 pairs: a sample of ours, then one
of the baseline, and so on. With --base the same is done with another commit, which is built
beside this one. tools/build/bench builds what is needed and starts this program.
"""

import argparse
import json
import os
import pathlib
import sys
import time

import figures
import guests
import hosts
import inner_loop
import migration
import nki_bench
from trees import NotMeasured, Tree, base_tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUIET_S = 20
LINE = "  {:<12} {:<50.50} {:>5.0f} s"


class Progress:
    """One line for each item: it grows on a terminal, and is repeated now and then elsewhere."""

    def __init__(self, item):
        self.item = item
        self.begin = self.shown = time.monotonic()
        self.live = sys.stdout.isatty()

    def __call__(self, text):
        now = time.monotonic()
        line = LINE.format(self.item, text, now - self.begin)
        if self.live:
            print(f"\r\033[K{line}", end="", flush=True)
        elif now - self.shown >= QUIET_S:
            self.shown = now
            print(line, flush=True)

    def end(self, text):
        line = LINE.format(self.item, text, time.monotonic() - self.begin)
        print(f"\r\033[K{line}" if self.live else line, flush=True)


def host_program(name):
    return lambda trees, progress: hosts.measure_program(name, trees, progress)


def all_items(tree):
    """Name and function of everything that can be measured, in the order of running."""
    items = {name: host_program(name) for name in hosts.program_names(tree)}
    return {**items, "nki": nki_bench.measure, "count-host": hosts.count_host,
            "count-guest": guests.count_guest, "boot": guests.measure_boot,
            "idle-machine": guests.measure_idle,
            "migration": migration.measure, "guest": guests.measure_guest,
            "inner-loop": inner_loop.measure}


def chosen(items, only):
    names = [name for name in only.split(",") if name] if only else list(items)
    unknown = [name for name in names if name not in items]
    if unknown:
        sys.exit(f"bench: nothing is called {', '.join(unknown)}; there are: {', '.join(items)}")
    return names


def compare(now, base, name, missing):
    """Put base's figures beside those of now; name what only one of them has."""
    theirs = {one["name"]: one for one in base}
    for one in now:
        if one["name"] in theirs:
            figures.compare(one, theirs.pop(one["name"]))
        else:
            missing.append(f"{one['name']}: {name} does not have it")
    missing += [f"{gone}: only {name} has it" for gone in theirs]


def measure(name, function, trees, missing):
    """The figures of an item. What cannot be measured is added to missing."""
    progress = Progress(name)
    progress("")
    try:
        results = function(trees, progress)
    except NotMeasured as error:
        progress.end("NOT MEASURED")
        missing.append(f"{name}: {error}")
        # Without the other commit there are still the figures of this one.
        return measure(name, function, trees[:1], missing) if len(trees) > 1 else []
    if len(trees) > 1 and len(results) > 1:
        compare(results[0], results[1], trees[1].name, missing)
    progress.end(f"{len(results[0])} figures")
    return results[0]


def report(found, missing, base, path):
    print()
    for line in figures.table(found):
        print(line)
    if base:
        print()
        for line in figures.base_table(found, base.name):
            print(line)
    lines = list(inner_loop.for_hacking(found))
    if lines:
        print("\nfor HACKING.md:", *lines, sep="\n")
    kept = [{key: value for key, value in one.items() if key != "values"} for one in found]
    path.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    print(f"\n{len(found)} figures in {path}")
    for line in missing:
        print(f"bench: could not be measured: {line}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.environ.get("BUILD_DIR") or ROOT / "build",
                        help="build folder of this checkout")
    parser.add_argument("--only", default="", help="items, separated by commas; see --list")
    parser.add_argument("--base", default="", help="a commit to compare with")
    parser.add_argument("--list", action="store_true", help="show the items")
    arguments = parser.parse_args()

    build = pathlib.Path(arguments.build).resolve()
    now = Tree("now", ROOT, build, build / "bench")
    items = all_items(now)
    names = chosen(items, arguments.only)
    if arguments.list:
        print("\n".join(names))
        return 0
    missing, found = [], []
    try:
        base = base_tree(now, arguments.base) if arguments.base else None
    except NotMeasured as error:
        sys.exit(f"bench: BASE={arguments.base}: {error}")
    trees = [now, base] if base else [now]
    for name in names:
        found += measure(name, items[name], trees, missing)
    report(found, missing, base, build / "bench.json")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
