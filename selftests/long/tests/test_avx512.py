# SPDX-License-Identifier: MIT
"""What is made of the console of an emulated computer."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import avx512

FLAGS = "flags\t\t: fpu avx2 avx512f avx512dq avx512bw avx512vl\n"
RIGHT = f"{FLAGS}1..2\nok 1 - a\nok 2 - b\n# exit 0\n# end\n"


def judge(folder, text):
    """The verdict on a console with this text."""
    machine = avx512.Machine("test", folder, None, None)
    machine.console.write_text(text.replace("\n", "\r\n"))
    return machine.judge(60)


def test_all_passed(tmp_path):
    """The number of cases is told."""
    assert judge(tmp_path, RIGHT) == "2 passed"


@pytest.mark.parametrize("old, new, complaint", [
    ("ok 2", "not ok 2", "b failed"),
    ("ok 2 - b", "ok 2 - b # SKIP no avx512 on this host", "b skipped"),
    ("ok 2 - b\n", "", "after 1 of 2"),
    ("exit 0", "exit 139", "exit status 139"),
    ("# end\n", "", "has not ended within 60 s"),
    (" avx512vl", "", "lacks avx512vl"),
    (FLAGS, "", "has not booted"),
])
def test_what_is_a_failure(tmp_path, old, new, complaint):
    """Each is told in one line."""
    assert old in RIGHT
    with pytest.raises(avx512.Failed, match=complaint) as failure:
        judge(tmp_path, RIGHT.replace(old, new))
    assert "\n" not in str(failure.value)
