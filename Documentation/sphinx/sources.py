# SPDX-License-Identifier: MIT
"""Directives that put text of the source tree into the manual.

``kernel-doc``
    The kernel-doc comments of C files, one section for each file::

        .. kernel-doc:: libnrt/include/nrt/*.h

    The argument is a pattern relative to the root of the tree. Files without kernel-doc
    comments are left out, unless ``:overview:`` is given: then each section begins with the
    comment at the top of its file. The kernel's own script reads the comments; KERNEL_DOC
    in the environment names it. What it warns of is a warning of the build.

    With ``:functions:`` or ``:types:`` and names, only the comments of these are shown, in the
    order of the file and without a section. References lead to where all of the file is shown.

    With ``:doc:`` only the DOC comment of that title is shown, without a section of its own::

        .. kernel-doc:: driver/neuron_job.h
           :doc: Jobs layer

``program-output``
    The output of a program of the tree. It is parsed as part of the page, unless
    ``:literal:`` is given: then it is shown as it is::

        .. program-output:: tools/neuron-vm --help
           :literal:

Sphinx does not learn when their sources change: tools/build/docs reads all pages each time.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
import sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

LOGGER = logging.getLogger(__name__)
ROOT = Path(__file__).resolve().parents[2]
TIME_LIMIT = 60

# "/* text */" at the top of a file, after its SPDX line.
TOP_COMMENT = re.compile(r"\A(?:/\*[^\n]*SPDX[^\n]*\*/|//[^\n]*)\n/\*\n(.*?)\n? \*/", re.DOTALL)
COMMENT_MARGIN = re.compile(r"^ \* ?", re.MULTILINE)
# Where kernel-doc says which line of the source the following text comes from.
LINE_NUMBER = re.compile(r"^\s*\.\. LINENO (\d+)$")
# What the script makes of a documented function or type.
DECLARATION = re.compile(r"^\.\. c:(?P<kind>\w+):: (?P<text>.*)$")
WARNING = re.compile(r"^(?:Warning: )?(?P<file>[^:]+):(?P<line>\d+):? (?:warning: )?(?P<text>.*)$")


def escape(text):
    """Plain text as reStructuredText: nothing in it is markup."""
    text = re.sub(r"([\\*`|])", r"\\\1", text)
    return re.sub(r"(?<=\w)_(?!\w)", r"\\_", text)


def comment_lines(comment):
    """The text of a comment as lines of reStructuredText; what is indented is preformatted."""
    lines = []
    for block in COMMENT_MARGIN.sub("", comment).split("\n\n"):
        block = block.split("\n")
        if all(line.startswith("  ") for line in block):
            lines += ["::", "", *("  " + line for line in block), ""]
        else:
            lines += [*map(escape, block), ""]
    return lines


def plain_declaration(match):
    """A declaration that looks like one and declares nothing."""
    kind = "struct " if match["kind"] == "struct" else ""
    return f".. describe:: {kind}{match['text']}"


class SourceDirective(SphinxDirective):
    """A directive whose text comes from elsewhere."""

    required_arguments = 1
    final_argument_whitespace = True

    def parse(self, lines, node):
        """Parse lines, a StringList, as the content of node."""
        self.state.nested_parse(lines, 0, node)
        return node


class KernelDoc(SourceDirective):
    """The kernel-doc comments of files."""

    option_spec = {"overview": directives.flag, "functions": str.split, "types": str.split,
                   "doc": directives.unchanged_required}

    def run(self):
        """One section for each file that has something to say, or what is named."""
        paths = sorted(ROOT.glob(self.arguments[0]))
        if not paths:
            raise self.error(f"no file matches {self.arguments[0]}")
        if "doc" in self.options:
            return [node for path in paths for node in self.overview(path)]
        names = self.options.get("functions", []) + self.options.get("types", [])
        if names:
            return [node for path in paths for node in self.named(path, names)]
        return [section for section in map(self.section, paths) if section]

    def overview(self, path):
        """The text of one DOC comment of a file."""
        lines = kernel_doc(path.relative_to(ROOT).as_posix(), [self.options["doc"]])
        if not lines:
            raise self.error(f"{path.name} has no comment 'DOC: {self.options['doc']}'")
        return self.parse(lines, nodes.Element()).children

    def named(self, path, names):
        """The comments of some names of a file."""
        lines = kernel_doc(path.relative_to(ROOT).as_posix(), names)
        missing = [name for name in names if not re.search(rf"\b{name}\b", "\n".join(lines))]
        if missing:
            raise self.error(f"{path.name} has no comment of {', '.join(missing)}")
        # They are declared where the file is shown as a whole; Sphinx allows that once.
        for place, line in enumerate(lines):
            lines[place] = DECLARATION.sub(plain_declaration, line)
        return self.parse(lines, nodes.Element()).children

    def section(self, path):
        """The section of one file, or None."""
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text()
        overview = TOP_COMMENT.match(text) if "overview" in self.options else None
        documented = re.search(r"^/\*\*$", text, re.MULTILINE)
        if not overview and not documented:
            return None
        section = nodes.section(ids=[nodes.make_id(name)], names=[name])
        section += nodes.title("", "", nodes.literal(text=name))
        if overview:
            self.parse(StringList(comment_lines(overview[1]), source=name), section)
        if documented:
            self.parse(kernel_doc(name), section)
        return section


class ProgramOutput(SourceDirective):
    """What a program of the tree prints, as a part of the page."""

    option_spec = {"literal": directives.flag}

    def run(self):
        """Run the program and show or parse its standard output."""
        program, *words = shlex.split(self.arguments[0])
        program = ROOT / program
        # A folder is a Python package that can be run.
        python = [sys.executable, "-B"] if program.is_dir() else []
        done = run([*python, program, *words])
        if done.returncode:
            raise self.error(f"{self.arguments[0]}: exit status {done.returncode}: {done.stderr}")
        if "literal" in self.options:
            return [nodes.literal_block(done.stdout, done.stdout)]
        lines = StringList(done.stdout.splitlines(), source=self.arguments[0])
        return self.parse(lines, nodes.Element()).children


def run(command):
    """Run a command in the root of the tree."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIME_LIMIT,
                          stdin=subprocess.DEVNULL, check=False)


def kernel_doc(name, only=()):
    """The comments of one file as reStructuredText, each line with where it comes from: all of
    them, or only those of some names.
    """
    script = os.environ.get("KERNEL_DOC")
    if not script:
        raise ExtensionError("KERNEL_DOC does not name the kernel's scripts/kernel-doc")
    chosen = [word for function in only for word in ("-function", function)]
    done = run([script, "-Wshort-desc", "-Wcontents-before-sections", "-rst", "-enable-lineno",
                "-sphinx-version", sphinx.__display_version__, *chosen, name])
    complain(name, done)
    lines, number = StringList(), 0
    for line in done.stdout.splitlines():
        found = LINE_NUMBER.match(line)
        if found:
            number = int(found[1]) - 1
        else:
            lines.append(line, name, number)
            number += 1
    return lines


def complain(name, done):
    """Turn what the script wrote to its standard error into warnings."""
    for line in done.stderr.splitlines():
        found = WARNING.match(line)
        if found:
            LOGGER.warning("kernel-doc: %s", found["text"],
                           location=f"{found['file']}:{found['line']}")
        elif line.strip():
            LOGGER.warning("kernel-doc: %s", line, location=name)
    if done.returncode and not done.stderr.strip():
        LOGGER.warning("kernel-doc ended with status %d", done.returncode, location=name)


def setup(app):
    """Tell Sphinx about the directives."""
    app.add_directive("kernel-doc", KernelDoc)
    app.add_directive("program-output", ProgramOutput)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
