# SPDX-License-Identifier: MIT
"""compile_commands.json, which make vm has written, and tools/build/compile-commands.

Run it with pytest or with python3 -m unittest.
"""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD_DIR", ROOT / "build"))
PROGRAM = ROOT / "tools" / "build" / "compile-commands"
# No compiler is started for these by what make vm builds, or would build.
WITHOUT = {
    "selftests/bench/count_plugin.c": "make bench compiles it, for its QEMU",
    "selftests/coverage/exit.c": "make coverage compiles it",
    "selftests/nki/standin/ml_dtypes.c": "its test compiles it, for Python",
}
# Each of these is included by the file that it tests.
INCLUDED = "driver/tests/"


class WholeTest(unittest.TestCase):
    """The file of this checkout."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.entries = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
        cls.known = {entry["file"] for entry in cls.entries}

    def test_each_file_is_there(self):
        """All that git tracks or would track, but for those with a reason."""
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "*.c"],
                                check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        files = [name for name in listed if (ROOT / name).is_file()]
        self.assertIn("selftests/native/test_udma.c", files)
        lacks = [name for name in files if str(ROOT / name) not in self.known]
        self.assertEqual(sorted(WITHOUT), sorted(name for name in lacks
                                                 if not name.startswith(INCLUDED)))

    def test_no_entry_is_instrumented(self):
        """A sanitizer is noise to an editor."""
        self.assertEqual([], [entry["file"] for entry in self.entries
                              if any(word.startswith(("-fsanitize=address", "-fsanitize=thread",
                                                      "-fsanitize=fuzzer"))
                                     for word in entry["arguments"])])


class MergeTest(unittest.TestCase):
    """What the program makes of the folders of two builds."""

    def test_what_is_built_comes_first(self):
        """A file that only the tests of the host have comes from the other folder."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            for name in ("a.c", "test_a.c"):
                (root / name).write_text("")
            for name, files in (("user", ["a.c"]), ("commands", ["a.c", "test_a.c"])):
                (root / "build" / name).mkdir(parents=True)
                entries = [{"directory": str(root / "build" / name), "file": f"../../{file}",
                            "command": f"ccache cc -D{name} -c ../../{file}"} for file in files]
                (root / "build" / name / "compile_commands.json").write_text(json.dumps(entries))
            subprocess.run([PROGRAM, root, root / "build"], check=True, stdout=subprocess.PIPE)
            found = json.loads((root / "build" / "compile_commands.json").read_text())
        self.assertEqual({str(root / "a.c"): "-Duser", str(root / "test_a.c"): "-Dcommands"},
                         {entry["file"]: entry["arguments"][1] for entry in found})


if __name__ == "__main__":
    unittest.main()
