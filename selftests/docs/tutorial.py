# SPDX-License-Identifier: MIT
"""A tutorial as the list of steps that a reader takes, and a shell that takes them.

A page in reStructuredText is read with docutils. Two kinds of blocks are steps:

``code-block:: console``
    Lines that begin with "$ " are commands; a command goes on in the lines below that begin
    with "> ". What follows is its output, standard output and standard error together. "..."
    stands for any text in a line, and alone in a line for any lines.
``code-block:: LANGUAGE`` with ``:caption: NAME``
    The contents of the file NAME, which the reader saves in the current folder.

The steps of a page share one shell, so a command finds the folder and the variables that
earlier ones have set. A command may fail only where the page shows it: the next command must
then be ``echo $?``.
"""

import dataclasses
import os
import pathlib
import re
import select
import signal
import subprocess
import time

import docutils.core
import docutils.nodes
import docutils.parsers.rst
from docutils.parsers.rst import directives

PROMPT = "$ "
CONTINUATION = "> "
STATUS = "echo $?"
MARK = "@@tutorial-step-ended"
# What neuron-vm says, rarely, when a guest hangs before it runs anything.
AGAIN = re.compile(r"neuron-vm: the guest has not booted after \d+ s; it is started again")


@dataclasses.dataclass
class File:
    """A file that the reader saves."""
    line: int
    name: str
    text: str


@dataclasses.dataclass
class Command:
    """A command that the reader types, and the lines that answer it."""
    line: int
    text: str
    expected: list


class StepError(Exception):
    """A step that does not do what the page says."""


class CodeBlock(docutils.parsers.rst.Directive):
    """Sphinx's code-block, as far as the tutorials use it."""
    required_arguments = 1
    has_content = True
    option_spec = {"caption": directives.unchanged_required, "class": directives.class_option,
                   "emphasize-lines": directives.unchanged_required}

    def run(self):
        """Keep the text, its language, its name and its place."""
        block = docutils.nodes.literal_block("\n".join(self.content), "\n".join(self.content))
        block["language"] = self.arguments[0]
        block["caption"] = self.options.get("caption")
        block["begin"] = self.content_offset + 1
        return [block]


def console_steps(lines, begin):
    """The commands of one console block, whose first line is line BEGIN of the page."""
    steps = []
    for number, line in enumerate(lines, begin):
        if line.startswith(PROMPT):
            steps.append(Command(number, line[len(PROMPT):], []))
        elif not steps:
            raise StepError(f"line {number}: output before the first command of the block")
        elif line.startswith(CONTINUATION) and not steps[-1].expected:
            steps[-1].text += "\n" + line[len(CONTINUATION):]
        else:
            steps[-1].expected.append(line.rstrip())
    return steps


def read_steps(path):
    """All steps of the page at PATH, in order."""
    directives.register_directive("code-block", CodeBlock)
    text = pathlib.Path(path).read_text(encoding="utf-8")
    # Roles and directives of Sphinx are unknown here. That no step is lost with them is
    # checked below.
    settings = {"report_level": 5, "halt_level": 5, "file_insertion_enabled": False}
    tree = docutils.core.publish_doctree(text, settings_overrides=settings)
    steps = []
    for block in tree.findall(docutils.nodes.literal_block):
        if block.get("language") == "console":
            steps += console_steps(block.rawsource.split("\n"), block["begin"])
        elif block.get("caption"):
            steps.append(File(block["begin"], block["caption"], block.rawsource + "\n"))
    check_none_lost(text, steps)
    return steps


def check_none_lost(text, steps):
    """A command or a file that the parser did not see would never be run."""
    prompts = len(re.findall(r"^\s+\$ ", text, re.M))
    captions = len(re.findall(r"^\s+:caption:", text, re.M))
    commands = sum(isinstance(step, Command) for step in steps)
    if prompts != commands or captions != len(steps) - commands:
        raise StepError(f"{prompts} commands and {captions} files are written on the page, but "
                        f"{commands} and {len(steps) - commands} are in blocks that are read")


def matches(expected, actual):
    """Whether the lines of output are those of the page."""
    pattern = ""
    for line in expected:
        if line == "...":
            pattern += r"(?:.*\n)*"
        else:
            pattern += ".*".join(re.escape(part) for part in line.split("...")) + r"\n"
    text = "".join(line.expandtabs().rstrip() + "\n" for line in actual)
    return re.fullmatch(pattern, text) is not None


def trim(lines):
    """Lines without the empty ones at both ends."""
    text = "\n".join(lines).strip("\n")
    return text.split("\n") if text else []


class Shell:
    """One bash that runs command after command; LIMIT is the time of one, in seconds.

    PROGRAMS is a folder of programs that come before those of the host.
    """

    def __init__(self, folder, scratch, limit, programs=None):
        self.limit = limit
        self.script = pathlib.Path(scratch) / "command.sh"
        self.folder = pathlib.Path(folder)
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        if programs:
            environment["PATH"] = f"{programs}:{environment['PATH']}"
        # What "make check" tells its own programs is not for the reader's.
        for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "BUILD_DIR"):
            environment.pop(name, None)
        self.bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, cwd=folder, env=environment, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.bash.stdin.close()
        try:
            os.killpg(self.bash.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        self.bash.wait(10)
        self.bash.stdout.close()

    def run(self, command):
        """Run it; returns its exit status, its lines of output and the folder afterwards."""
        self.script.write_text(command + "\n", encoding="utf-8")
        self.bash.stdin.write(
            f". '{self.script}' </dev/null; tutorial_status=$?; "
            f"printf '\\n{MARK} %d %s\\n' \"$tutorial_status\" \"$PWD\"; "
            "(exit $tutorial_status)\n".encode())
        self.bash.stdin.flush()
        text, status, folder = self._read_to_mark(command)
        self.folder = pathlib.Path(folder)
        return status, trim([line for line in text.split("\n") if not AGAIN.fullmatch(line)])

    def _read_to_mark(self, command):
        text = ""
        end = time.monotonic() + self.limit
        while True:
            found = re.search(rf"\n{MARK} (\d+) (.*)\n", text)
            if found:
                return text[:found.start()], int(found[1]), found[2]
            ready, _, _ = select.select([self.bash.stdout], [], [], end - time.monotonic()
                                        if time.monotonic() < end else 0)
            if not ready:
                raise StepError(f"no end after {self.limit} s: {command}\nso far:\n{text}")
            data = os.read(self.bash.stdout.fileno(), 65536)
            if not data:
                raise StepError(f"the shell ended in: {command}\nwith:\n{text}")
            text += data.decode("utf-8", "replace")


def indent(lines):
    """The lines as one indented text."""
    return "\n".join("    " + line for line in lines)


def take_command(shell, command, may_fail):
    """Run one command and compare."""
    status, actual = shell.run(command.text)
    expected = trim(command.expected)
    if not matches(expected, actual):
        raise StepError(f"line {command.line}: $ {command.text}\n  the page says:\n"
                        f"{indent(expected)}\n  but it printed:\n{indent(actual)}")
    if status and not may_fail:
        raise StepError(f"line {command.line}: $ {command.text}\n  exit status {status}, which "
                        f"the page does not show; it printed:\n{indent(actual)}")


def take(steps, shell, left_out):
    """Take all steps in order, but the commands that LEFT_OUT, a regular expression, matches."""
    for step, following in zip(steps, steps[1:] + [None]):
        if isinstance(step, File):
            (shell.folder / step.name).write_text(step.text, encoding="utf-8")
        elif not re.match(left_out, step.text):
            shows_status = isinstance(following, Command) and following.text == STATUS
            take_command(shell, step, shows_status)
