# SPDX-License-Identifier: MIT
"""The unit tests inside the module: only a debug kernel builds them, so here is what can be read.

Run it with pytest or with python3 -m unittest.
"""
import pathlib
import unittest

DRIVER = pathlib.Path(__file__).resolve().parents[2] / "driver"
INCLUDED = """\
#if IS_ENABLED(CONFIG_DRM_ACCEL_NEURON_KUNIT_TEST)
#include "tests/{}"
#endif
"""


class KunitTest(unittest.TestCase):
    """driver/tests/neuron_kunit_X.c belongs to driver/neuron_X.c."""

    def test_each_file_includes_its_tests(self):
        files = sorted((DRIVER / "tests").glob("neuron_kunit_*.c"))
        self.assertGreater(len(files), 5)
        for file in files:
            tested = DRIVER / file.name.replace("neuron_kunit_", "neuron_")
            self.assertTrue(tested.read_text().endswith(INCLUDED.format(file.name)), tested.name)


if __name__ == "__main__":
    unittest.main()
