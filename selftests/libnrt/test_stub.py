#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Programs that were linked with another libnrt run on this one, as they are.

usage: test_stub.py FOLDER...

The other library is a stub: it has the public functions with the versions of their symbols, and
nothing of ours. Each function of it ends the process. Programs in C and C++ are linked with it.
The loader then finds this library. The folders hold add.neff and scale.neff.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import tap

FOLDERS = [pathlib.Path(folder).resolve() for folder in sys.argv[1:]]
ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBNRT = ROOT / "libnrt"
EXAMPLES = ROOT / "Documentation" / "examples"
LIMIT = 120
OURS = "nrt/nrt_emu.h"
# Compilers must see neither our library nor what a sanitizer wants to be loaded first.
PLAIN = {name: value for name, value in os.environ.items()
         if name not in ("LD_LIBRARY_PATH", "LD_PRELOAD", "ASAN_OPTIONS")}
NODE = re.compile(r"^(\w[\w.]*) \{\n(.*?)^\}", re.M | re.S)


def neff(name):
    """The path of a NEFF."""
    return next(folder / f"{name}.neff" for folder in FOLDERS
                if (folder / f"{name}.neff").exists())


def public_functions():
    """The names of libnrt/functions that are not our own."""
    lines = [line.partition("#")[0].split()
             for line in (LIBNRT / "functions").read_text(encoding="utf-8").splitlines()]
    return {words[1] for words in lines if words and words[0] != OURS}


def versions():
    """The version of each symbol, and the versions in their order."""
    text = (LIBNRT / "libnrt.map").read_text(encoding="utf-8")
    nodes = {version: set(re.findall(r"^\t(\w+);$", body, re.M))
             for version, body in NODE.findall(text)}
    return {version: names & public_functions() for version, names in nodes.items()
            if names & public_functions()}


def version_script():
    """What gives the symbols of the stub their versions."""
    text, before = "", ""
    for version, names in versions().items():
        text += f"{version} {{\nglobal:\n"
        text += "".join(f"\t{name};\n" for name in sorted(names))
        text += "local:\n\t*;\n" if not before else ""
        text += f"}}{before};\n"
        before = f" {version}"
    return text


class Stub(unittest.TestCase):
    """The stub is made once; each program has a test."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        source = "#include <stdlib.h>\n" + "".join(
            f"void {name}(void) {{ abort(); }}\n" for name in sorted(public_functions()))
        (cls.folder / "stub.c").write_text(source, encoding="utf-8")
        (cls.folder / "stub.map").write_text(version_script(), encoding="utf-8")
        cls.compile("gcc", "-w", "-shared", "-fPIC", "stub.c", "-o", "libnrt.so.1",
                    "-Wl,-soname,libnrt.so.1", "-Wl,--version-script=stub.map")
        (cls.folder / "libnrt.so").symlink_to("libnrt.so.1")

    @classmethod
    def compile(cls, *words):
        """Run a compiler in the folder."""
        done = subprocess.run(words, cwd=cls.folder, env=PLAIN, capture_output=True, text=True,
                              timeout=LIMIT, check=False)
        if done.returncode:
            raise AssertionError(f"{' '.join(map(str, words))}: {done.stderr}")

    def link(self, name, compiler, standard, source):
        """Link a program with the stub; it must need the stub's symbols, and it must reach them."""
        self.compile(compiler, f"-std={standard}", "-D_GNU_SOURCE", f"-I{LIBNRT / 'include'}",
                     source, "-o", name, "-L.", "-lnrt")
        done = subprocess.run([self.folder / name, *self.words(name)], cwd=self.folder,
                              env={**PLAIN, "LD_LIBRARY_PATH": self.folder}, timeout=LIMIT,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, -6, "the stub did not end it")

    @staticmethod
    def words(name):
        """The arguments of a program."""
        return {"run_neff": (neff("add"), "a_input", "a.bin"), "pipeline": (neff("scale"), "3"),
                "stub_app": (neff("add"), "0x3c"), "all": ("call",)}[name]

    def run_here(self, name):
        """Run a program on our library; its standard output."""
        done = subprocess.run([self.folder / name, *self.words(name)], cwd=self.folder,
                              capture_output=True, text=True, timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_c(self):
        """The program of the runtime guide: inputs from files, outputs to files."""
        numbers = np.arange(12, dtype=np.float16)
        numbers.tofile(self.folder / "a.bin")
        self.link("run_neff", "gcc", "c11", EXAMPLES / "run_neff.c")
        self.run_here("run_neff")
        self.assertTrue((np.fromfile(self.folder / "output_0.out", np.float16) == numbers).all())

    def test_c_asynchronous(self):
        """The asynchronous calls, which have another version."""
        self.link("pipeline", "gcc", "c17", EXAMPLES / "pipeline.c")
        self.assertEqual(self.run_here("pipeline").splitlines(),
                         ["item 0: 1", "item 1: 3", "item 2: 5"])

    def test_cxx(self):
        """A program in C++: each of 12 numbers 0x3c3c is doubled to 0x403c."""
        self.link("stub_app", "g++", "c++11", pathlib.Path(__file__).with_name("stub_app.cc"))
        self.assertEqual(self.run_here("stub_app"), f"{12 * (0x3C + 0x40)}\n")

    def test_all_functions(self):
        """A program that needs each public function begins; it calls one of them."""
        names = sorted(public_functions())
        source = "".join(f"void {name}(void);\n" for name in names)
        source += f"void (*all[])(void) = {{ {', '.join(names)} }};\n"
        source += "int main(int argc, char **argv)\n{\n\tif (argc > 1)\n\t\tnrt_close();\n"
        source += "\treturn !all[argc];\n}\n"
        (self.folder / "all.c").write_text(source, encoding="utf-8")
        self.link("all", "gcc", "c11", "all.c")
        self.run_here("all")


if __name__ == "__main__":
    if not FOLDERS:
        sys.exit(__doc__)
    sys.exit(tap.run(sys.modules[__name__]))
