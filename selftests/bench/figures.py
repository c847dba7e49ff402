# SPDX-License-Identifier: MIT
"""Figures: median and quartiles of samples, comparison of two commits, tables.

A figure is a dictionary with the keys that figure.h describes. Here it gets more keys when
it is compared with another commit:

    base            median at that commit
    base_ratio      median of now / base, pair by pair
    base_low, base_high
                    bounds of base_ratio: outside of them the true median is in one case of
                    a hundred; none for counts
    base_verdict    what that means, in a word or two
"""

import math

COUNT_UNIT = "insns"
CONFIDENCE = 0.99
# Counts that are not the same every time: from MANY on their quartiles say enough, and fewer
# than FEW say nothing.
MANY, FEW = 20, 5


def quantile(values, part):
    """Of any values; between two of them it is interpolated."""
    ordered = sorted(values)
    at = part * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])


def median(values):
    return quantile(values, 0.5)


def figure(name, unit, values, *, baseline=None, goal=None, lower_is_better=False):
    """A figure from samples; baseline: as many samples, taken in turns with them."""
    ratios = [a / b for a, b in zip(values, baseline) if b] if baseline else []
    return {
        "name": name, "value": median(values), "unit": unit,
        "baseline": median(baseline) if baseline else None,
        "ratio": median(ratios) if ratios else None,
        "goal": goal, "lower_is_better": lower_is_better, "samples": len(values),
        "value_low": quantile(values, 0.25), "value_high": quantile(values, 0.75),
        "ratio_low": quantile(ratios, 0.25) if ratios else None,
        "ratio_high": quantile(ratios, 0.75) if ratios else None,
        "values": list(values),
    }


def combine(runs):
    """One list of figures from several runs of a program: what each run gave is a sample."""
    if len(runs) == 1:
        return runs[0]
    combined = []
    for position, first in enumerate(runs[0]):
        same = [run[position] for run in runs]
        result = {**first, **figure(first["name"], first["unit"], [one["value"] for one in same],
                                    goal=first["goal"],
                                    lower_is_better=first.get("lower_is_better", False))}
        if first["baseline"] is not None:
            ratios = [one["ratio"] for one in same]
            result.update(baseline=median([one["baseline"] for one in same]),
                          ratio=median(ratios), ratio_low=quantile(ratios, 0.25),
                          ratio_high=quantile(ratios, 0.75))
        combined.append(result)
    return combined


def median_bounds(values):
    """The narrowest pair of samples between which the median is with CONFIDENCE.

    By the sign test: each sample is above the true median as a coin shows heads. None when
    there are too few samples to say anything.
    """
    ordered, outside, drop = sorted(values), 0.0, 0
    n = len(ordered)
    while True:
        outside += 2 * math.comb(n, drop) / 2 ** n
        if outside > 1 - CONFIDENCE:
            break
        drop += 1
    return (ordered[drop - 1], ordered[n - drop]) if drop else None


def better(change, lower_is_better):
    return (change < 1) == lower_is_better


def count_range(one):
    """Where counts are: their quartiles, or all of them where they are few."""
    if one["samples"] >= MANY:
        return one["value_low"], one["value_high"]
    return min(one["values"]), max(one["values"])


def compare_counts(now, base):
    """Counts do not depend on the host: every difference beyond their own spread is real.

    Of five and five that differ by chance all of one side are above all of the other in one
    case of a hundred.
    """
    if now["value"] == base["value"]:
        return "same"
    now_low, now_high = count_range(now)
    base_low, base_high = count_range(base)
    if now_low <= base_high and base_low <= now_high:
        return "within spread"
    if now_low < now_high and min(now["samples"], base["samples"]) < FEW:
        return "too few runs"
    return "fewer" if now["value"] < base["value"] else "more"


def compare(now, base):
    """Add to the figure now what it is compared with the figure base."""
    paired = len(now["values"]) == len(base.get("values", ()))
    ratios = [a / b for a, b in zip(now["values"], base["values"]) if b] if paired else []
    bounds = None
    if now["unit"] == COUNT_UNIT:
        ratio = now["value"] / base["value"] if base["value"] else None
        verdict = compare_counts(now, base)
    else:
        ratio = median(ratios) if ratios else None
        bounds = median_bounds(ratios) if ratios else None
        if not bounds:
            verdict = "too few pairs"
        elif bounds[0] <= 1 <= bounds[1]:
            verdict = "no difference"
        else:
            verdict = "better" if better(ratio, now["lower_is_better"]) else "worse"
    now.update(base=base["value"], base_ratio=ratio, base_low=bounds and bounds[0],
               base_high=bounds and bounds[1], base_verdict=verdict)


def number(value, digits=4):
    """A number for people, short; whole numbers as they are."""
    if value is None:
        return "-"
    if float(value).is_integer() and abs(value) < 1e12:
        return f"{int(value)}"
    return f"{value:.{digits}g}" if abs(value) < 10 ** digits else f"{value:.0f}"


def span(low, high, digits=4):
    if low is None:
        return "-"
    return f"{number(low, digits)} .. {number(high, digits)}"


def goal_cells(one):
    if one["goal"] is None:
        return "-", ""
    lower = one.get("lower_is_better", False)
    reached = one["value"] if one["ratio"] is None else one["ratio"]
    met = reached <= one["goal"] if lower else reached >= one["goal"]
    return f"{'<=' if lower else '>='} {number(one['goal'])}", "reached" if met else "missed"


def aligned(rows, left=1):
    """Lines of a table whose first columns are aligned to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [text.ljust(width) if i < left else text.rjust(width)
                 for i, (text, width) in enumerate(zip(row, widths))]
        yield "  ".join(cells).rstrip()


def table(figures):
    """Lines that show the figures beside their baselines."""
    rows = [("figure", "value", "unit", "quartiles", "baseline", "ratio", "quartiles", "samples",
             "goal", "")]
    for one in figures:
        rows.append((one["name"], number(one["value"]), one["unit"],
                     span(one["value_low"], one["value_high"]), number(one["baseline"]),
                     number(one["ratio"], 3), span(one["ratio_low"], one["ratio_high"], 3),
                     str(one["samples"]), *goal_cells(one)))
    return aligned(rows)


def base_table(figures, commit):
    """Lines that show the figures beside those of another commit."""
    rows = [("figure", "now", commit, "unit", "now / base", "99 % bounds", "")]
    for one in figures:
        if "base" in one:
            rows.append((one["name"], number(one["value"]), number(one["base"]), one["unit"],
                         number(one["base_ratio"], 4),
                         span(one["base_low"], one["base_high"], 4), one["base_verdict"]))
    return aligned(rows) if len(rows) > 1 else ()
