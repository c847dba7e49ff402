# SPDX-License-Identifier: MIT
"""tools/build/export-kernel, into a folder with what it changes of a kernel's tree.

Run it with pytest or with python3 -m unittest. That the result can be built are the stages
"kernels" of make check-long and "in-tree" of make check-nightly.
"""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPORT = ROOT / "tools" / "build" / "export-kernel"
KCONFIG = "menuconfig DRM_ACCEL\n\tbool\n\nif DRM_ACCEL\n\nendif # DRM_ACCEL\n"
SOURCE = 'source "drivers/accel/neuron/Kconfig"\n'
LINE = "obj-$(CONFIG_DRM_ACCEL_NEURON)\t\t+= neuron/\n"


class ExportTest(unittest.TestCase):
    """Each test exports into a new folder."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.linux = pathlib.Path(self.folder.name)
        self.accel = self.linux / "drivers" / "accel"

    def tearDown(self):
        self.folder.cleanup()

    def make_tree(self):
        """What a kernel's tree has at these places."""
        self.accel.mkdir(parents=True)
        (self.linux / "include" / "uapi" / "drm").mkdir(parents=True)
        (self.accel / "Kconfig").write_text(KCONFIG)
        (self.accel / "Makefile").write_text("obj-y\t+= other/\n")

    def export(self):
        """Return the finished process."""
        return subprocess.run([EXPORT, self.linux], capture_output=True, text=True, check=False,
                              timeout=300)

    def test_exports_the_driver_and_what_it_includes(self):
        """Source only and unchanged, the interface where programs look for it, and one line in
        each file.
        """
        self.make_tree()
        done = self.export()
        self.assertEqual(done.returncode, 0, done.stderr)
        here = self.accel / "neuron"
        for folder, name in (("driver", "Makefile"), ("driver", "Kconfig"),
                             ("driver", "neuron_drv.c"), ("driver", "objects.mk"),
                             ("driver", "tests/neuron_kunit_hbm.c"),
                             ("uapi", "contract/job.h"), ("uapi", "neuron/regs.h")):
            self.assertEqual((here / name).read_bytes(), (ROOT / folder / name).read_bytes(), name)
        suffixes = {file.suffix for file in here.rglob("*") if file.is_file()}
        self.assertEqual(suffixes, {"", ".c", ".h", ".mk"})
        self.assertFalse((here / "drm").exists())
        self.assertTrue((self.linux / "include/uapi/drm/neuron_accel.h").is_file())
        abi = "Documentation/ABI/testing"
        self.assertEqual(sorted(file.name for file in (self.linux / abi).iterdir()),
                         sorted(file.name for file in (ROOT / abi).iterdir()))
        kconfig = (self.accel / "Kconfig").read_text()
        self.assertLess(kconfig.index("if DRM_ACCEL\n"), kconfig.index(SOURCE))
        self.assertLess(kconfig.index(SOURCE), kconfig.index("endif"))

    def test_replaces_what_an_earlier_export_left(self):
        """A file that has gone does not stay, and the lines are there once."""
        self.make_tree()
        self.export()
        (self.accel / "neuron" / "old.c").write_text("")
        self.assertEqual(self.export().returncode, 0)
        self.assertFalse((self.accel / "neuron" / "old.c").exists())
        self.assertEqual((self.accel / "Kconfig").read_text().count(SOURCE), 1)
        self.assertEqual((self.accel / "Makefile").read_text(), "obj-y\t+= other/\n" + LINE)

    def test_refuses_a_folder_that_is_no_kernel(self):
        """Nothing is written."""
        done = self.export()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("is no kernel source tree", done.stderr + done.stdout)
        self.assertEqual(list(self.linux.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
