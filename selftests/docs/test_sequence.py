# SPDX-License-Identifier: MIT
"""The directive that draws sequences (Documentation/sphinx/sequence.py)."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Documentation/sphinx"))

import sequence

LANES = "program=user | driver=kernel | chip=device"
STEPS = ["program -> driver: a call", "driver: does <this> &", "   that", "",
         "-- later", "driver -> chip: a doorbell", "chip -> program: an end"]
SVG = "{http://www.w3.org/2000/svg}"


def parse(lines, lanes=LANES):
    """The drawing as XML."""
    return ElementTree.fromstring(sequence.draw("what it shows", lanes, lines))


def texts(svg):
    """All texts of a drawing."""
    return ["".join(text.itertext()) for text in svg.iter(f"{SVG}text")]


def test_drawing():
    """It has the lanes, the numbered steps in their order, and a title."""
    svg = parse(STEPS)
    assert svg.find(f"{SVG}title").text == "what it shows"
    assert texts(svg) == ["program", "driver", "chip", "1 a call", "2 does <this> & that",
                          "later", "3 a doorbell", "4 an end"]


def test_order_and_size():
    """Steps go down the page, arrows go where they should, and nothing is outside."""
    svg = parse(STEPS)
    height = float(svg.get("viewBox").split()[3])
    rows = [float(text.get("y")) for text in svg.iter(f"{SVG}text")][3:]
    assert rows == sorted(rows) and rows[-1] < height
    centres = {name: float(text.get("x")) for name, text in
               zip(("program", "driver", "chip"), svg.iter(f"{SVG}text"))}
    starts = [path.get("d").split(",")[0] for path in svg.iter(f"{SVG}path")
              if path.get("stroke-width") == "2"]
    assert starts == [f"M{centres[name]:.0f}" for name in ("program", "driver", "chip")]


def test_long_text_is_wrapped():
    """A long text gets several lines, and the next step comes below them."""
    svg = parse(["driver: " + "word " * 40, "driver: end"])
    words = texts(svg)[3:]
    assert len(words) > 4 and words[-1] == "2 end"
    assert max(map(len, words)) < 50


@pytest.mark.parametrize("lanes, line, complaint", [
    ("program", "program: x", "expected NAME="),
    ("program=red", "program: x", "expected NAME="),
    (LANES, "nobody: x", "no lane 'nobody'"),
    (LANES, "program -> nobody: x", "no lane 'nobody'"),
    (LANES, "nothing at all", "expected 'A -> B: text'"),
])
def test_mistakes(lanes, line, complaint):
    """A mistake in the text is named."""
    with pytest.raises(sequence.DrawingError, match=complaint):
        sequence.draw("", lanes, [line])
