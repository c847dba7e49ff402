# SPDX-License-Identifier: MIT
"""In which order migrations are measured."""

import itertools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import migration
import trees
from hosts import PAIRS


def test_pairs_of_two_trees_take_turns(tmp_path, monkeypatch):
    """Each tree has all of its pairs, and what disturbs the host disturbs both trees."""
    both = [trees.Tree(name, tmp_path, tmp_path, tmp_path) for name in ("now", "base")]
    done = []

    def downtime(tree, size):
        done.append((tree.name, size))
        return size / migration.LITTLE * (2 if tree.name == "now" else 3)

    monkeypatch.setattr(migration, "downtime", downtime)
    (now,), (base,) = migration.measure(both, lambda text: None)
    assert PAIRS >= 20
    assert (now["samples"], base["samples"]) == (PAIRS, PAIRS)
    assert now["ratio"] == migration.MUCH / migration.LITTLE
    assert (now["baseline"], base["baseline"]) == (2, 3)
    # A pair is never cut, and two pairs of each tree follow each other at most.
    assert [size for _, size in done] == [migration.MUCH, migration.LITTLE] * 2 * PAIRS
    runs = [len(list(group)) for _, group in itertools.groupby(name for name, _ in done)]
    assert max(runs) == 4
