# SPDX-License-Identifier: MIT
"""In which order migrations are measured, and from when to when."""

import itertools
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import migration
import trees
from hosts import PAIRS


def test_pairs_of_two_trees_take_turns(tmp_path, monkeypatch):
    """Each tree has all of its pairs, and what disturbs the host disturbs both trees."""
    both = [trees.Tree(name, tmp_path, tmp_path, tmp_path) for name in ("now", "base")]
    done = []

    def pause(tree, size):
        done.append((tree.name, size))
        return size / migration.LITTLE * (2 if tree.name == "now" else 3)

    monkeypatch.setattr(migration, "pause", pause)
    (now,), (base,) = migration.measure(both, lambda text: None)
    assert PAIRS >= 20
    assert (now["samples"], base["samples"]) == (PAIRS, PAIRS)
    assert now["ratio"] == migration.MUCH / migration.LITTLE
    assert (now["baseline"], base["baseline"]) == (2, 3)
    # A pair is never cut, and two pairs of each tree follow each other at most.
    assert [size for _, size in done] == [migration.MUCH, migration.LITTLE] * 2 * PAIRS
    runs = [len(list(group)) for _, group in itertools.groupby(name for name, _ in done)]
    assert max(runs) == 4


class Machine:
    """What one QEMU tells of a migration: in its log and in its answer."""

    def __init__(self, log, lines, status="completed"):
        self.log, self.qmp, self.status = log, self, status
        log.write_text(lines, encoding="utf-8")

    def run(self, command):
        assert command == "query-migrate"
        return {"status": self.status, "error-desc": "no way there"}

    def why(self, error):
        return str(error)


TOLD = "77@100.{}:vmstate_downtime_checkpoint {}\n"


def test_pause_of_both_logs(tmp_path):
    """From the stop of the one machine to the start of the other, and nothing else."""
    here = Machine(tmp_path / "here", TOLD.format("000100", "src-downtime-start") +
                   TOLD.format("000900", "src-downtime-end"))
    there = Machine(tmp_path / "there", TOLD.format("001000", "dst-precopy-loadvm-completed") +
                    TOLD.format("002350", "dst-precopy-bh-vm-started"))
    assert migration.wait_for_start(here, there) == pytest.approx(2.25)


@pytest.mark.parametrize("status, stop, start, why", [
    ("failed", "src-downtime-start", "", "the migration failed: no way there"),
    ("completed", "src-downtime-end", "dst-precopy-bh-vm-started", "has not traced"),
    ("active", "src-downtime-start", "dst-precopy-bh-enter", "has not ended"),
])
def test_no_pause(tmp_path, monkeypatch, status, stop, start, why):
    monkeypatch.setattr(migration, "LIMIT_S", 0.2)
    here = Machine(tmp_path / "here", TOLD.format("000100", stop), status)
    there = Machine(tmp_path / "there", TOLD.format("000200", start))
    with pytest.raises(trees.NotMeasured, match=why):
        migration.wait_for_start(here, there)
