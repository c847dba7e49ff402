# SPDX-License-Identifier: MIT
"""The rules of tools/build/abi, on small dumps.

Run it with pytest or with python3 -m unittest.
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import tempfile
import unittest

PATH = pathlib.Path(__file__).resolve().parents[2] / "tools" / "build" / "abi"
OLD = """#define DRM_IOCTL_NEURON_COPY 0xc0306443
#define DRM_NEURON_BO_HBM 0x1
#define DRM_NEURON_DRIVER_MINOR 0

struct drm_neuron_copy {
\t__u32 handle; /* 0 4 */
\t__u32 flags; /* 4 4 */
}; /* 8 */

enum drm_neuron_cause {
\tDRM_NEURON_CAUSE_NONE = 0,
\tDRM_NEURON_NR_CAUSES = 1,
};

#define NEURON_TRACE_MAGIC 0x4352544e

enum neuron_trace_kind {
\tNEURON_TRACE_TRANSFER = 2,
\tNEURON_NR_TRACE_KINDS = 3,
};

struct neuron_hw_trace {
\t__le32 magic; /* 0 4 */
}; /* 4 */
"""


def load():
    """A fresh copy of the program as a module."""
    loader = importlib.machinery.SourceFileLoader("abi", str(PATH))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("abi", loader))
    loader.exec_module(module)
    return module


class AbiTest(unittest.TestCase):
    """Each test writes dumps and reads what the program says about a header."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.abi = load()
        self.abi.DUMPS = pathlib.Path(self.folder.name)
        self.renew((2, 0), OLD)

    def tearDown(self):
        self.folder.cleanup()

    def renew(self, version, text, freeze=False):
        """Exit status of a renewal."""
        with contextlib.redirect_stdout(io.StringIO()):
            return self.abi.renew(version, text, freeze)

    def said(self, version, text):
        """All complaints, in one string."""
        return "\n".join(self.abi.complaints(version, text))

    def test_the_same_passes(self):
        self.assertEqual(self.said((2, 0), OLD), "")

    def test_a_struct_is_a_multiple_of_8(self):
        grown = OLD.replace("}; /* 8 */", "\t__u32 more; /* 8 4 */\n}; /* 12 */")
        self.assertIn("struct drm_neuron_copy has 12 bytes, which is no multiple of 8",
                      self.said((2, 0), grown))

    def test_all_headers_are_in_the_dump(self):
        _, text = self.abi.current()
        for name in ("struct drm_neuron_query {", "#define DRM_NEURON_DRIVER_MAJOR ",
                     "struct neuron_hw_trace {", "struct neuron_hw_trace_record {",
                     "enum neuron_trace_kind {", "#define NEURON_TRACE_VERSION "):
            self.assertIn(name, text)

    def test_an_open_version_is_renewed(self):
        new = OLD.replace("handle", "source")
        self.assertIn("if this is meant", self.said((2, 0), new))
        self.assertEqual(self.renew((2, 0), new), 0)
        self.assertEqual(self.said((2, 0), new), "")

    def test_a_frozen_version_stays(self):
        self.assertEqual(self.renew((2, 0), OLD, True), 0)
        new = OLD.replace("0x1", "0x2")
        self.assertIn("-#define DRM_NEURON_BO_HBM 0x1", self.said((2, 0), new))
        self.assertIn("is frozen", self.said((2, 0), new))
        self.assertEqual(self.renew((2, 0), new), 1)
        self.assertEqual(self.renew((2, 0), OLD), 0)
        self.assertIn("is frozen", self.said((2, 0), new))

    def test_an_ioctl_must_be_called(self):
        self.assertEqual(list(self.abi.uncalled(OLD, "must(COPY, &copy);")), [])
        self.assertEqual(list(self.abi.uncalled(OLD, "call(DRM_IOCTL_NEURON_COPY)")), [])
        missing, = self.abi.uncalled(OLD, "must(COPY_MORE, &copy); COPY")
        self.assertIn("does not call DRM_IOCTL_NEURON_COPY:", missing)

    def test_a_minor_number_adds(self):
        new = OLD.replace("}; /* 8 */", "\t__u64 more; /* 8 8 */\n}; /* 16 */")
        new = new.replace("\tDRM_NEURON_NR_CAUSES = 1",
                          "\tDRM_NEURON_CAUSE_JOB = 1,\n\tDRM_NEURON_NR_CAUSES = 2")
        new = new.replace("\tNEURON_NR_TRACE_KINDS = 3",
                          "\tNEURON_TRACE_WAIT = 3,\n\tNEURON_NR_TRACE_KINDS = 4")
        new = new.replace("0xc0306443", "0xc0386443").replace("MINOR 0", "MINOR 0x1")
        self.assertIn("has no dump", self.said((2, 1), new))
        self.assertEqual(self.renew((2, 1), new), 0)
        self.assertEqual(self.said((2, 1), new), "")
        self.assertEqual(self.abi.dumps(), [(2, 0), (2, 1)])

    def test_a_minor_number_changes_nothing(self):
        for was, now in (("handle; /* 0 4 */", "source; /* 0 4 */"), ("HBM 0x1", "HBM 0x2"),
                         ("\t__u32 flags; /* 4 4 */\n", ""), ("0xc0306443", "0xc0306444"),
                         ("CAUSE_NONE = 0", "CAUSE_NONE = 7"),
                         ("#define DRM_NEURON_BO_HBM 0x1\n", ""),
                         ("enum drm_neuron_cause", "enum drm_neuron_why"),
                         ("TRACE_MAGIC 0x4352544e", "TRACE_MAGIC 0"), ("__le32", "__le64"),
                         ("TRACE_TRANSFER = 2", "TRACE_TRANSFER = 1")):
            self.assertIn(was, OLD)
            new = OLD.replace(was, now)
            self.assertIn("may change that", self.said((2, 1), new))
            self.assertEqual(self.renew((2, 1), new), 1)
            self.assertEqual(self.abi.dumps(), [(2, 0)])

    def test_a_major_number_begins_anew(self):
        new = OLD.replace("handle", "source")
        self.assertIn("another major number", self.said((3, 0), new))
        self.assertEqual(self.renew((3, 0), new), 0)
        self.assertEqual(self.abi.dumps(), [(3, 0)])
        self.assertEqual(self.said((3, 0), new), "")


if __name__ == "__main__":
    unittest.main()
