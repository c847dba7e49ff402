# SPDX-License-Identifier: MIT
"""The cache of NEFFs: what is kept, what is damaged, and several processes at once."""

import errno
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import nki
import nki.language as nl
from neuron_emu import builder, cache, lower, run

LIMIT = "NEURON_EMU_NKI_CACHE_BYTES"
ROOT = pathlib.Path(__file__).resolve().parents[2]


def numbers(*shape):
    """Random FP32 numbers."""
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def triple(a):
    """3 a."""
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(a), 3.0))
    return out


@pytest.fixture(name="folder")
def own_folder(tmp_path, monkeypatch):
    """A cache that only this test has."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(cache, "_own", (None, None))
    return tmp_path / cache.FOLDER


def neffs(folder):
    """The files that are programs."""
    return sorted(folder.glob("*.neff"))


def add(key, data):
    """Keep these bytes."""
    cache.add(key, lambda file: os.write(file, data))


def age(path, seconds):
    """Make a file look as if it had been used some time ago."""
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def test_it_is_by_content_and_bounded(folder, monkeypatch):
    add("old", b"x" * 1000)
    assert cache.find("old").parent == folder
    monkeypatch.setenv(LIMIT, "1500")
    add("new", b"y" * 1000)
    # It was used just now, and somebody may be about to load it.
    assert cache.find("old") is not None
    age(folder / "old.neff", cache.IN_USE_S + 1)
    add("newer", b"z" * 10)
    assert cache.find("old") is None
    assert cache.find("new").read_bytes() == b"y" * 1000
    assert sorted(path.name for path in folder.iterdir()) == ["new.neff", "newer.neff"]


def test_files_of_other_processes_are_spared(folder, monkeypatch):
    add("first", b"x")
    begun = folder / "other.part"
    begun.write_bytes(b"x" * 100)
    monkeypatch.setenv(LIMIT, "1")
    add("second", b"x")
    assert begun.exists()
    # Its process has died.
    os.utime(begun, (0, 0))
    add("third", b"x")
    assert not begun.exists()
    assert cache.find("third")


def test_a_disk_that_is_full(folder, capfd):
    """What fails is the folder and not the kernel: its program is made in a folder of its own."""
    tries = []

    def write(file):
        tries.append(file)
        if len(tries) == 1:
            with open("/dev/full", "wb", buffering=0) as full:
                program = builder.Program("nothing", 3)
                program.of_core(0)
                program.write(full.fileno())
        os.write(file, b"x")

    path = cache.add("key", write)
    assert len(tries) == 2 and path.read_bytes() == b"x" and path.parent != folder
    assert not list(folder.iterdir())
    assert "neuron_emu: kernels are not cached: [Errno 28] No space left" in capfd.readouterr().err


def test_threads_that_find_it_full_at_once(folder, capfd):
    """Both have begun to write to the user's folder when the first of them goes to its own."""
    begun, gone, paths = threading.Barrier(2), threading.Event(), {}

    def keep(key):
        tries = []

        def write(file):
            tries.append(file)
            if len(tries) > 1:
                os.write(file, key.encode())
                return
            begun.wait(60)
            if key == "second":
                gone.wait(60)
            raise OSError(errno.ENOSPC, "full")

        try:
            paths[key] = cache.add(key, write)
        finally:
            gone.set()

    threads = [threading.Thread(target=keep, args=(key,)) for key in ("first", "second")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [paths[key].read_bytes() for key in ("first", "second")] == [b"first", b"second"]
    assert {path.parent for path in paths.values()} == {cache.folder()} != {folder}
    assert capfd.readouterr().err.count("kernels are not cached") == 1


def test_a_program_is_made_before_its_file(folder, monkeypatch, capfd):
    """It may take long. One of which a write has failed is made again."""
    make, write, seen = lower.program_of, builder.Program.write, []

    def made(*args):
        seen.append(list(folder.glob("*")))
        return make(*args)

    def written(program, file):
        if len(seen) == 1:
            raise OSError(errno.ENOSPC, "full")
        write(program, file)

    monkeypatch.setattr(lower, "program_of", made)
    monkeypatch.setattr(builder.Program, "write", written)
    a = numbers(4, 8)
    np.testing.assert_array_equal(nki.jit(triple)(a), a * 3)
    assert seen == [[], []]
    assert "kernels are not cached: [Errno 28] full" in capfd.readouterr().err


def test_a_file_that_the_library_does_not_finish(folder, monkeypatch):
    monkeypatch.setattr(builder.LIBRARY, "nb_write_fd", lambda *_: -1)
    with pytest.raises(nki.NkiError, match="failed"):
        nki.jit(triple)(numbers(4, 8))
    assert not list(folder.iterdir())


def test_an_own_folder_that_is_full_is_an_error(folder):
    def write(_):
        raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match="full"):
        cache.add("key", write)
    assert cache.folder() != folder
    with pytest.raises(OSError, match="full"):
        cache.add("key", write)


def test_what_was_written_is_not_read_again(folder, monkeypatch):
    add("key", b"x")

    def read(*_):
        raise AssertionError("it was read")

    monkeypatch.setattr(cache.hashlib, "file_digest", read)
    assert cache.find("key") == folder / "key.neff"


def test_a_neff_that_was_deleted(folder):
    a, kernel = numbers(4, 8), nki.jit(triple)
    kernel(a)
    for path in neffs(folder):
        path.unlink()
    run.close()
    np.testing.assert_array_equal(kernel(a), a * 3)


def cut(path):
    """Half of the file is missing."""
    os.truncate(path, path.stat().st_size // 2)


def flip(path):
    """A bit has changed, and nothing else tells of it."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def clear(path):
    """The first block of the file was never written."""
    with open(path, "r+b") as file:
        file.write(bytes(4096))


def cut_header(path):
    """Hardly anything of it is there."""
    os.truncate(path, 100)


@pytest.mark.parametrize("damage", [cut, flip, clear, cut_header])
@pytest.mark.parametrize("same_kernel", [False, True])
def test_a_damaged_neff_is_built_anew(folder, damage, same_kernel):
    a, kernel = numbers(4, 8), nki.jit(triple)
    kernel(a)
    path, = neffs(folder)
    good = path.read_bytes()
    damage(path)
    # Another process has not seen it whole.
    cache._whole.clear()
    run.close()
    np.testing.assert_array_equal((kernel if same_kernel else nki.jit(triple))(a), a * 3)
    assert path.read_bytes() == good


def test_a_folder_that_cannot_be_made(monkeypatch, capfd, folder):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    a = numbers(4, 8)
    np.testing.assert_array_equal(nki.jit(triple)(a), a * 3)
    np.testing.assert_array_equal(nki.jit(triple)(a + 1), (a + 1) * 3)
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 1 and "kernels are not cached: " in said[0] and "/proc/" in said[0]
    # It goes with the process.
    place = cache.folder()
    assert neffs(place) and not folder.exists()
    cache._remove(os.getpid() + 1, place)
    assert place.exists()
    cache._remove(os.getpid(), place)
    assert not place.exists()


@pytest.mark.parametrize("value", ["512M", "-1", "1e9"])
def test_a_limit_that_is_no_number(monkeypatch, value):
    monkeypatch.setenv(LIMIT, value)
    with pytest.raises(nki.NkiError, match=f"^{LIMIT}={value}: it is a number of bytes, such as"):
        nki.jit(triple)(numbers(4, 8))


FILL = """
import sys
import numpy as np
import nki, nki.language as nl

@nki.jit
def scale(a, factor):
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(a), factor))
    return out

print("ready", flush=True)
sys.stdin.readline()
a = np.ones((4, 8), np.float32)
for factor in range(1, 9):
    assert (scale(a, float(factor)) == factor).all(), factor
"""
PROCESSES = 4
# Of the kernels of that script.
KERNELS = 8


def environment(folder, limit):
    """Of the script."""
    library = pathlib.Path(os.environ["NEURON_EMU_BUILDER"]).parents[2] / "libnrt"
    return os.environ | {
        "PYTHONPATH": f"{ROOT / 'tools/nki'}:{ROOT / 'libnrt/python'}", LIMIT: str(limit),
        "LD_LIBRARY_PATH": str(library), "XDG_CACHE_HOME": str(folder.parents[1])}


def test_processes_that_fill_it_at_once(folder, tmp_path):
    """All want the same programs, and throw away the same old ones to make room."""
    folder.mkdir(parents=True)
    for i in range(50):
        (folder / f"{i}.neff").write_bytes(bytes(10000))
        os.utime(folder / f"{i}.neff", (i, i))
    script = tmp_path / "fill.py"
    script.write_text(FILL)
    processes = [subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=environment(folder, 5000)) for _ in range(PROCESSES)]
    try:
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
        said = [process.communicate(timeout=300)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert [process.returncode for process in processes] == [0] * PROCESSES, said
    found = neffs(folder)
    assert len(found) == KERNELS
    assert len(list(folder.iterdir())) == KERNELS
    assert all(cache.is_whole(path) for path in found)
