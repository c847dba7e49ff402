# SPDX-License-Identifier: MIT
"""tools/build/debug-kernel: it has what the driver selects, and is built anew when that changes.

Run it with pytest or with python3 -m unittest.
"""
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = (ROOT / "tools" / "build" / "debug-kernel").read_text(encoding="utf-8")
KCONFIG = "menuconfig DRM_ACCEL\n\tbool\n\nif DRM_ACCEL\n\nendif\n"


def function(name):
    """The text of a function of the script."""
    return re.search(rf"^{name}\(\)\n{{.*?^}}\n", SCRIPT, re.M | re.S)[0]


class DebugKernelTest(unittest.TestCase):
    """Each test has a folder with the driver's Kconfig and a kernel's."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.driver = self.root / "driver" / "Kconfig"
        self.kernel = self.root / "drivers" / "accel" / "Kconfig"
        for file, text in ((self.driver, (ROOT / "driver" / "Kconfig").read_text()),
                           (self.kernel, KCONFIG), (self.root / "current", "1\n"),
                           (self.root / "config", "CONFIG_64BIT=y\n")):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def run_function(self, name):
        """What a function of the script prints."""
        functions = "".join(function(each) for each in ("parts", "add_parts", "fingerprint"))
        return subprocess.run(["bash", "-euc", functions + name], check=True, text=True,
                              stdout=subprocess.PIPE,
                              env={"PATH": "/usr/bin:/bin", "ROOT": str(self.root), "CC": "cc",
                                   "SRC": str(self.root), "HERE": str(self.root),
                                   "CONFIG": str(self.root / "config")}).stdout

    def test_the_option_selects_what_the_driver_does(self):
        """Once, also when an earlier one was there."""
        wanted = re.findall(r"^\tselect \w+$", self.driver.read_text(), re.M)
        self.assertIn("\tselect DRM_SCHED", wanted)
        self.run_function("add_parts")
        first = self.kernel.read_text()
        self.assertEqual(wanted, re.findall(r"^\tselect \w+$", first, re.M))
        self.assertLess(first.index("if DRM_ACCEL\n"), first.index("config NEURON_PARTS\n"))
        self.assertLess(first.index("config NEURON_PARTS\n"), first.index("endif\n"))
        self.run_function("add_parts")
        self.assertEqual(first, self.kernel.read_text())

    def test_another_option_is_another_kernel(self):
        """The stamp of the old one does not hold."""
        before = self.run_function("fingerprint")
        self.assertEqual(before, self.run_function("fingerprint"))
        self.driver.write_text(self.driver.read_text().replace("\tselect DRM_SCHED\n", ""))
        self.assertNotEqual(before, self.run_function("fingerprint"))
        self.run_function("add_parts")
        self.assertNotIn("DRM_SCHED", self.kernel.read_text())


if __name__ == "__main__":
    unittest.main()
