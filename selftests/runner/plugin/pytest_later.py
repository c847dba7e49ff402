# SPDX-License-Identifier: MIT
"""A plugin of pytest that leaves out the cases that the runner names, and tells it how many."""

import fnmatch
import os
import pathlib

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
# The runner's words are for this process, not for the programs that tests start.
PATTERNS = os.environ.pop("NEURON_TEST_LATER", "").splitlines()
COUNT = os.environ.pop("NEURON_TEST_LATER_COUNT", "")
os.environ["PYTHONPATH"] = os.pathsep.join(
    path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path != HERE)
if not os.environ["PYTHONPATH"]:
    del os.environ["PYTHONPATH"]


def title(item):
    """PROGRAM:CASE, as the runner names a test."""
    path, _, case = item.nodeid.partition("::")
    return f"{os.path.basename(path).removesuffix('.py')}:{case}"


def pytest_collection_modifyitems(config, items):
    """Deselect what matches a pattern. One that matches nothing is out of date."""
    titles = {item: title(item) for item in items}
    for pattern in PATTERNS:
        if not fnmatch.filter(titles.values(), pattern):
            raise pytest.UsageError(
                f"selftests/runner/later.table names {pattern}, which is no test")
    later = [item for item in items
             if any(fnmatch.fnmatchcase(titles[item], pattern) for pattern in PATTERNS)]
    if later:
        config.hook.pytest_deselected(items=later)
        items[:] = [item for item in items if item not in later]
    if COUNT:
        pathlib.Path(COUNT).write_text(str(len(later)), encoding="ascii")
