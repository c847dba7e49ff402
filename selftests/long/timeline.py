#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of neuron-profile in a browser: headless Chromium opens it, and says what it shows.

usage: timeline.py [CASE]...

It runs the example matmul on a chip in the process, and opens the page of its profile, and that of
a profile of a million events. Pictures go to the folder of the environment variable
NEURON_TEST_OUT, or to build/timeline. Prints TAP.
"""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD_DIR", ROOT / "build")) / "timeline"
OUT = pathlib.Path(os.environ.get("NEURON_TEST_OUT", BUILD))
TOOL = BUILD / "tools/neuron-profile/neuron-profile"
NEFF = BUILD / "tools/neuron-as/matmul.neff"
SOURCES = ROOT / "tools/neuron-as/examples"
MILLION = 1_000_000
TIMES = re.compile(r'"begin_ns":(\d+),"end_ns":(\d+)')
# Of page.html in the light theme: the tensor engine, queues, what is on the critical path.
TENSOR, QUEUE, PATH = (0x2f, 0x6f, 0xb5), (0x1d, 0x94, 0xa3), (0xe0, 0x8a, 0x00)


def run(*command, **more):
    """The standard output of a command, which must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, **more)
    assert done.returncode == 0, f"{command[0]}: exit status {done.returncode}: {done.stderr}"
    return done.stdout


def build():
    """The tools, with an embedded back end."""
    run(ROOT / "tools/build/userspace", BUILD, "-Dnative_only=true", "-Druntime_only=true",
        "-Dnative_tests=false")


def record(folder):
    """Run the example; the path of its profile."""
    run(BUILD / "Documentation/examples/run_neff", NEFF, cwd=BUILD,
        env={**os.environ, "NEURON_RT_BACKEND": "embedded", "NEURON_LOGICAL_NC_CONFIG": "1",
             "NEURON_RT_INSPECT_ENABLE": "1", "NEURON_RT_INSPECT_OUTPUT_DIR": str(folder)})
    return max(folder.glob("*/profile_nc_0_*.jsonl"), key=lambda path: path.stat().st_mtime)


def repeat(profile, count, path):
    """Write the events of a profile again and again, each round later, until there are `count`."""
    first, *events = profile.read_text().splitlines()
    head = json.loads(first)
    span, rounds = head["end_ns"] - head["start_ns"], -(-count // len(events))
    head |= {"events": count, "end_ns": head["start_ns"] + span * rounds}
    with path.open("w") as file:
        file.write(json.dumps(head, separators=(",", ":")) + "\n")
        for number in range(count):
            later, at = divmod(number, len(events))
            file.write(TIMES.sub(lambda match, by=later * span:
                                 f'"begin_ns":{int(match[1]) + by},"end_ns":{int(match[2]) + by}',
                                 events[at]) + "\n")


def write_page(profile, path):
    """The page of a profile."""
    run(TOOL, "html", profile, "--neff", NEFF, "--source", SOURCES, "--output", path)
    return path


def chromium(page, place, *options):
    """Open a page; what the browser writes. It must not complain."""
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         "--window-size=1400,800", "--enable-logging=stderr", *options, f"file://{page}{place}"],
        capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, f"chromium: exit status {done.returncode}: {done.stderr[-2000:]}"
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not complaints, complaints[0]
    return done.stdout


def picture(page, place, name):
    """Rows of (red, green, blue) of what the browser shows."""
    path = OUT / name
    chromium(page, place, f"--screenshot={path}")
    return read_png(path.read_bytes())


def paeth(left, above, corner):
    """The predictor of PNG."""
    base = left + above - corner
    return min((left, above, corner), key=lambda value: abs(base - value))


def unfilter(kind, line, above, size):
    """A line of a PNG without its filter, in place."""
    for i, value in enumerate(line):
        left = line[i - size] if i >= size else 0
        corner = above[i - size] if i >= size else 0
        guess = (0, left, above[i], (left + above[i]) // 2, paeth(left, above[i], corner))[kind]
        line[i] = (value + guess) & 0xff


def read_png(data):
    """Rows of (red, green, blue) of a PNG of 8 bits for each of them, with or without alpha."""
    at, packed, width, size = 8, b"", 0, 0
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, _, depth, colours = struct.unpack(">IIBB", body[:10])
            assert depth == 8 and colours in (2, 6)
            size = 3 if colours == 2 else 4
        elif kind == b"IDAT":
            packed += body
        at += length + 12
    raw, rows, above = zlib.decompress(packed), [], bytearray(width * size)
    for start in range(0, len(raw), width * size + 1):
        line = bytearray(raw[start + 1:start + 1 + width * size])
        unfilter(raw[start], line, above, size)
        rows.append([tuple(line[i:i + 3]) for i in range(0, len(line), size)])
        above = line
    return rows


def count(rows, colour):
    """Pixels of about this colour."""
    return sum(max(abs(a - b) for a, b in zip(pixel, colour)) < 12 for row in rows for pixel in row)


class Timeline:
    """The cases; each returns a line that is worth reading, or nothing."""

    def __init__(self):
        self.profile = record(BUILD / "profiles")
        self.page = write_page(self.profile, OUT / "matmul.html")

    def shows_lanes(self):
        """The picture has engines and queues, and nothing that is selected."""
        rows = picture(self.page, "#theme=light", "lanes.png")
        assert count(rows, QUEUE) > 3000, "there are no queues"
        assert count(rows, TENSOR) > 20, "there is no tensor engine"
        assert count(rows, PATH) == 0, "there is a critical path that nobody wanted"

    def shows_the_critical_path(self):
        """What is on it has its colour."""
        rows = picture(self.page, "#theme=light&path", "path.png")
        assert count(rows, PATH) > 3000, "there is no critical path"

    def is_dark(self):
        """Most of the page is dark then."""
        rows = picture(self.page, "#theme=dark", "dark.png")
        assert count(rows, (0x12, 0x17, 0x1d)) > 400_000, "the page is not dark"

    def finds_a_line(self):
        """A search selects an event, says what it waited for, and shows its line of the source."""
        dom = chromium(self.page, "#search=matmul.s:49&hit=2", "--dump-dom")
        assert "2 of 2" in dom, "the search does not find both copies"
        chosen = re.search(r'<tr class="cost on".*?</tr>', dom)
        assert chosen and ">49</td>" in chosen[0], "line 49 of the source is not selected"
        assert "matmul.s:43" in dom, "the cause of the wait is missing"

    def opens_a_million_events(self):
        """All of them are there; the goal is 3 s."""
        path = BUILD / "million.jsonl"
        repeat(self.profile, MILLION, path)
        page = write_page(path, BUILD / "million.html")
        root = re.search(r"<html[^>]*>", chromium(page, "", "--dump-dom"))[0]
        assert f'data-events="{MILLION}"' in root, root
        rows = picture(page, "#theme=light&from=0&to=1000000", "million.png")
        assert count(rows, QUEUE) > 3000, "there are no queues"
        return f"first picture after {re.search('data-ready=.([0-9]+)', root)[1]} ms"


def main():
    """Run the cases, or those that are named."""
    names = [name for name in vars(Timeline) if not name.startswith("_")]
    chosen = sys.argv[1:] or names
    build()
    OUT.mkdir(parents=True, exist_ok=True)
    timeline = Timeline()
    print(f"1..{len(chosen)}")
    bad = 0
    for number, name in enumerate(chosen, 1):
        try:
            said = getattr(timeline, name)()
        except (AssertionError, AttributeError, subprocess.TimeoutExpired) as error:
            print(f"# {error}\nnot ok {number} - {name}", flush=True)
            bad += 1
            continue
        print(f"# {said}\nok {number} - {name}" if said else f"ok {number} - {name}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
