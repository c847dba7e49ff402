# SPDX-License-Identifier: MIT
"""NEFFs by what they were made of, in the user's cache folder.

Files are written whole and renamed, so that several processes can use the folder at once. When it
is larger than it may be, those that were used least lately go.
"""

import contextlib
import hashlib
import os
import pathlib
import tempfile
import time

from . import builder

__neuron_emu__ = True

FOLDER = "neuron-emu/nki"
MAX_BYTES = int(os.environ.get("NEURON_EMU_NKI_CACHE_BYTES", 512 << 20))
VERSION = b"1"
# Writing a file takes less than this.
ABANDONED_S = 3600


def folder():
    """Where the files are."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base) / FOLDER


def _library():
    """What tells one build of the library from another."""
    name = builder.LIBRARY._name
    with contextlib.suppress(OSError):
        status = os.stat(name)
        return f"{name} {status.st_size} {status.st_mtime_ns}".encode()
    for line in pathlib.Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        if builder.SONAME.partition(".so")[0] in line:
            status = os.stat(line.split(None, 5)[5])
            return f"{line.split(None, 5)[5]} {status.st_size} {status.st_mtime_ns}".encode()
    return name.encode()


_library_key = None


def key_of(parts):
    """A name for what these bytes describe."""
    global _library_key
    if _library_key is None:
        _library_key = _library()
    digest = hashlib.sha256(VERSION + _library_key)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def find(key):
    """The path of a NEFF, or None."""
    path = folder() / f"{key}.neff"
    try:
        os.utime(path)
    except OSError:
        return None
    return path


def add(key, data):
    """Keep a NEFF; returns its path."""
    place = folder()
    place.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=place, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        path = place / f"{key}.neff"
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    trim(place, path)
    return path


def sweep(place):
    """Delete what processes have begun to write and did not live to rename."""
    for path in place.glob("*.part"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > ABANDONED_S:
                path.unlink()


def trim(place, newest):
    """Delete what was used least lately, until the rest is small enough."""
    sweep(place)
    files = []
    # Others are still being written by this process or another one.
    for path in place.glob("*.neff"):
        with contextlib.suppress(OSError):
            status = path.stat()
            files.append((status.st_mtime_ns, status.st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= MAX_BYTES:
            return
        if path != newest:
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size
