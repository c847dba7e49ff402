# SPDX-License-Identifier: MIT
"""Checkouts that are measured: this one, and another commit in a worktree beside it."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from neuron_vm.process import Processes

PROGRAM_S = 600
# For a program that is asked to end; make check itself needs a while to end a machine.
GRACE_S = 60


class NotMeasured(Exception):
    """Something could not be measured; the text says why."""


def last_words(text, lines=3):
    said = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(said[-lines:])[-400:] or "it said nothing"


class Tree:
    """A checkout with its build folder.

    Attributes:
        name: "now", or the commit.
        root: the source.
        build: outputs.
        logs: folder for what the programs print.
    """

    def __init__(self, name, root, build, logs):
        self.name = name
        self.root = pathlib.Path(root)
        self.build = pathlib.Path(build)
        self.logs = pathlib.Path(logs) / name
        self.logs.mkdir(parents=True, exist_ok=True)

    def program(self, name):
        path = self.build / "user/selftests/bench" / f"bench-{name}"
        if not path.exists():
            raise NotMeasured(f"{self.name} has no program {path.name}")
        return path

    @property
    def neuron_vm(self):
        return str(self.root / "tools/neuron-vm")

    def environment(self):
        """For its own scripts: its own build folder."""
        return {**os.environ, "BUILD_DIR": str(self.build)}

    def log(self, name):
        return self.logs / f"{name}.log"

    def run(self, words, name, limit=PROGRAM_S):
        """Run a program to its end; return what it printed. Its errors are in the log."""
        printed = self.logs / f"{name}.out"
        done = Processes(GRACE_S).run(words, printed, limit, errors=self.log(name),
                                      env=self.environment())
        if done.timed_out:
            raise NotMeasured(f"{self.name}: {name} has not ended after {limit} s")
        text = printed.read_text(errors="replace")
        if done.status:
            said = last_words(self.log(name).read_text(errors="replace") + text)
            raise NotMeasured(f"{self.name}: {name}: exit status {done.status}: {said}")
        return text

    def bench(self, name, rounds):
        """The figures of a benchmark of the host."""
        program = str(self.program(name))
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            words = [program, "--json", out.name]
            try:
                self.run(words + ["--rounds", str(rounds)], name)
            except NotMeasured as error:
                # Commits before the option have rounds of their own.
                if "usage:" not in str(error):
                    raise
                self.run(words, name)
            return json.load(out)


def git(root, *words):
    done = subprocess.run(["git", "-C", str(root), *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise NotMeasured(f"git {' '.join(words)}: {last_words(done.stderr)}")
    return done.stdout.strip()


def base_tree(now, commit):
    """Check the commit out below build/base and build it there. The output is shown."""
    full = git(now.root, "rev-parse", "--verify", f"{commit}^{{commit}}")
    short = full[:12]
    root = now.build / "base" / short
    # A worktree that was removed by hand is still registered.
    git(now.root, "worktree", "prune")
    if not (root / ".git").exists():
        root.parent.mkdir(parents=True, exist_ok=True)
        git(now.root, "worktree", "add", "--detach", str(root), full)
    tree = Tree(short, root, root / "build", now.logs.parent)
    print(f"building {commit} ({short}) in {root}", flush=True)
    build = ["tools/build/all"], ["ninja", "-C", str(tree.build / "user"), "meson-benchmark-prereq"]
    for words in build:
        quiet = subprocess.DEVNULL if words[0] == "ninja" else None
        if subprocess.run(words, cwd=root, env=tree.environment(), stdout=quiet,
                          check=False).returncode:
            raise NotMeasured(f"{short} cannot be built: {' '.join(words)} failed in {root}")
    return tree
