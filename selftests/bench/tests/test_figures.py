# SPDX-License-Identifier: MIT
"""Figures: what is computed from samples, and what is said about two commits."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import figures
import guests


def test_ratio_is_of_pairs():
    """The median of the ratios, not the ratio of the medians."""
    one = figures.figure("x", "us", [1, 10, 100], baseline=[2, 10, 50])
    assert one["ratio"] == 1
    assert (one["ratio_low"], one["ratio_high"]) == (0.75, 1.5)
    assert (one["value"], one["value_low"], one["value_high"]) == (10, 5.5, 55)


def test_bounds_of_the_median():
    """The median is between the 5th and the 17th of 21 samples in 99 cases of 100, between the
    6th and the 16th only in 97."""
    assert figures.median_bounds(range(1, 22)) == (5, 17)
    assert figures.median_bounds(range(7)) is None
    assert figures.median_bounds([3] * 8) == (3, 3)


@pytest.mark.parametrize("factor, lower, verdict", [
    (1.1, False, "better"), (1.1, True, "worse"), (0.9, True, "better"),
    (1.0, True, "no difference")])
def test_verdict_of_times(factor, lower, verdict):
    """A difference that every pair shows is one, in the direction that the figure has."""
    base = figures.figure("x", "us", [10 + i % 3 for i in range(21)], lower_is_better=lower)
    now = figures.figure("x", "us", [factor * value for value in base["values"]],
                         lower_is_better=lower)
    figures.compare(now, base)
    assert now["base_verdict"] == verdict


def test_noise_is_no_difference():
    """As many pairs up as down."""
    base = figures.figure("x", "us", [10] * 20)
    now = figures.figure("x", "us", [9, 11] * 10)
    figures.compare(now, base)
    assert now["base_verdict"] == "no difference"


@pytest.mark.parametrize("values, verdict", [
    ([100], "same"), ([99], "fewer"), ([101], "more"), ([98, 101, 104], "within spread"),
    ([101, 102, 103], "too few runs"), ([101, 102, 103, 104, 105], "too few runs")])
def test_verdict_of_counts(values, verdict):
    """One instruction counts, unless the counts themselves differ more."""
    base = figures.figure("x", figures.COUNT_UNIT, [100])
    now = figures.figure("x", figures.COUNT_UNIT, values)
    figures.compare(now, base)
    assert now["base_verdict"] == verdict


def test_runs_become_samples():
    """What each run of a program says is one sample, with its own ratio."""
    runs = [[figures.figure("x", "us", [value, value], baseline=[2, 4])] for value in (2, 4, 6)]
    one, = figures.combine(runs)
    assert one["values"] == [2, 4, 6]
    assert one["ratio"] == figures.median([value / 2 * 0.75 for value in (2, 4, 6)])


def test_pieces_between_marks():
    """Each begin belongs to the end that follows it; without a begin all since power on."""
    marks = [(1, 50), (10, 100), (11, 107), (10, 200), (10, 210), (11, 215), (11, 300)]
    assert list(guests.differences(marks, 10, 11)) == [7, 5]
    assert list(guests.differences(marks, None, 1)) == [50]
