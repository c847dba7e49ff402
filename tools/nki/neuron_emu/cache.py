# SPDX-License-Identifier: MIT
"""NEFFs by what they were made of, in the user's cache folder.

Files are written whole and renamed, so that several processes can use the folder at once. A NEFF
has a digest of its archive in its header: one that is damaged is not used. When the folder is
larger than it may be, those that were used least lately go.
"""

import atexit
import contextlib
import hashlib
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import time

from . import builder
from .errors import NkiError

__neuron_emu__ = True

FOLDER = "neuron-emu/nki"
LIMIT = "NEURON_EMU_NKI_CACHE_BYTES"
MAX_BYTES = 512 << 20
VERSION = b"1"
# Of a NEFF (Documentation/libnrt/neff.rst): its header, and the SHA-256 of what is behind it.
HEADER_BYTES = 1024
HASH = slice(172, 204)
# Writing a file takes less than this.
ABANDONED_S = 3600
# A process that has found a file loads it within this time.
IN_USE_S = 60
# Files that were found whole: {path: what _state() says of it}
_whole = {}
# Where NEFFs of this process go when the user's folder cannot be used: (process, path)
_own = (None, None)
# Of several threads the first one makes it.
_own_lock = threading.Lock()


def max_bytes():
    """How large the folder may be."""
    text = os.environ.get(LIMIT, "").strip()
    if not text:
        return MAX_BYTES
    if not (text.isascii() and text.isdigit()):
        raise NkiError(f"{LIMIT}={text}: it is a number of bytes, such as {MAX_BYTES}")
    return int(text)


def folder():
    """Where the files are."""
    if _own[0] == os.getpid():
        return _own[1]
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base) / FOLDER


def _without_cache(error):
    """From now on NEFFs of this process are in a folder that ends with it."""
    global _own
    with _own_lock:
        pid = os.getpid()
        if _own[0] == pid:
            return
        print(f"neuron_emu: kernels are not cached: {error}", file=sys.stderr, flush=True)
        _own = (pid, pathlib.Path(tempfile.mkdtemp(prefix="neuron-emu-")))
        atexit.register(_remove, *_own)


def _new_lock():
    """A child has forked, of whose threads none holds the lock."""
    global _own_lock
    _own_lock = threading.Lock()


os.register_at_fork(after_in_child=_new_lock)


def _remove(pid, place):
    """The folder of a process; children that have forked from it leave it alone."""
    if os.getpid() == pid:
        shutil.rmtree(place, ignore_errors=True)


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


def _state(path):
    """What changes when a file does, of which `path` may be the descriptor."""
    status = os.stat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns


def is_whole(path):
    """Is the file there, with the bytes that were written?"""
    try:
        state = _state(path)
        if _whole.get(path) == state:
            return True
        with open(path, "rb") as file:
            wanted = file.read(HEADER_BYTES)[HASH]
            if hashlib.file_digest(file, "sha256").digest() != wanted:
                return False
    except OSError:
        return False
    _whole[path] = state
    return True


def find(key):
    """The path of a NEFF, or None."""
    max_bytes()
    path = folder() / f"{key}.neff"
    if not is_whole(path):
        return None
    # Of a folder that can only be read the files are used as they are.
    with contextlib.suppress(OSError):
        os.utime(path)
        _whole[path] = _state(path)
    return path


@contextlib.contextmanager
def _written(path):
    """A file that is there under its name whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with open(handle, "wb", buffering=0) as file:
            yield file
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _keep(place, key, write):
    """Write a NEFF to a folder; returns the path."""
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{key}.neff"
    with _written(path) as file:
        write(file.fileno())
        state = _state(file.fileno())
    _whole[path] = state
    return path


def add(key, write):
    """Keep a NEFF, which write() writes to the descriptor of an empty file; returns its path.

    Where the user's folder cannot be used, it is called a second time.
    """
    place = folder()
    try:
        path = _keep(place, key, write)
    except OSError as error:
        # Another thread may have gone to the own folder in the meantime.
        if _own == (os.getpid(), place):
            raise
        _without_cache(error)
        path = _keep(folder(), key, write)
    trim(path.parent)
    return path


def sweep(place):
    """Delete what processes have begun to write and did not live to end: files without their
    name."""
    for path in place.glob("*.part"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > ABANDONED_S:
                path.unlink()


def trim(place):
    """Delete what was used least lately, until the rest is small enough. What was used in the last
    minute stays: this process or another one may be about to load it.
    """
    sweep(place)
    files = []
    for path in place.glob("*.neff"):
        with contextlib.suppress(OSError):
            status = path.stat()
            files.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in files)
    most, used = max_bytes(), time.time() - IN_USE_S
    for changed, size, path in sorted(files):
        if total <= most or changed > used:
            return
        with contextlib.suppress(OSError):
            path.unlink()
        _whole.pop(path, None)
        total -= size
