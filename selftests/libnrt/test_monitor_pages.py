#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What neuron-monitor does with statistics pages that are none, or that lie.

usage: see monitor_rig.py
"""

import os
import pathlib
import re
import struct
import sys
import time

import tap
from monitor_rig import LIMIT, Case, Program

# How nrt_emu_stats.h lays out what does not change; the sizes of its tables.
HEAD = struct.Struct("<QIIQQIIIIIIQ64s64s256s")
MAGIC, VERSION = 0x7461745374726e75, 1
LATENCIES, MODELS, CORE = 2 * 656 * 8, 8 + 128 * 376, 256
# First words of a core: its number, chip, first physical core, and how many it has.
ROW = struct.Struct("<IIII")


def page(cores=1, magic=MAGIC, version=VERSION, size=None, lnc=1, pid=None, tag=b""):
    """A page with nothing in it."""
    whole = HEAD.size + LATENCIES + MODELS + cores * CORE
    head = HEAD.pack(magic, version, cores, whole if size is None else size, 0,
                     os.getpid() if pid is None else pid, 1, lnc, 1, 8, 3, 96 << 30,
                     b"Trainium2", b"trn2", tag)
    rows = b"".join(ROW.pack(i, 0, i, 1).ljust(CORE, b"\0") for i in range(cores))
    return bytearray(head + bytes(LATENCIES + MODELS) + rows)


class Hostile(Case):
    """Pages that are none, of this process. One that is good is shown all the same."""

    def setUp(self):
        super().setUp()
        self.program = Program(self, self.tag)

    def offer(self, data):
        """A memory file as the library has it."""
        fd = os.memfd_create("neuron-rt-stats")
        self.addCleanup(os.close, fd)
        os.write(fd, data)
        return fd

    def look(self, nr=2):
        """The data of this process in the last document, and the complaints about it."""
        documents = self.documents()
        for _ in range(nr):
            document = documents()
        self.assertTrue(self.of(document, self.program.pid), document)
        start = f"neuron-monitor: process {os.getpid()}: its statistics page is left out: "
        lines = self.complaints()
        for line in lines:
            self.assertTrue(line.startswith(start), line)
        data = [data for data in document["neuron_runtime_data"] if data["pid"] == os.getpid()]
        return data, [line[len(start):] for line in lines]

    def test_refused(self):
        """In one line, also when it is seen again."""
        odd = page()
        struct.pack_into("<I", odd, HEAD.size + LATENCIES, 1)
        halves = page()
        ROW.pack_into(halves, len(halves) - CORE, 0, 0, 0, 3)
        model = page()
        struct.pack_into("<IIII", model, HEAD.size + LATENCIES + 8, 7, 0, 0, 3)
        for data, line in (
                (page(magic=1), "its magic number is 0x1"),
                (page(version=2), "it has version 2; this neuron-monitor knows version 1"),
                (b"x", "it is too short"),
                (page()[:-1], "it is shorter than it says"),
                (page(size=1), "it has 1 cores in 1 bytes"),
                (page(cores=0), None),
                (page(lnc=3), "its logical cores have 3 physical ones"),
                (odd, "its table of models never stops changing"),
                (halves, "core 0 has 3 physical ones"),
                (model, "model 7 has 3 subgraphs")):
            with self.subTest(line=line):
                fd = os.memfd_create("neuron-rt-stats")
                os.write(fd, data)
                found, lines = self.look()
                os.close(fd)
                self.assertEqual(found, [])
                self.assertEqual(lines, [line or f"it has 0 cores in {len(page(0))} bytes"])

    def test_huge(self):
        """A file of more bytes than there is memory, that claims to have as many cores."""
        data = page(cores=1)
        struct.pack_into("<I", data, 12, 0xffffffff)
        size = HEAD.size + LATENCIES + MODELS + 0xffffffff * CORE
        struct.pack_into("<Q", data, 16, size)
        os.truncate(self.offer(data), 1 << 40)
        found, lines = self.look()
        self.assertEqual(found, [])
        self.assertEqual(lines, [f"it has 4294967295 cores in {size} bytes"])

    def test_foreign(self):
        """A page of another process, and one that is not filled yet, are nobody's business."""
        self.offer(page(pid=1))
        self.offer(page(magic=0))
        # Between memfd_create() and ftruncate() of the library.
        self.offer(b"")
        self.assertEqual(self.look(), ([], []))

    def test_lies(self):
        """Texts without an end, counters that go back, all bits set: a document as any other."""
        data = page(tag=self.tag.encode().ljust(256, b"y"))
        data[HEAD.size:HEAD.size + LATENCIES] = b"\xff" * LATENCIES
        struct.pack_into("<IIII", data, HEAD.size + LATENCIES + 8, 7, 0, 0, 2)
        for i in range(HEAD.size + LATENCIES + 8 + 120, HEAD.size + LATENCIES + 8 + 376):
            data[i] = ord("z")
        data[-CORE + ROW.size:] = b"\xff" * (CORE - ROW.size)
        fd = self.offer(data)
        [entry], lines = self.look(1)
        self.assertEqual(lines, [])
        self.assertEqual(entry["neuron_runtime_tag"], self.tag + "y" * (255 - len(self.tag)))
        [model] = entry["report"]["memory_used"]["loaded_models"]
        self.assertEqual(model["name"], "z" * 255)
        documents = self.documents()
        documents()
        os.pwrite(fd, bytes(LATENCIES), HEAD.size)
        report = self.until(documents, os.getpid(), lambda report: report["execution_stats"][
            "latency_stats"]["total_latency"])
        self.assertTrue(report)

    def switches(self):
        """How often the monitor has slept."""
        status = pathlib.Path(f"/proc/{self.monitor.pid}/status").read_text()
        return int(re.search("^voluntary_ctxt_switches:\\t([0-9]+)$", status, re.M)[1])

    def test_many_descriptors(self):
        """A page for which the monitor waits, with many descriptors: it waits once a scan."""
        odd = page()
        struct.pack_into("<I", odd, HEAD.size + LATENCIES, 1)
        fd = self.offer(odd)
        for _ in range(300):
            self.addCleanup(os.close, os.dup(fd))
        documents = self.documents()
        documents()
        before = self.switches()
        documents()
        # One page costs 20; other tests may have such pages, too.
        self.assertLess(self.switches() - before, 1000)
        self.assertEqual(len(self.complaints()), 1)

    def test_many_pages(self):
        """Of a process that has many pages some are read."""
        for _ in range(20):
            self.offer(page(tag=self.tag.encode()))
        found, lines = self.look()
        self.assertEqual((len(found), lines), (16, []))

    def test_changes(self):
        """A page that gets more cores while it is watched."""
        fd = self.offer(page(tag=self.tag.encode()))
        documents = self.documents()
        self.assertTrue(self.of(documents(), os.getpid()))
        os.pwrite(fd, page(cores=2, tag=self.tag.encode()), 0)
        end = time.monotonic() + LIMIT
        while not self.complaints() and time.monotonic() < end:
            documents()
        self.assertEqual(len(self.complaints()), 1)
        self.assertTrue(self.complaints()[0].endswith(
            ": its statistics page is left out: its number of cores has changed"))

    def test_comes_back(self):
        """A page that cannot be read for a while: what it had is not counted again."""
        data = page(tag=self.tag.encode())
        changes, completed = HEAD.size + LATENCIES, len(data) - CORE + ROW.size
        struct.pack_into("<Q", data, completed, 5)
        fd = self.offer(data)
        documents = self.documents()
        self.assertTrue(self.of(documents(), os.getpid()))
        os.pwrite(fd, b"\1", changes)
        while self.of(documents(), os.getpid()):
            pass
        os.pwrite(fd, b"\7", completed)
        os.pwrite(fd, b"\0", changes)
        report = self.until(documents, os.getpid(), lambda report: True)
        self.assertEqual(report["execution_stats"]["execution_summary"]["completed"], 2)

    def test_no_memory_file(self):
        """Files of that name that are none are not opened: a FIFO would block for ever."""
        own = pathlib.Path(f"/fifo-{self.tag}")
        try:
            os.mkfifo(own)
        except OSError as error:
            self.skipTest(f"no file can be made in /: {error.strerror}")
        self.addCleanup(own.unlink, missing_ok=True)
        fifo = os.open(own, os.O_RDWR)
        self.addCleanup(os.close, fifo)
        # The kernel says " (deleted)" of it, and others may do the same at the same time.
        name = pathlib.Path("/memfd:neuron-rt-stats")
        own.replace(name)
        name.unlink(missing_ok=True)
        self.assertEqual(self.look(), ([], ["it is no memory file"]))


if __name__ == "__main__":
    sys.exit(tap.run(sys.modules[__name__]))
