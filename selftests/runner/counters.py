# SPDX-License-Identifier: MIT
"""Counters of the driver's lines that a guest left, and the source whose lines they count.

A stage of the debug kernel keeps both in its folder; make coverage reads them there, perhaps days
later and on another commit.
"""

import hashlib
import pathlib

# The file beside the counters that says of which source they are.
STAMP = "source"


def source(root):
    """A digest of the driver's files: with any other of them the counters mean other lines."""
    root = pathlib.Path(root)
    files = sorted(path for pattern in ("*.c", "*.h") for path in (root / "driver").rglob(pattern))
    digests = b"".join(hashlib.sha256(part).digest() for path in files
                       for part in (str(path.relative_to(root)).encode(), path.read_bytes()))
    return hashlib.sha256(digests).hexdigest()


def keep(folder, digest):
    """Say in a folder of counters which source they are of."""
    (pathlib.Path(folder) / STAMP).write_text(digest + "\n", encoding="utf-8")


def kept(folder):
    """What keep() has written there, or None."""
    try:
        return (pathlib.Path(folder) / STAMP).read_text(encoding="utf-8").strip()
    except OSError:
        return None


def folders(build):
    """The folders of counters that the stages have left below a build folder."""
    return sorted({path.parent
                   for path in pathlib.Path(build).glob("check*/debug-*/coverage/*.gcda")})
