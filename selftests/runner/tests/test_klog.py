# SPDX-License-Identifier: MIT
"""What counts as an error in a kernel log."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))

from neuron_vm import klog

REPORT = """[  1.0] ------------[ cut here ]------------
[  1.0] {}
[  1.0] WARNING: CPU: 1 PID: 974 at kernel/file.c:463 function+0x49a/0x590
[  1.0] Call Trace:
[  1.0]  function+0x1/0x2
[  1.0] ---[ end trace 0000000000000000 ]---
"""


def test_a_report_counts():
    assert len(klog.bad_lines(REPORT.format("something is wrong"))) == 2


def test_many_mappings_of_a_page_are_no_error():
    fine = REPORT.format("DMA-API: exceeded 7 overlapping mappings of cacheline 0x00042578c0")
    assert klog.bad_lines(fine) == []
    assert len(klog.bad_lines(fine + REPORT.format("list_add corruption") + fine)) == 3


def test_words_of_the_kernel_about_itself():
    assert klog.bad_lines("[ 1.0] DMA-API: dma_debug_entry pool grown to 131072 (200%)") == []
    assert len(klog.bad_lines("[ 1.0] DMA-API: device driver frees DMA memory twice")) == 1
