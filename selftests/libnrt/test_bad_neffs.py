#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Each tool that takes a NEFF says of a bad one, in one line, what is wrong, where, and what to do.

usage: test_bad_neffs.py NEFF TOOL...

NEFF is a good one.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest

import tap

GOOD = pathlib.Path(sys.argv[1]).resolve().read_bytes()
TOOLS = {pathlib.Path(path).name: pathlib.Path(path).resolve() for path in sys.argv[2:]}
LIMIT = 120

# Of the header (uapi/neuron/neff.h): its size, and where the rest says of itself.
HEADER = 1024
DATA_SIZE = 16
HASH = 172

# What reads a NEFF as a whole; what reads the archive only; programs that show libnrt's own line.
WHOLE = (("neuron-sim", "{}"), ("neuron-debug", "{}"), ("neuron-objdump", "{}"),
         ("neuron-objdump", "-h", "{}"), ("neuron-profile", "view", "p.jsonl", "-n", "{}"),
         ("neuron-profile", "html", "p.jsonl", "-n", "{}"),
         ("neuron-profile", "capture", "-n", "{}"))
ARCHIVE = (("neuron-packager", "info", "{}"), ("neuron-packager", "unpack", "{}"),
           ("neuron-packager", "print", "{}", "sg00/def.json"),
           ("neuron-packager", "edit", "--set", "header:name=a", "-o", "a.neff", "{}"))
LIBRARY = (("run_neff", "{}"), ("nrt-sample", "{}"))


def pack(archive):
    """A NEFF with the header of the good one."""
    header = bytearray(GOOD[:HEADER])
    header[DATA_SIZE:DATA_SIZE + 8] = struct.pack("<Q", len(archive))
    header[HASH:HASH + 32] = hashlib.sha256(archive).digest()
    return bytes(header) + archive


def with_change(name, change):
    """The good one with another content of a file of its archive; None: without the file."""
    data = GOOD[HEADER:]
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(data)) as old, tarfile.open(fileobj=out, mode="w") as new:
        for member in old:
            content = old.extractfile(member).read()
            if member.name.removeprefix("./") == name:
                content = change(content)
            if content is not None:
                member.size = len(content)
                new.addfile(member, io.BytesIO(content))
    return pack(out.getvalue())


def without(name):
    """The good one without a file of its archive."""
    return with_change(name, lambda content: None)


def more_keys(content):
    """A description with a key that libnrt does not know."""
    return json.dumps({**json.loads(content), "more": 1}).encode()


def flipped(at):
    """The good one with another byte."""
    return GOOD[:at] + bytes([GOOD[at] ^ 1]) + GOOD[at + 1:]


COPY = "copy or build the file again"
GIVE = "give one that neuron-as or the builder library made"
# Name, bytes, what the line has, and who says it.
BAD = (
    ("empty", b"", ("truncated: 0 bytes are less than a header of 1024", COPY),
     WHOLE + ARCHIVE),
    ("short", GOOD[:100], ("truncated: 100 bytes are less than a header of 1024", COPY),
     WHOLE + ARCHIVE + LIBRARY),
    ("cut", GOOD[:-1], (f"truncated: {len(GOOD) - HEADER - 1} bytes after the header instead of "
                        f"{len(GOOD) - HEADER}", COPY), WHOLE + ARCHIVE + LIBRARY),
    ("noise", bytes(range(256)) * 16, ("instead of 1024: not a NEFF file", GIVE),
     WHOLE + ARCHIVE + LIBRARY),
    ("source", b".engine sync\n        halt\n" * 50, ("not a NEFF file", GIVE),
     WHOLE + ARCHIVE + LIBRARY),
    ("damaged", flipped(len(GOOD) - 5), ("hash does not match the contents: the file is damaged",
                                         "copy or build it again"), WHOLE),
    ("archive", pack(b"\x1f\x8bnonsense" * 100), ("archive: ", COPY), WHOLE + LIBRARY),
    ("no-def", without("sg00/def.json"), ("the archive has no sg00/def.json",
                                          "build or pack the NEFF again"),
     WHOLE + LIBRARY),
    ("no-code", without("sg00/sync.bin"), ("file sg00/sync.bin is missing",
                                           "build or pack the NEFF again"), WHOLE + LIBRARY),
    ("def", with_change("sg00/def.json", more_keys),
     ("sg00/def.json: key \"more\" is not supported, only isa, engines, ",), WHOLE + LIBRARY),
    ("json", with_change("sg00/def.json", lambda content: content[:-1]),
     ("sg00/def.json: not JSON at byte ", "neuron-packager print shows the file"),
     WHOLE + LIBRARY),
)


class BadNeffs(unittest.TestCase):
    """Files that are no NEFFs, or not whole ones."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "good.neff").write_bytes(GOOD)
        done = self.run_tool("neuron-profile", "capture", "-n", "good.neff", "-s", "p.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)

    def run_tool(self, tool, *words):
        """Run a tool in the folder, on chips of its process."""
        environment = {**os.environ, "NEURON_RT_BACKEND": "embedded",
                       "NEURON_LOGICAL_NC_CONFIG": "1", "NEURON_EMU_QUIET": "1"}
        return subprocess.run([str(TOOLS[tool]), *words], cwd=self.folder, timeout=LIMIT, input="",
                              env=environment, capture_output=True, text=True, check=False)

    def refused(self, command, path):
        """The one line about a file; a program of libnrt has one of its own behind it."""
        done = self.run_tool(*(word.format(path) for word in command))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 2 if command in LIBRARY else 1, done.stderr)
        return done.stderr.splitlines(keepends=True)[0]

    def test_bad(self):
        """Each kind of a bad file, and each tool that finds it."""
        for name, data, words, commands in BAD:
            (self.folder / f"{name}.neff").write_bytes(data)
            for command in commands:
                with self.subTest(name=name, command=command):
                    line = self.refused(command, f"{name}.neff")
                    if command not in LIBRARY:
                        self.assertRegex(line, rf"^{command[0]}[a-z ]*: {name}.neff: (?!NEFF)")
                    for word in words:
                        self.assertIn(word, line)

    def test_no_file(self):
        """A file that is not there."""
        for command in WHOLE + ARCHIVE:
            with self.subTest(command=command):
                self.assertRegex(self.refused(command, "none.neff"),
                                 rf"^{command[0]}[a-z ]*: none.neff: No such file or directory\n$")


if __name__ == "__main__":
    sys.exit(tap.run(sys.modules[__name__]))
