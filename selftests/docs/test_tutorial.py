# SPDX-License-Identifier: MIT
"""The reader of the tutorials notices what is wrong on a page."""

import pytest

import tutorial

PAGE = """
Text::

   not a step

.. code-block:: c
   :caption: hello.txt

   hello
   world

.. code-block:: console

   $ cat hello.txt
   hello
   ...
   $ for word in a; do
   >     echo "$word 12 b"
   > done
   a ... b
   $ false
   $ echo $?
   1
"""


def take(page, folder):
    """Take the steps of the page with this text."""
    path = folder / "page.rst"
    path.write_text(page, encoding="utf-8")
    with tutorial.Shell(folder, folder, 5) as shell:
        tutorial.take(tutorial.read_steps(path), shell, "left-out")


def test_a_right_page_passes(tmp_path):
    """Files, patterns, lines that go on, variables, a status that is shown."""
    take(PAGE, tmp_path)


def test_a_guest_that_is_started_again(tmp_path):
    """The page need not tell of it."""
    said = "neuron-vm: the guest has not booted after 90 s; it is started again"
    take(PAGE.replace("$ false", f"$ echo '{said}' >&2; false", 1), tmp_path)


@pytest.mark.parametrize("old, new, complaint", [
    ("   ...\n", "", "but it printed"),
    ("a ... b", "a ... c", "but it printed"),
    ("   1\n", "   2\n", "but it printed"),
    ("   $ echo $?\n   1\n", "", "exit status 1"),
    ("   > done\n", "", "syntax error"),
    ("   $ cat hello", "   # cat hello", "before the first command"),
    (".. code-block:: console", ".. unknown:: console", "in blocks that are read"),
    ("$ false", "$ sleep 30", "no end after"),
    ("$ false", "$ exit 1", "the shell ended"),
])
def test_a_wrong_page_fails(tmp_path, old, new, complaint):
    """Each kind of mistake, told in one message."""
    assert old in PAGE
    with pytest.raises(tutorial.StepError, match=complaint):
        take(PAGE.replace(old, new, 1), tmp_path)
