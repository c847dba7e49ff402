# SPDX-License-Identifier: MIT
"""A directive that draws who does what in which order, from text.

``sequence``
    One lane for each actor, from left to right, and one step in each line, from top to bottom::

        .. sequence:: What the drawing shows, for those who cannot see it
           :lanes: program=user | driver=kernel | chip=device

           program -> driver: SUBMIT
           driver: waits for the fences
           driver -> chip: doorbell
           -- later

    A name before "=" is the name of a lane, and the word behind it is its colour. A step is an
    arrow from one lane to another, a box on one lane, or (after "--") a line across all lanes.
    Arrows and boxes are numbered, so that the text can name them. A line that is indented goes on
    with the text of the line before it.

The drawing is SVG in the page. It is only in HTML; man pages leave it out.
"""

import html
import re
import textwrap

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

# Colours of a lane: fill and edge, as in the drawings of Documentation/drawings.
COLOURS = {
    "user": ("#e3f0dd", "#5b8a3c"),
    "kernel": ("#fdeccb", "#b9832a"),
    "device": ("#dce9f7", "#3d6fa5"),
}
INK, LINE = "#1c2733", "#44546a"
WIDTH, MARGIN, TOP, ROW = 900, 20, 56, 16
HEAD = 36
CHAR = 7.2          # the width of a letter, as far as it can be told here
ARROW = re.compile(r"(?P<begin>\w[\w ]*?) -> (?P<end>\w[\w ]*?): (?P<text>.+)")
BOX = re.compile(r"(?P<begin>\w[\w ]*?): (?P<text>.+)")
FONT = 'font-family="DejaVu Sans, Noto Sans, Arial, sans-serif" font-size="13"'


class DrawingError(Exception):
    """The text of a drawing is wrong."""


def read_lanes(text):
    """The lanes as pairs of name and colour."""
    lanes = []
    for lane in text.split("|"):
        name, _, colour = (part.strip() for part in lane.partition("="))
        if not name or colour not in COLOURS:
            raise DrawingError(f"lane '{lane.strip()}': expected NAME={'/'.join(COLOURS)}")
        lanes.append((name, colour))
    return lanes


def read_steps(lines, names):
    """The steps as (begin, end, text): numbers of lanes, None where there is none."""
    joined = []
    for line in filter(str.strip, lines):
        if line[0].isspace() and joined:
            joined[-1] += " " + line.strip()
        else:
            joined.append(line.strip())
    steps = []
    for line in joined:
        if line.startswith("-- "):
            steps.append((None, None, line[3:]))
            continue
        found = ARROW.fullmatch(line) or BOX.fullmatch(line)
        if not found:
            raise DrawingError(f"'{line}': expected 'A -> B: text', 'A: text' or '-- text'")
        ends = [found["begin"], found.groupdict().get("end")]
        unknown = [name for name in ends if name and name not in names]
        if unknown:
            raise DrawingError(f"'{line}': there is no lane '{unknown[0]}'")
        begin, end = (names.index(name) if name else None for name in ends)
        steps.append((begin, end, found["text"]))
    return steps


class Drawing:
    """The SVG of one drawing, step by step."""

    def __init__(self, lanes):
        self.lanes = lanes
        self.width = (WIDTH - 2 * MARGIN) / len(lanes)
        self.parts = []
        self.y = TOP
        self.number = 0

    def centre(self, lane):
        """Where the line of a lane is."""
        return MARGIN + self.width * (lane + 0.5)

    def text(self, x, y, words, **how):
        """One line of text."""
        more = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in how.items())
        self.parts.append(f'<text x="{x:.0f}" y="{y:.0f}"{more}>{words}</text>')

    def lines(self, text, width):
        """The text in lines that fit, the number of the step in front."""
        self.number += 1
        rows = textwrap.wrap(f"{self.number} {text}", max(12, int(width / CHAR)))
        first = html.escape(rows[0].removeprefix(f"{self.number} "))
        return [f'<tspan font-weight="bold">{self.number}</tspan> {first}',
                *map(html.escape, rows[1:])]

    def box(self, lane, text):
        """Something that an actor does."""
        width = min(self.width - 16, 250)
        rows = self.lines(text, width - 12)
        fill, edge = COLOURS[self.lanes[lane][1]]
        height = ROW * len(rows) + 12
        self.parts.append(f'<rect x="{self.centre(lane) - width / 2:.0f}" y="{self.y:.0f}" '
                          f'width="{width:.0f}" height="{height}" rx="5" fill="{fill}" '
                          f'stroke="{edge}" stroke-width="1.5"/>')
        for i, row in enumerate(rows):
            self.text(self.centre(lane), self.y + 18 + ROW * i, row, text_anchor="middle")
        self.y += height + 12

    def arrow(self, begin, end, text):
        """Something that goes from one actor to another."""
        a, b = self.centre(begin), self.centre(end)
        rows = self.lines(text, abs(b - a) - 20)
        for i, row in enumerate(rows):
            # A white edge keeps the text readable on a line that it crosses.
            self.text((a + b) / 2, self.y + 12 + ROW * i, row, text_anchor="middle",
                      stroke="#ffffff", stroke_width="4", paint_order="stroke")
        y = self.y + ROW * len(rows) + 4
        tip = 9 if b > a else -9
        self.parts.append(f'<path d="M{a:.0f},{y:.0f} H{b - tip / 2:.0f}" stroke="{LINE}" '
                          f'stroke-width="2" fill="none"/>'
                          f'<path d="M{b:.0f},{y:.0f} l{-tip},-5 v10 z" fill="{LINE}"/>')
        self.y = y + 14

    def across(self, text):
        """A line across all lanes."""
        rows = textwrap.wrap(text, int((WIDTH - 80) / CHAR))
        y = self.y + 8
        self.parts.append(f'<path d="M{MARGIN},{y:.0f} H{WIDTH - MARGIN}" stroke="#b4bfcc" '
                          f'stroke-width="1.5" stroke-dasharray="2 4"/>')
        for i, row in enumerate(rows):
            self.text(WIDTH / 2, y + 5 + ROW * i, html.escape(row), text_anchor="middle",
                      fill=LINE, font_style="italic", stroke="#ffffff", stroke_width="8",
                      paint_order="stroke")
        self.y = y + ROW * len(rows) + 8

    def finish(self, title):
        """The whole drawing. The lines of the lanes are below everything else."""
        height = self.y + 4
        back = []
        for i, (name, colour) in enumerate(self.lanes):
            fill, edge = COLOURS[colour]
            x, width = self.centre(i), min(self.width - 20, 170)
            back.append(f'<path d="M{x:.0f},{HEAD + 8} V{height:.0f}" stroke="#b4bfcc" '
                        'stroke-width="1.5" stroke-dasharray="5 4"/>'
                        f'<rect x="{x - width / 2:.0f}" y="8" width="{width:.0f}" height="{HEAD}" '
                        f'rx="5" fill="{fill}" stroke="{edge}" stroke-width="1.5"/>'
                        f'<text x="{x:.0f}" y="31" text-anchor="middle" font-weight="bold" '
                        f'font-size="15">{html.escape(name)}</text>')
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
                f'style="max-width: {WIDTH}px; width: 100%" role="img" {FONT} fill="{INK}">'
                f"<title>{html.escape(title)}</title>"
                f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>'
                + "\n".join(back + self.parts) + "</svg>")


def draw(title, lanes, lines):
    """The SVG of a drawing."""
    lanes = read_lanes(lanes)
    drawing = Drawing(lanes)
    for begin, end, text in read_steps(lines, [name for name, _ in lanes]):
        if begin is None:
            drawing.across(text)
        elif end is None:
            drawing.box(begin, text)
        else:
            drawing.arrow(begin, end, text)
    return drawing.finish(title)


class Sequence(SphinxDirective):
    """Who does what in which order."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {"lanes": directives.unchanged_required}

    def run(self):
        """The drawing as HTML."""
        try:
            svg = draw(" ".join(self.arguments[0].split()), self.options.get("lanes", ""),
                       self.content)
        except DrawingError as error:
            raise self.error(str(error))
        return [nodes.raw("", f'<div class="sequence">{svg}</div>', format="html")]


def setup(app):
    """Tell Sphinx about the directive."""
    app.add_directive("sequence", Sequence)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
