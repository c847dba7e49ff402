#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""nrtpy: tensors, models, benchmarks, and all that a program can do wrong with them.

usage: test_nrtpy.py FOLDER...

test_nrtpy_process.py has threads and processes.

The folders hold the NEFFs add and gather_rows. The chips are those that NEURON_RT_BACKEND and
NEURON_EMU_INSTANCE name, with at least two cores.
"""

import ctypes
import gc
import os
import pathlib
import pickle
import subprocess
import sys
import threading
from unittest import mock

import numpy as np

import nrtpy
from nrtpy import NrtError, NrtpyError, NrtpyModel, NrtpyTensor, get_nrtpy_singleton
from nrtpy.model import DeviceTrace

import tap
from nrtpy_rig import FOLDERS, SHAPE, Case, add_inputs, add_model, full, neff, result

CORES = "NEURON_RT_VISIBLE_CORES"
# Statuses of the public headers.
FAILURE, INVALID, RESOURCE, EXEC_OOB = 1, 2, 4, 1006
LOADS = int(os.environ.get("NRTPY_LOADS", "1000"))
# Bytes by which the process may grow over so many loads: its memory, and what is allocated. Some
# tables of the library grow until they are as large as they get.
GROWTH = 1 << 20

# The kernel add for a pair of cores: each of them adds two of the four rows.
HALF = """
.input a_input fp16 4*3
.input b_input fp16 4*3
.output output_0 fp16 4*3
.sbuf
.queue q_in in sync
.queue q_out out sync
.sem loaded
.sem added
.engine sync
        .dma q_in, sbuf[0:2, 0 : 3 fp16], a_input[12 * HALF : 2*3 fp16], loaded
        .dma q_in, sbuf[0:2, 8 : 3 fp16], b_input[12 * HALF : 2*3 fp16], loaded
        .dma q_out, output_0[12 * HALF : 2*3 fp16], sbuf[0:2, 16 : 3 fp16] wait added >= 1
        halt
.engine vector
        tensor_tensor.add sbuf[0:2, 16 : 3 fp16], sbuf[0:2, 0 : 3 fp16], sbuf[0:2, 8 : 3 fp16] \
                wait loaded >= 2 post added += 1
        halt
"""
PAIR = ".program pair\n.set HALF, 0\n" + HALF + ".core 1\n.set HALF, 1\n" + HALF


def memory_used():
    """Bytes that are allocated in the memory of core 0."""
    stats, size = (ctypes.c_size_t * 2)(), ctypes.c_size_t()
    function = nrtpy.libnrt.LIBNRT.nrt_get_vnc_memory_stats
    status = function(0, stats, ctypes.c_size_t(ctypes.sizeof(stats)), ctypes.byref(size))
    assert status == 0, f"nrt_get_vnc_memory_stats: {status}"
    return stats[0]


def resident():
    """Bytes of memory that the process has."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


class Mallinfo(ctypes.Structure):
    """struct mallinfo2 of the C library"""
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost")]


def allocated():
    """(bytes that malloc() has given and that were not freed, whether AddressSanitizer counts)"""
    gc.collect()
    process = ctypes.CDLL(None)
    try:
        count = getattr(process, "__sanitizer_get_current_allocated_bytes")
    except AttributeError:
        process.mallinfo2.restype = Mallinfo
        info = process.mallinfo2()
        return info.uordblks + info.hblkhd, False
    count.restype = ctypes.c_size_t
    return count(), True


class TestTensor(Case):
    """NrtpyTensor, and memory without NumPy."""

    def test_roundtrip(self):
        """What was written is read, whatever the type, the shape and the order in memory."""
        for dtype in ("float16", "float32", "float64", "int8", "uint8", "int64", "bool", ">f4",
                      "V2", "complex64"):
            values = np.arange(24, dtype=np.float32).astype(np.uint8).view("u1").repeat(16)
            array = np.frombuffer(values.tobytes()[:np.dtype(dtype).itemsize * 24], dtype=dtype)
            array = array.reshape(2, 3, 4)
            if dtype == "bool":
                array = array.view("u1").astype(bool)
            for source in (array, np.asfortranarray(array), array[:, ::-1, ::2]):
                tensor = NrtpyTensor.from_numpy(source)
                read = tensor.numpy()
                self.assertEqual((read.dtype, read.shape), (source.dtype, source.shape))
                self.assertEqual(read.tobytes(), source.tobytes())

    def test_scalar(self):
        """An array without dimensions stays one."""
        tensor = NrtpyTensor.from_numpy(np.array(2.5, dtype=np.float32))
        self.assertEqual(tensor.shape, ())
        self.assertEqual(tensor.numpy(), 2.5)
        self.assertEqual(tensor.numpy().shape, ())

    def test_attributes(self):
        """Shape, type, name and core are as given."""
        tensor = NrtpyTensor.from_numpy(full(1), name="x", core_id=1)
        self.assertEqual((tensor.shape, tensor.dtype, tensor.name), (SHAPE, np.float16, "x"))
        self.assertEqual(tensor.tensor_ref.core_id, 1)
        self.assertEqual(repr(tensor),
                         "NrtpyTensor(name='x', shape=(4, 3), dtype=float16, core_id=1)")
        self.assertEqual(NrtpyTensor.from_numpy(full(1)).name, "")

    def test_write(self):
        """A write takes the place of the contents, and a read is a copy."""
        tensor = NrtpyTensor.from_numpy(full(1))
        first = tensor.numpy()
        tensor.write_from_numpy(full(2))
        self.assertTrue((first == 1).all())
        self.assertTrue((tensor.numpy() == 2).all())
        # As many bytes, in another shape.
        tensor.write_from_numpy(np.zeros(6, dtype=np.float32))
        self.assertTrue((tensor.numpy() == 0).all())

    def test_constructor(self):
        """Memory with a shape and a type of one's own."""
        memory = get_nrtpy_singleton().allocate_tensor(48, name="m")
        self.assertIsInstance(memory, nrtpy.NrtTensor)
        tensor = NrtpyTensor(memory, 12, np.float32)
        self.assertEqual((tensor.shape, tensor.name), ((12,), "m"))
        self.assertTrue((tensor.numpy() == 0).all())
        self.assertEqual(NrtpyTensor(memory, (3, 4), "float32", "n").name, "n")
        with self.assertRaisesRegex(ValueError, "needs 52 bytes, but the memory has 48"):
            NrtpyTensor(memory, 13, np.float32)
        with self.assertRaisesRegex(TypeError, "must be an NrtTensor, not int"):
            NrtpyTensor(5, 12, np.float32)

    def test_wrong_arrays(self):
        """Each mistake is told, and the tensor keeps its contents."""
        tensor = NrtpyTensor.from_numpy(full(3), name="x")
        with self.assertRaisesRegex(ValueError, "the array has 48 bytes, but tensor 'x' has 24"):
            tensor.write_from_numpy(np.zeros(SHAPE, dtype=np.float32))
        with self.assertRaisesRegex(TypeError, "expected a numpy.ndarray, not list"):
            tensor.write_from_numpy([1.0] * 12)
        with self.assertRaisesRegex(TypeError, "addresses of Python objects"):
            NrtpyTensor.from_numpy(np.array([object()]))
        with self.assertRaisesRegex(TypeError, "not NoneType"):
            NrtpyTensor.from_numpy(None)
        with self.assertRaisesRegex(ValueError, "zero byte"):
            NrtpyTensor.from_numpy(full(1), name="a\0b")
        with self.assertRaisesRegex(TypeError, "name must be a str, not int"):
            NrtpyTensor.from_numpy(full(1), name=7)
        self.assert_nrt_error(INVALID, "NRT_INVALID", NrtpyTensor.from_numpy, np.zeros((0, 3)))
        self.assertTrue((tensor.numpy() == 3).all())

    def test_wrong_cores(self):
        """A core that the process does not own, and what is no number of a core."""
        with self.assertRaises(NrtError):
            NrtpyTensor.from_numpy(full(1), core_id=100000)
        with self.assertRaisesRegex(TypeError, "core_id must be an int, not str"):
            NrtpyTensor.from_numpy(full(1), core_id="0")
        # Cut to 32 bits this would be core 0.
        with self.assertRaisesRegex(ValueError, "core_id must be between"):
            NrtpyTensor.from_numpy(full(1), core_id=1 << 32)

    def test_free(self):
        """A tensor is freed once; afterwards nothing can be done with it."""
        runtime = get_nrtpy_singleton()
        tensor = NrtpyTensor.from_numpy(full(1), name="x")
        runtime.free_tensor(tensor)
        with self.assertRaisesRegex(NrtpyError, "tensor 'x' has been freed already"):
            runtime.free_tensor(tensor)
        for call in (tensor.numpy, lambda: tensor.write_from_numpy(full(1)),
                     lambda: add_model()({**add_inputs(), "a_input": tensor})):
            with self.assertRaisesRegex(NrtpyError, "tensor 'x' has been freed$"):
                call()
        with self.assertRaisesRegex(TypeError, "expected a tensor of nrtpy, not int"):
            runtime.free_tensor(5)

    def test_collected(self):
        """Memory comes back when nothing names a tensor any more."""
        get_nrtpy_singleton()
        before = memory_used()
        tensor = NrtpyTensor.from_numpy(np.zeros(1 << 20, dtype=np.uint8))
        self.assertGreaterEqual(memory_used(), before + (1 << 20))
        del tensor
        gc.collect()
        self.assertEqual(memory_used(), before)

    def test_out_of_memory(self):
        """The end of the memory is an error with a status; what was freed can be had again."""
        runtime = get_nrtpy_singleton()
        before = memory_used()
        self.assert_nrt_error(RESOURCE, "NRT_RESOURCE", runtime.allocate_tensor, 1 << 50)
        tensors = []

        def fill():
            for _ in range(1000):
                tensors.append(runtime.allocate_tensor(1 << 33))

        text = self.assert_nrt_error(RESOURCE, "NRT_RESOURCE", fill)
        self.assertIn("Failed to allocate tensor", text)
        self.assertTrue(tensors)
        while tensors:
            runtime.free_tensor(tensors.pop())
        self.assertEqual(memory_used(), before)
        with self.assertRaisesRegex(ValueError, "size must be between"):
            runtime.allocate_tensor(-1)
        with self.assertRaisesRegex(ValueError, "size must be between"):
            runtime.allocate_tensor(1 << 64)

    def test_buffers(self):
        """Bytes and other buffers, without NumPy."""
        runtime = get_nrtpy_singleton()
        tensor = runtime.allocate_tensor(16)
        for data in (b"0123456789abcdef", bytearray(b"fedcba9876543210"),
                     memoryview(b"readonly-memory."), np.arange(4, dtype=np.float32)):
            runtime.tensor_write(tensor, data)
            self.assertEqual(runtime.tensor_read(tensor), bytes(data))
        runtime.tensor_write(tensor, b"xy", offset=3)
        runtime.tensor_write(tensor, b"")
        self.assertEqual(runtime.tensor_read(tensor, offset=3, size=2), b"xy")
        self.assertEqual(len(runtime.tensor_read(tensor, offset=10)), 6)
        self.assert_nrt_error(INVALID, "NRT_INVALID", runtime.tensor_write, tensor, b"12", 15)
        self.assert_nrt_error(INVALID, "NRT_INVALID", runtime.tensor_read, tensor, 15, 2)
        for call in (lambda: runtime.tensor_read(tensor, offset=17),
                     lambda: runtime.tensor_write(tensor, b"1", offset=-1)):
            with self.assertRaisesRegex(ValueError, "must be between 0 and"):
                call()
        with self.assertRaisesRegex(ValueError, "must be contiguous"):
            runtime.tensor_write(tensor, memoryview(b"0123456789")[::2])
        with self.assertRaises(TypeError):
            runtime.tensor_write(tensor, "text")


class TestModel(Case):
    """NrtpyModel."""

    def test_info(self):
        """Names, shapes and sizes as the NEFF has them."""
        model = add_model()
        self.assertEqual(list(model.input_tensors_info), ["a_input", "b_input"])
        self.assertEqual(list(model.output_tensors_info), ["output_0"])
        info = model.input_tensors_info["a_input"]
        self.assertIsInstance(info, nrtpy.TensorMetadata)
        self.assertEqual((info.shape, info.size, info.dtype), ([4, 3], 24, "float16"))
        self.assertEqual(model.name, "add")
        self.assertEqual(add_model(name="other").name, "other")
        self.assertEqual(NrtpyModel.load_from_neff(str(neff("add"))).name, "add")

    def test_execute(self):
        """Outputs are allocated and returned, or are the ones that were given."""
        model = add_model()
        outputs = model(inputs=add_inputs())
        self.assertEqual(list(outputs), ["output_0"])
        self.assertEqual(outputs["output_0"].dtype, np.float16)
        self.assertTrue((result(outputs) == 3).all())
        mine = {"output_0": NrtpyTensor.from_numpy(full(0))}
        self.assertIsNone(model(add_inputs(5.0), mine))
        self.assertTrue((result(mine) == 7).all())

    def test_types_without_a_name(self):
        """NumPy has no bfloat16: such an output is bytes, which view() gives a meaning."""
        bfloat16 = nrtpy.TensorMetadata(24, "bfloat16", [4, 3])
        self.assertEqual(np.dtype(bfloat16.numpy_dtype()), np.dtype("V2"))
        unknown = nrtpy.TensorMetadata(24, "unknown", [2, 3])
        self.assertEqual(np.dtype(unknown.numpy_dtype()), np.dtype("V4"))
        self.assertEqual(nrtpy.TensorMetadata(8, "int64", []).numpy_dtype(), "int64")

    def test_cores(self):
        """A model and its tensors on the second core."""
        model = add_model(core_id=1)
        outputs = model(add_inputs(core_id=1))
        self.assertEqual(outputs["output_0"].tensor_ref.core_id, 1)
        self.assertTrue((result(outputs) == 3).all())

    def test_wrong_inputs(self):
        """Names, shapes, types and objects that do not fit; the model works afterwards."""
        model = add_model()
        inputs = add_inputs()
        fail = self.assert_nrt_error
        text = fail(INVALID, "NRT_INVALID", model, {"a_input": inputs["a_input"]})
        self.assertIn("input 'b_input' is missing; the inputs of 'add' are: a_input, b_input",
                      text)
        text = fail(INVALID, "NRT_INVALID", model, {**inputs, "c": inputs["a_input"]})
        self.assertIn("the model has no input 'c'", text)
        text = fail(INVALID, "NRT_INVALID", model, inputs, {})
        self.assertIn("output 'output_0' is missing", text)
        for wrong in (np.zeros((4, 4), np.float16), np.zeros(SHAPE, np.float64)):
            inputs["a_input"] = NrtpyTensor.from_numpy(wrong)
            text = fail(INVALID, "NRT_INVALID", model, inputs)
            self.assertIn("Failed to execute model", text)
        inputs["a_input"] = full(1)
        with self.assertRaisesRegex(TypeError, "expected a tensor of nrtpy, not ndarray"):
            model(inputs)
        self.assertTrue((result(model(add_inputs())) == 3).all())

    def test_wrong_files(self):
        """Files that are no NEFFs, or only the beginning of one."""
        whole = neff("add").read_bytes()
        text = self.assert_nrt_error(FAILURE, "NRT_FAILURE", NrtpyModel.load_from_neff,
                                     self.folder / "nonexistent.neff")
        self.assertRegex(text, "Failed to load model: .*nonexistent.neff: No such file")
        self.assert_nrt_error(FAILURE, "NRT_FAILURE", NrtpyModel.load_from_neff, self.folder)
        path = self.folder / "bad.neff"
        for data in (b"", b"no NEFF", whole[:100], whole[:1024], whole[:-1],
                     whole[:len(whole) // 2], bytes(len(whole))):
            path.write_bytes(data)
            with self.assertRaisesRegex(NrtError, "Failed to load model"):
                NrtpyModel.load_from_neff(path)
        with self.assertRaises(NrtError):
            add_model(core_id=100000)
        with self.assertRaises(TypeError):
            NrtpyModel.load_from_neff(5)
        with self.assertRaises(TypeError):
            add_model(core_id=None)

    def test_unload(self):
        """A model is unloaded once; afterwards it cannot be executed."""
        runtime = get_nrtpy_singleton()
        model = add_model()
        runtime.unload_model(model)
        with self.assertRaisesRegex(NrtpyError, "has been unloaded already"):
            runtime.unload_model(model)
        with self.assertRaisesRegex(NrtpyError, "add.neff' has been freed"):
            model(add_inputs())
        with self.assertRaisesRegex(NrtpyError, "add.neff' has been freed"):
            model.benchmark(add_inputs())
        with self.assertRaisesRegex(TypeError, "expected a model of nrtpy"):
            runtime.unload_model(NrtpyTensor.from_numpy(full(1)))

    def test_failing_program(self):
        """The status of a program that fails; the core works afterwards."""
        model = NrtpyModel.load_from_neff(neff("gather_rows"))
        inputs = {name: NrtpyTensor.allocate(info.shape, info.numpy_dtype())
                  for name, info in model.input_tensors_info.items()}
        for _ in range(3):
            text = self.assert_nrt_error(EXEC_OOB, "NRT_EXEC_OOB", model, inputs)
            self.assertEqual(text, "NRT Error NRT_EXEC_OOB(1006): Failed to execute model")
        self.assertTrue((result(add_model()(add_inputs())) == 3).all())

    def test_ranks(self):
        """Two models of a group wait for each other at their first execution."""
        models = [add_model(core_id=rank, cc_enabled=True, rank_id=rank, world_size=2)
                  for rank in range(2)]
        outputs = [None, None]

        def execute(rank):
            outputs[rank] = models[rank](add_inputs(b=rank, core_id=rank))

        threads = [threading.Thread(target=execute, args=(rank,)) for rank in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for rank in range(2):
            self.assertTrue((result(outputs[rank]) == 1 + rank).all())
        with self.assertRaises(NrtError):
            add_model(cc_enabled=True, rank_id=2, world_size=2)
        with self.assertRaisesRegex(ValueError, "must be between 0"):
            add_model(cc_enabled=True, rank_id=-1, world_size=2)

    def test_loads_leave_nothing(self):
        """Neither the device's memory nor the process grows with loads."""
        get_nrtpy_singleton()
        inputs = add_inputs()

        def load():
            add_model()(inputs)

        before = memory_used()
        for _ in range(LOADS // 4):
            load()
        size, (heap, _) = resident(), allocated()
        for _ in range(LOADS):
            load()
        self.assertEqual(memory_used(), before)
        heap_now, sanitized = allocated()
        self.assertLess(heap_now - heap, GROWTH)
        # AddressSanitizer keeps freed memory and notes of its own.
        if not sanitized:
            self.assertLess(resident() - size, GROWTH)


class TestBenchmark(Case):
    """benchmark() and traces."""

    def test_device(self):
        """The times are the device's: always the same."""
        model = add_model()
        stats = model.benchmark(add_inputs(), warmup_iter=2, benchmark_iter=7)
        self.assertIsInstance(stats, nrtpy.BenchmarkResult)
        self.assertEqual((stats.iterations, stats.warmup_iterations), (7, 2))
        self.assertEqual(len(stats.durations_ms), 7)
        self.assertGreater(stats.min_ms, 0)
        self.assertEqual(stats.min_ms, stats.max_ms)
        self.assertAlmostEqual(stats.mean_ms, stats.min_ms)
        self.assertAlmostEqual(stats.std_dev_ms, 0)
        again = model.benchmark(add_inputs(), warmup_iter=0, benchmark_iter=1)
        self.assertEqual(again.durations_ms, stats.durations_ms[:1])

    def test_host(self):
        """The statistics fit the durations, and the outputs that were given are written."""
        outputs = {"output_0": NrtpyTensor.from_numpy(full(0))}
        stats = add_model().benchmark(add_inputs(), outputs, benchmark_iter=20, mode="host")
        self.assertEqual((stats.iterations, stats.warmup_iterations), (20, 5))
        self.assertAlmostEqual(stats.mean_ms, np.mean(stats.durations_ms))
        self.assertAlmostEqual(stats.std_dev_ms, np.std(stats.durations_ms))
        self.assertEqual((stats.min_ms, stats.max_ms),
                         (min(stats.durations_ms), max(stats.durations_ms)))
        self.assertTrue((result(outputs) == 3).all())

    def test_pair(self):
        """A core of two: an execution counts once, and its time is that of both."""
        path = self.folder / "pair.neff"
        subprocess.run(["neuron-as", "-", "-o", path], input=PAIR, text=True, check=True)
        with mock.patch.dict(os.environ, NEURON_LOGICAL_NC_CONFIG="2"):
            model = NrtpyModel.load_from_neff(path)
            self.assertTrue((result(model(add_inputs(2.0, 3.0))) == 5).all())
            stats = model.benchmark(add_inputs(), warmup_iter=2, benchmark_iter=7)
            self.assertEqual((stats.iterations, stats.warmup_iterations), (7, 2))
            self.assertEqual(len(stats.durations_ms), 7)
            self.assertGreater(stats.min_ms, 0)
            self.assertEqual(stats.min_ms, stats.max_ms)
            self.assertEqual(model.benchmark(add_inputs(), mode="host").iterations, 5)
            nrtpy.reset()

    def test_many_fetches(self):
        """Events that are fetched in several parts are all there."""
        with mock.patch("nrtpy.model.EXECUTIONS_PER_FETCH", 3):
            self.assertEqual(add_model().benchmark(add_inputs(), benchmark_iter=10).iterations, 10)

    def test_wrong_arguments(self):
        """Modes and counts that there are not."""
        model = add_model()
        with self.assertRaisesRegex(ValueError, "mode must be 'device' or 'host', not 'gpu'"):
            model.benchmark(add_inputs(), mode="gpu")
        for count in (0, -1):
            with self.assertRaisesRegex(ValueError, "benchmark_iter must be at least 1"):
                model.benchmark(add_inputs(), benchmark_iter=count)
        with self.assertRaises(NrtError):
            model.benchmark({})

    def test_no_events(self):
        """A device that tells nothing is an error; so is a trace that somebody else has."""
        model = add_model()
        with mock.patch.object(DeviceTrace, "durations_ms", return_value=[]):
            with self.assertRaisesRegex(RuntimeError, "the device told nothing of 5 executions"):
                model.benchmark(add_inputs())
        with DeviceTrace(0):
            with self.assertRaisesRegex(NrtError, "NRT_INVALID.*: Failed to start a trace"):
                model.benchmark(add_inputs())
        # Neither has left a trace running.
        self.assertEqual(model.benchmark(add_inputs()).iterations, 5)

    def test_failing_program(self):
        """An execution that fails ends the benchmark and its trace."""
        model = NrtpyModel.load_from_neff(neff("gather_rows"))
        inputs = {name: NrtpyTensor.allocate(info.shape, info.numpy_dtype())
                  for name, info in model.input_tensors_info.items()}
        with self.assertRaises(NrtError):
            model.benchmark(inputs, warmup_iter=0)
        self.assertEqual(add_model().benchmark(add_inputs()).iterations, 5)

    def test_saved_trace(self):
        """A trace has a line for what the device did; a failed execution leaves no file."""
        copy = self.folder / "copy.neff"
        copy.write_bytes(neff("add").read_bytes())
        model = NrtpyModel.load_from_neff(copy)
        path = self.folder / "t.ntff"
        self.assertTrue((result(model(add_inputs(), save_trace=True, ntff_name=str(path))) == 3)
                        .all())
        self.assertIn('"format":"neuron-emu-profile"', path.read_text().splitlines()[0])
        self.assertGreater(len(path.read_text().splitlines()), 6)
        model(add_inputs(), save_trace=True)
        self.assertTrue(copy.with_suffix(".ntff").stat().st_size)
        path.unlink()
        # The name alone makes no trace.
        model(add_inputs(), ntff_name=str(path))
        self.assertFalse(path.exists())
        wrong = {**add_inputs(), "a_input": NrtpyTensor.from_numpy(np.zeros(1))}
        with self.assertRaises(NrtError):
            model(wrong, save_trace=True, ntff_name=str(path))
        self.assertFalse(path.exists())
        with self.assertRaisesRegex(NrtError, "Failed to start the trace /nonexistent/t.ntff"):
            model(add_inputs(), save_trace=True, ntff_name="/nonexistent/t.ntff")
        self.assertTrue((result(model(add_inputs())) == 3).all())


class TestRuntime(Case):
    """configure(), reset(), and the life of the one runtime."""

    def test_configure(self):
        """It sets a variable, and reset() sets it back."""
        with mock.patch.dict(os.environ):
            os.environ.pop(CORES, None)
            nrtpy.configure(visible_cores=[1])
            self.assertEqual(os.environ[CORES], "1")
            nrtpy.configure(visible_cores=range(2))
            self.assertEqual(os.environ[CORES], "0,1")
            nrtpy.configure()
            nrtpy.configure([])
            self.assertEqual(os.environ[CORES], "0,1")
            add_model(core_id=1)
            with self.assertRaises(NrtError):
                add_model(core_id=2)
            nrtpy.reset()
            self.assertNotIn(CORES, os.environ)
            os.environ[CORES] = "0"
            nrtpy.configure(np.arange(2))
            self.assertEqual(os.environ[CORES], "0,1")
            get_nrtpy_singleton()
            nrtpy.reset()
            self.assertEqual(os.environ[CORES], "0")

    def test_wrong_cores(self):
        """What is no list of cores changes nothing."""
        with mock.patch.dict(os.environ):
            os.environ.pop(CORES, None)
            for wrong in (3, True, "0", [0.5], ["1"], [None]):
                with self.assertRaises(TypeError):
                    nrtpy.configure(wrong)
            with self.assertRaisesRegex(ValueError, "must not be negative"):
                nrtpy.configure([0, -1])
            self.assertNotIn(CORES, os.environ)
            nrtpy.configure([0, 5000])
            text = self.assert_nrt_error(INVALID, "NRT_INVALID", get_nrtpy_singleton)
            self.assertIn("Failed to initialize the runtime", text)
            # The runtime is not active, so another choice is possible.
            nrtpy.configure([0])
            get_nrtpy_singleton()

    def test_active(self):
        """The cores of an active runtime cannot be chosen."""
        get_nrtpy_singleton()
        for cores in ([0], None):
            with self.assertRaisesRegex(NrtpyError, r"active already; call nrtpy\.reset\(\)"):
                nrtpy.configure(cores)

    def test_singleton(self):
        """There is one, until reset(); without one reset() does nothing."""
        nrtpy.reset()
        nrtpy.reset()
        runtime = get_nrtpy_singleton()
        self.assertIs(runtime, get_nrtpy_singleton())
        nrtpy.reset()
        self.assertIsNot(runtime, get_nrtpy_singleton())
        with self.assertRaisesRegex(NrtpyError, "the runtime is closed"):
            runtime.allocate_tensor(4)

    def test_objects_after_reset(self):
        """They are of no use, and their memory has been given back."""
        get_nrtpy_singleton()
        before = memory_used()
        model, inputs = add_model(), add_inputs()
        self.assertGreater(memory_used(), before)
        nrtpy.reset()
        get_nrtpy_singleton()
        self.assertEqual(memory_used(), before)
        for call in (lambda: model(inputs), lambda: model.benchmark(inputs)):
            with self.assertRaisesRegex(NrtpyError, "closed"):
                call()
        with self.assertRaisesRegex(NrtpyError, "tensor 'a_input' belongs to a runtime that is"):
            inputs["a_input"].numpy()
        with self.assertRaises(NrtpyError):
            add_model()(inputs)
        with self.assertRaises(NrtpyError):
            get_nrtpy_singleton().free_tensor(inputs["a_input"])

    def test_exceptions(self):
        """Their places in the hierarchy, and what they carry."""
        for error in (NrtpyError, NrtError):
            self.assertEqual(error.__mro__[1], RuntimeError)
        error = pickle.loads(pickle.dumps(NrtError("NRT Error NRT_RESOURCE(4): x", 4)))
        self.assertEqual((str(error), error.status), ("NRT Error NRT_RESOURCE(4): x", 4))

    def test_names(self):
        """What the package offers is there."""
        for name in nrtpy.__all__:
            self.assertTrue(hasattr(nrtpy, name), name)


if __name__ == "__main__":
    if not FOLDERS:
        sys.exit(__doc__)
    sys.exit(tap.run(sys.modules[__name__]))
