#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a stranger has of make runtime: it is installed in an empty folder, and used from there.

usage: runtime.py [CASE]...

The programs of the cases know what make runtime has printed, and nothing of this tree: a program
in C is compiled with pkg-config, Python imports nrtpy and nki, and the tools run, all on chips in
the process. Prints TAP.
"""
import os
import pathlib
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Seconds: a build, and a program.
BUILD_LIMIT, LIMIT = 1500, 120
# What the calling make says to the makes below it.
OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "PREFIX", "TEST")
ONE = {"NEURON_LOGICAL_NC_CONFIG": "1"}
TOOLS = ("nccom-test", "neuron-as", "neuron-debug", "neuron-digits", "neuron-ls", "neuron-monitor",
         "neuron-monitor-prometheus.py", "neuron-objdump", "neuron-packager", "neuron-plan",
         "neuron-profile", "neuron-sim", "neuron-top", "neuron-train")
NRTPY = """
    import sys
    import numpy as np
    import nrtpy
    from nrtpy import NrtpyModel, NrtpyTensor

    model = NrtpyModel.load_from_neff(sys.argv[1])
    array = np.arange(12, dtype=np.float16).reshape(4, 3)
    outputs = model(inputs={name: NrtpyTensor.from_numpy(array, name)
                            for name in model.input_tensors_info})
    assert (outputs["output_0"].numpy().ravel() == 2 * array.ravel()).all(), outputs
    print(nrtpy.__file__)
    """
NKI = """
    import numpy as np
    import nki
    import nki.isa as nisa
    import nki.language as nl

    @nki.jit
    def double(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        x = nl.load(a)
        nisa.tensor_scalar(dst=x, data=x, op0=nl.multiply, operand0=2.0)
        nl.store(out, x)
        return out

    numbers = np.arange(128 * 16, dtype=np.float32).reshape(128, 16)
    assert (double(numbers) == 2 * numbers).all()
    assert double.device_ns > 0, double.device_ns
    print(nki.__file__)
    """


class Wrong(Exception):
    """A case fails, and why."""


def check(is_right, why):
    """One line says what is wrong."""
    if not is_right:
        raise Wrong(why)


class Stranger:
    """The cases. A case returns a line that is worth reading, or nothing."""

    def __init__(self, folder):
        self._prefix = folder / "opt/neuron"
        self._work = folder / "work"
        self._examples = self._prefix / "share/neuron/examples"
        self._env = {}
        self._work.mkdir()

    def _run(self, *words, env=None, status=0):
        """Run a program with what a stranger knows; its output. It ends with this status."""
        done = subprocess.run(list(map(str, words)), cwd=self._work, env={**self._env,
                                                                          **(env or {})},
                              capture_output=True, text=True, check=False, timeout=LIMIT)
        last = (done.stderr.strip() or done.stdout.strip() or "it printed nothing").splitlines()[-1]
        check(done.returncode == status, f"{pathlib.Path(words[0]).name} ended with status "
              f"{done.returncode}, not {status}: {last}")
        return done

    def _in_prefix(self, path, what):
        check(pathlib.Path(path).resolve().is_relative_to(self._prefix.resolve()),
              f"{what} is {path}, which is not in the prefix")

    def installs(self):
        """make runtime fills an empty folder, and says what to export; that is all that is set."""
        clean = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
        done = subprocess.run(["make", "-C", ROOT, "--no-print-directory", "runtime",
                               f"PREFIX={self._prefix}"], capture_output=True, text=True,
                              check=False, timeout=BUILD_LIMIT, env=clean)
        check(done.returncode == 0, f"make runtime ended with status {done.returncode}: "
              f"{done.stderr[-2000:]}")
        self._env = {"HOME": str(self._work), "PATH": f"{self._prefix}/bin:/usr/bin:/bin",
                     "PYTHONDONTWRITEBYTECODE": "1"}
        for line in done.stdout.splitlines():
            words = shlex.split(line)
            if words[:1] == ["export"]:
                self._env.update(word.split("=", 1) for word in words[1:])
        for name in ("PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "NEURON_RT_BACKEND"):
            check(name in self._env, f"make runtime does not say what {name} is to be")
        for tool in TOOLS:
            check(shutil.which(tool, path=f"{self._prefix}/bin"), f"there is no bin/{tool}")

    def c_program(self):
        """The sample of the runtime guide, by pkg-config alone."""
        flags = shlex.split(self._run("pkg-config", "--cflags", "--libs", "libnrt").stdout)
        self._run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", self._examples / "run_neff.c",
                  "-o", "run_neff", *flags)
        loaded = [line.split() for line in self._run("ldd", "run_neff").stdout.splitlines()
                  if line.split()[0].startswith("libnrt.so")]
        check(len(loaded) == 1 and len(loaded[0]) > 2, f"ldd of run_neff: {loaded}")
        self._in_prefix(loaded[0][2], "the library of run_neff")
        values = [number / 2 for number in range(12)]
        (self._work / "a.bin").write_bytes(struct.pack("<12e", *values))
        done = self._run("./run_neff", self._examples / "add.neff", "a_input", "a.bin", "b_input",
                         "a.bin", env=ONE)
        found = list(struct.unpack("<12e", (self._work / "output_0.out").read_bytes()))
        check(found == [2 * value for value in values], f"the sum is {found}")
        check("embedded" in done.stderr, f"no line says where the chips are: {done.stderr!r}")

    def c_program_for_pairs(self):
        """A model for the other size of cores is refused by name."""
        done = self._run("./run_neff", self._examples / "add.neff", status=1)
        check("NEURON_LOGICAL_NC_CONFIG" in done.stderr,
              f"the refusal does not say what to set: {done.stderr!r}")

    def nrtpy(self):
        """A model from Python."""
        done = self._run("/usr/bin/python3", "-c", textwrap.dedent(NRTPY),
                         self._examples / "add.neff", env=ONE)
        self._in_prefix(done.stdout.strip(), "nrtpy")

    def nki(self):
        """A kernel in Python."""
        script = self._work / "double.py"
        script.write_text(textwrap.dedent(NKI))
        self._in_prefix(self._run("/usr/bin/python3", script).stdout.strip(), "nki")

    def nccom_test(self):
        """A collective over the cores of both chips."""
        done = self._run("nccom-test", "-r", "4", "-b", "64KB", "-e", "64KB", "-f", "2", "-n", "2",
                         "-w", "1", "allr")
        check("65536" in done.stdout, f"no line for 65536 bytes: {done.stdout!r}")

    def neuron_ls(self):
        """The chips of a process are nobody else's: one line says so."""
        done = self._run("neuron-ls", status=1)
        check(done.stderr.startswith("neuron-ls: NEURON_RT_BACKEND=embedded:") and
              done.stderr.count("\n") == 1, f"standard error: {done.stderr!r}")

    def neuron_as_and_sim(self):
        """A program is assembled, listed and run."""
        self._run("neuron-as", self._examples / "add.s", "-o", "own.neff")
        listing = self._run("neuron-objdump", "own.neff").stdout
        check("tensor_tensor.add" in listing, f"the listing lacks the sum: {listing[:300]!r}")
        self._run("neuron-sim", "own.neff", env=ONE)

    def neuron_digits(self):
        """The main job says itself whether it has passed."""
        done = self._run("neuron-digits")
        check("PASS" in done.stdout, f"it ended with: {done.stdout[-300:]!r}")

    def no_paths_of_the_build(self):
        """No installed file for programs names the tree that it was built in."""
        texts = [*self._prefix.rglob("*.pc"), *self._prefix.rglob("*.h"),
                 *self._prefix.rglob("*.py")]
        check(texts, "nothing is installed")
        for path in texts:
            check(str(ROOT) not in path.read_text(errors="replace"), f"{path} names {ROOT}")


def main():
    """Run the cases, or those that are named, after the first one."""
    names = [name for name in vars(Stranger) if not name.startswith("_")]
    wanted = sys.argv[1:] or names
    unknown = [name for name in wanted if name not in names]
    if unknown:
        sys.exit(f"runtime.py: no case {unknown[0]}; there are: {' '.join(names)}")
    chosen = [name for name in names if name in wanted or name == names[0]]
    print(f"1..{len(chosen)}")
    bad = 0
    with tempfile.TemporaryDirectory(prefix="neuron-runtime-") as folder:
        stranger = Stranger(pathlib.Path(folder))
        for number, name in enumerate(chosen, 1):
            try:
                said = getattr(stranger, name)()
            except (Wrong, OSError, ValueError, subprocess.TimeoutExpired) as error:
                print("\n".join(f"# {line}" for line in str(error).splitlines()))
                print(f"not ok {number} - {name}", flush=True)
                bad += 1
                if name == names[0]:
                    print("Bail out! there is nothing to use", flush=True)
                    return 1
                continue
            print(f"# {said}\nok {number} - {name}" if said else f"ok {number} - {name}",
                  flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
