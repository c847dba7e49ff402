#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""nrtpy in threads and processes, and where there is no libnrt.

usage: test_nrtpy_process.py FOLDER...

The folders hold the NEFF add. The chips are those that NEURON_RT_BACKEND and NEURON_EMU_INSTANCE
name, with at least two cores.
"""

import gc
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import nrtpy
from nrtpy import NrtError, NrtpyError, NrtpyTensor, get_nrtpy_singleton

import tap
from nrtpy_rig import FOLDERS, Case, add_inputs, add_model, full, neff, result

# NRT_EXEC_NC_BUSY of the public headers.
BUSY = 1005
# Seconds for another process.
LIMIT = 120


def python(text, **how):
    """Run a program of Python with nrtpy in a process of its own."""
    return subprocess.run([sys.executable, "-c", text, *map(str, FOLDERS)], capture_output=True,
                          text=True, timeout=LIMIT, check=False, **how)


class TestProcess(Case):
    """Threads, forks, signals, the end of the process."""

    def test_threads(self):
        """Eight threads with one model and tensors of their own."""
        model, wrong = add_model(), []

        def work(number):
            for turn in range(20):
                value = number * 20 + turn
                if not (result(model(add_inputs(value, 1.0))) == value + 1).all():
                    wrong.append(value)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_first_use_by_threads(self):
        """Whichever comes first initialises; all get the same runtime."""
        found, barrier = [], threading.Barrier(8)

        def work():
            barrier.wait()
            found.append(get_nrtpy_singleton())

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(map(id, found))), 1)
        self.assertEqual(len(found), 8)

    def test_reset_under_threads(self):
        """Calls under way end with the documented errors and nothing else."""
        ended, running = [], threading.Event()

        def work():
            try:
                model = add_model()
                for _ in range(1_000_000):
                    model(add_inputs())
                    running.set()
            except RuntimeError as error:
                ended.append(type(error))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        self.assertTrue(running.wait(LIMIT))
        deadline = time.monotonic() + LIMIT
        # A thread that allocates just then begins anew, with a runtime of its own.
        while any(thread.is_alive() for thread in threads) and time.monotonic() < deadline:
            nrtpy.reset()
        for thread in threads:
            thread.join(LIMIT)
        self.assertEqual(len(ended), 4)
        self.assertLessEqual(set(ended), {NrtError, NrtpyError})

    def test_fork(self):
        """The child begins without a runtime; the parent goes on."""
        model, inputs = add_model(), add_inputs()
        read, write = os.pipe()
        child = os.fork()
        if not child:
            said = "nothing"
            try:
                inputs["a_input"].numpy()
            except NrtpyError as error:
                said = str(error)
            del model, inputs
            gc.collect()
            os.write(write, said.encode())
            os._exit(0)
        os.close(write)
        with open(read, encoding="utf-8") as pipe:
            self.assertEqual(pipe.read(), "tensor 'a_input' belongs to the process that this one "
                             "was forked from")
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertTrue((result(model(inputs)) == 3).all())

    def test_runtime_of_a_child(self):
        """Chips in the process are copied by a fork; the driver's cores are the parent's."""
        tensor = NrtpyTensor.from_numpy(full(1))
        child = os.fork()
        if not child:
            status = 255
            try:
                status = 0 if (result(add_model()(add_inputs())) == 3).all() else 1
                nrtpy.reset()
            except NrtError as error:
                status = 2 if error.status == BUSY else 3
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.assertEqual(status, 0 if os.environ.get("NEURON_RT_BACKEND") == "embedded" else 2)
        self.assertTrue((tensor.numpy() == 1).all())

    def test_interrupt(self):
        """KeyboardInterrupt comes between executions, and the runtime goes on afterwards."""
        text = f"""
import nrtpy, numpy as np
ones = np.ones((4, 3), np.float16)
model = nrtpy.NrtpyModel.load_from_neff({str(neff("add"))!r})
def inputs():
    return {{name: nrtpy.NrtpyTensor.from_numpy(ones) for name in model.input_tensors_info}}
for mode in ("host", "device"):
    try:
        model(inputs())
        print("running", flush=True)
        model.benchmark(inputs(), benchmark_iter=100_000_000, mode=mode)
    except KeyboardInterrupt:
        print("interrupted", model(inputs())["output_0"].numpy()[0, 0],
              model.benchmark(inputs()).iterations, flush=True)
"""
        with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE,
                              text=True) as process:
            for _ in range(2):
                self.assertEqual(process.stdout.readline(), "running\n")
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.stdout.readline(), "interrupted 2.0 5\n")
            self.assertEqual(process.wait(LIMIT), 0)

    def test_end_with_objects(self):
        """A process may end with models and tensors, in modules and in cycles."""
        done = python(f"""
import nrtpy, numpy as np
model = nrtpy.NrtpyModel.load_from_neff({str(neff("add"))!r})
class Node: pass
node = Node()
node.self, node.tensor = node, nrtpy.NrtpyTensor.from_numpy(np.ones(4))
print(nrtpy.NrtpyTensor.from_numpy(np.ones(1)).numpy())
""")
        self.assertEqual((done.returncode, done.stdout), (0, "[1.]\n"), done.stderr)
        self.assertNotIn("ERROR", done.stderr)
        self.assertNotIn("Exception ignored", done.stderr)

    def test_without_the_library(self):
        """Where the loader finds no libnrt, the import says what to do."""
        copy = self.folder / "nrtpy"
        copy.mkdir()
        for path in pathlib.Path(nrtpy.__file__).parent.glob("*.py"):
            (copy / path.name).write_bytes(path.read_bytes())
        (self.folder / "libnrt.so.1").write_text("no library")
        done = python("import nrtpy", cwd=self.folder,
                      env={**os.environ, "PYTHONPATH": str(self.folder),
                           "LD_LIBRARY_PATH": str(self.folder)})
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.splitlines()[-1],
                         "^ImportError: .*libnrt.so.1.*; set LD_LIBRARY_PATH to the folder that "
                         "holds libnrt.so.1")


if __name__ == "__main__":
    if not FOLDERS:
        sys.exit(__doc__)
    sys.exit(tap.run(sys.modules[__name__]))
