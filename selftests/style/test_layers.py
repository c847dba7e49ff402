# SPDX-License-Identifier: MIT
"""tools/build/layers, on small trees of its own; and the manual's table of the driver's layers.

Run it with pytest or with python3 -m unittest.
"""
import pathlib
import re
import runpy
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS = ROOT / "tools" / "build" / "layers"
TABLE = "low: base.[ch] sub/*.h\nhigh: top.[ch]\n"


class LayersTest(unittest.TestCase):
    """Each test writes a tree and reads what the program says about it."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.tree = pathlib.Path(self.folder.name)
        self.write("layers", TABLE)
        self.write("base.h", "")
        self.write("base.c", '#include "base.h"\n')
        self.write("sub/deep.h", '#include "../base.h"\n')
        self.write("top.h", '#include "base.h"\n')
        self.write("top.c", '#include <stdio.h>\n#include "top.h"\n#include "sub/deep.h"\n')

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        """Make a file of the tree."""
        path = self.tree / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def check(self):
        """Exit status, errors without the tree's path, and what else is said."""
        done = subprocess.run([LAYERS, str(self.tree)], capture_output=True, text=True,
                              check=False)
        errors = [line.removeprefix(f"{self.tree}/") for line in done.stdout.splitlines()]
        return done.returncode, errors, done.stderr

    def test_a_sorted_tree_passes(self):
        self.assertEqual(self.check(), (0, [], ""))

    def test_an_include_that_goes_up_is_found(self):
        self.write("base.c", '#include "base.h"\n\n#  include "top.h"\n')
        self.assertEqual(self.check()[:2],
                         (1, ["base.c:3: low includes top.h of the higher layer high"]))

    def test_a_path_that_goes_up_a_folder_is_followed(self):
        self.write("sub/deep.h", '#include "../top.h"\n')
        self.assertEqual(self.check()[:2],
                         (1, ["sub/deep.h:1: low includes top.h of the higher layer high"]))

    def test_a_file_in_no_layer_is_an_error(self):
        self.write("new.c", "")
        self.assertEqual(self.check()[:2], (1, ["new.c: in no layer of the table"]))

    def test_a_file_in_two_layers_is_an_error(self):
        self.write("layers", TABLE + "third: top.c\n")
        self.assertEqual(self.check()[:2], (1, ["top.c: in several layers: high, third"]))

    def test_a_pattern_without_a_file_is_an_error(self):
        self.write("layers", TABLE + "high: gone.h\n")
        self.assertEqual(self.check()[:2],
                         (1, ["layers: layer high: no file matches 'gone.h'"]))

    def test_a_header_that_a_file_is_without_is_found(self):
        self.write("layers", TABLE + "without chip_*.h: top.[ch] sub/*.h\n")
        self.write("base.c", '#include "chip/sub/chip_inside.h"\n')
        self.write("top.h", '#include "chip/public.h"\n#include "chip/sub/chip_inside.h"\n')
        self.assertEqual(self.check()[:2], (1, ["top.h:2: includes chip/sub/chip_inside.h; "
                                                "it is without chip_*.h"]))

    def test_a_pattern_of_what_is_without_matches_a_file(self):
        self.write("layers", TABLE + "without chip_*.h: gone.c\n")
        self.assertEqual(self.check()[:2],
                         (1, ["layers: without chip_*.h: no file matches 'gone.c'"]))

    def test_a_star_does_not_reach_into_folders(self):
        self.write("layers", "low: base.* *.h\nhigh: top.c\n")
        self.assertIn("sub/deep.h: in no layer of the table", self.check()[1])

    def test_a_tree_that_is_off_is_named(self):
        self.write("layers", "off: not sorted yet\n" + TABLE)
        self.write("base.c", '#include "top.h"\n')
        status, errors, said = self.check()
        self.assertEqual((status, errors), (0, []))
        self.assertIn("not checked: not sorted yet", said)

    def test_a_tree_without_a_table_is_an_error(self):
        (self.tree / "layers").unlink()
        self.assertEqual(self.check()[0], 1)

    def test_a_line_that_is_no_layer_is_an_error(self):
        self.write("layers", "low base.c\n")
        status, errors, _ = self.check()
        self.assertEqual((status, errors),
                         (1, ["layers:1: expected 'NAME: PATTERN...', found 'low base.c'"]))


def layers_of(tree):
    """The layers of a tree as the program sees them: name, and its files without their ending."""
    tool = runpy.run_path(str(LAYERS))
    layers, _, _ = tool["read_table"](tree)
    places, errors = tool["place"](tool["sources"](tree), layers)
    assert not errors, errors
    return [(name, {pathlib.PurePath(file).stem for file, place in places.items()
                    if place == index and not file.startswith("tests/")})
            for index, (name, _) in enumerate(layers)]


def layers_of_manual(page):
    """The same of the table in the manual, whose first row begins with "layer"."""
    table = re.search(r"^(=+ =+)\nlayer .*\n\1\n((?:.+\n)+?)\1\n", page, re.MULTILINE)
    assert table, "no table of layers"
    rows = re.findall(r"^(\w+) +(.*\n(?: .*\n)*)", table[2], re.MULTILINE)
    return [(name, set(re.findall(r"``(\w+)``", text))) for name, text in rows]


class ManualTest(unittest.TestCase):
    """The manual tells the layers of the driver, lowest first, and what is in each."""

    def test_the_table_names_each_file_in_its_layer(self):
        page = (ROOT / "Documentation/driver-internals.rst").read_text(encoding="utf-8")
        manual, driver = layers_of_manual(page), layers_of(ROOT / "driver")
        self.assertEqual([name for name, _ in manual], [name for name, _ in driver])
        for (name, told), (_, files) in zip(manual, driver):
            self.assertEqual(told, files, f"layer {name}")


if __name__ == "__main__":
    unittest.main()
