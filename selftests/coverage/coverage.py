#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Which lines of the chip library, libnrt, the tools and the driver the tests reach.

tools/build/coverage builds user space with counters (build/coverage) and starts this program.
It runs the native tests on the host, and the tests of libnrt and the tools in a VM, from
which the counters come back through /out. The counters of the driver are those that stages of
the debug kernel left below build/check, if the driver is still the same. gcovr makes one page of
all; files and functions that nothing called are named.

Exit status 1: something went wrong, so lines may be missing that tests reach.
"""

import argparse
import html
import json
import os
import pathlib
import re
import shutil
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "selftests")]

from neuron_vm import Machine, MachineError
from neuron_vm.process import Processes
from runner import counters

AREAS = {"chip": "qemu-device/chip", "libnrt": "libnrt", "tools": "tools", "driver": "driver"}
NATIVE_S = 420
GUEST_S = 240
PROGRAM_S = 90
GCOVR_S = 240
QUIET_S = 20
GUEST_ENV = {"GCOV_PREFIX": "/out/gcov", "LD_PRELOAD": "/usr/lib/libcoverage-exit.so"}
DRIVER_HINT = ("the driver's part needs the debug kernel's stages first: "
               "make check-nightly STAGE=debug-suite,debug-suite-2,debug-suite-3,debug-fail")


class Notes:
    """What is to be said beside the figures."""

    def __init__(self):
        self.lines = []
        self.failed = False

    def hint(self, text):
        """What the page lacks because nobody has asked for it."""
        self.lines.append(text)

    def fail(self, text):
        """What went wrong."""
        self.lines.append(text)
        self.failed = True

    def status(self):
        """The exit status of the program."""
        return 1 if self.failed else 0


class Steps:
    """Shows what is being done and how long it took."""

    def __init__(self):
        self.begin = self.shown = time.monotonic()

    def line(self, text, begin):
        print(f"  {'coverage':<10} {text:<52.52} {time.monotonic() - begin:4.0f} s", flush=True)

    def run(self, text, words, log, limit):
        """Run a program with its output in a file; return its exit status, or None after limit."""
        begin = self.shown = time.monotonic()

        def tick():
            if time.monotonic() - self.shown >= QUIET_S:
                self.shown = time.monotonic()
                self.line(f"{text} ...", begin)

        done = Processes().run(words, log, limit, cwd=ROOT, tick=tick)
        if done.timed_out:
            return None
        self.line(text, begin)
        return done.status


def run_native(steps, out, notes):
    """The unit tests of the host."""
    log = out / "native.log"
    status = steps.run("running the native tests", ["meson", "test", "-C", str(out / "user"),
                       "--no-rebuild", "--suite", "native"], log, NATIVE_S)
    if status is None:
        notes.fail(f"the native tests were ended after {NATIVE_S} s; see {log}")
    elif status:
        notes.fail(f"{status} native tests failed; see {log}")


def run_in_guest(vm, words, notes, **how):
    try:
        done = vm.run(words, timeout=PROGRAM_S, env=GUEST_ENV, **how)
    except MachineError as error:
        notes.fail(f"in the VM: {error}")
        return
    if done.returncode not in (0, 4):
        said = (done.stdout + done.stderr).strip().splitlines()[-1:] or ["it said nothing"]
        notes.fail(f"in the VM: {' '.join(words)}: exit status {done.returncode}: {said[0]}")


def show_top(vm, notes):
    """neuron-top on a terminal, for a few seconds."""
    try:
        top = vm.spawn(["neuron-top"], env=GUEST_ENV, tty=(24, 80))
        time.sleep(3)
        top.write(b"q")
        top.wait(30)
    except MachineError as error:
        notes.fail(f"in the VM: {error}")


def run_guest(steps, out, notes):
    """The tests of libnrt, and the tools, in a VM; their counters come back in /out/gcov."""
    begin = time.monotonic()
    shutil.rmtree(out / "guest", ignore_errors=True)
    os.environ["BUILD_DIR"] = str(out)
    try:
        with Machine("--chips", "2", "--timeout", str(GUEST_S), out=str(out / "guest")) as vm:
            vm.output("modprobe neuron")
            tests = vm.output("ls /usr/libexec/neuron/selftests/test_nrt*").split()
            for i, test in enumerate(tests):
                steps.line(f"in the VM: {os.path.basename(test)}, {i + 1} of {len(tests)}", begin)
                run_in_guest(vm, [test], notes, cwd="/usr/libexec/neuron/selftests")
            for words in (["neuron-ls"], ["neuron-ls", "--json-output"],
                          ["neuron-ls", "--topology"], ["/tasks/run"]):
                run_in_guest(vm, words, notes)
            show_top(vm, notes)
    except MachineError as error:
        notes.fail(f"the VM: {error}")
    steps.line("running the tests of libnrt and the tools in a VM", begin)


def gather_guest(out):
    """Counters of the guest, each beside the compiler's notes about the same object."""
    brought = out / "guest/gcov" / str(out / "user").lstrip("/")
    folder = out / "guest-objects"
    shutil.rmtree(folder, ignore_errors=True)
    for file in brought.rglob("*.gcda"):
        target = folder / file.relative_to(brought)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
        shutil.copy((out / "user" / file.relative_to(brought)).with_suffix(".gcno"),
                    target.with_suffix(".gcno"))
    return folder if folder.exists() else None


def gather_driver(build, notes, root=ROOT):
    """Folders with the driver's counters and the compiler's notes, which the stages of the debug
    kernel left. Those of another driver would count for lines that have nothing to do with them.
    """
    here = counters.source(root)
    folders = []
    for folder in counters.folders(build):
        if counters.kept(folder) == here:
            folders.append(folder)
        else:
            notes.hint(f"the driver has changed since the stage {folder.parent.name}: its counters "
                       f"in {folder} are left out")
    return folders


def source_of(path):
    """The file of the project that a compiler's path means, from the root; or None."""
    for area in AREAS.values():
        at = path.rfind(f"{area}/")
        if at >= 0 and (ROOT / path[at:]).is_file():
            return path[at:]
    return None


def trace(steps, name, folder, out):
    """gcovr's account of the counters in a folder: files of the areas, by the project's names."""
    file, log = out / f"{name}.json", out / f"gcovr-{name}.log"
    words = ["gcovr", "--root", str(ROOT), "--json", str(file), "--gcov-ignore-parse-errors",
             "-j", str(os.cpu_count() or 1), "--object-directory", str(folder), str(folder)]
    if steps.run(f"reading the counters: {name}", words, log, GCOVR_S):
        sys.exit(f"coverage: gcovr failed; see {log}")
    account = json.loads(file.read_text(encoding="utf-8"))
    kept = []
    for entry in account["files"]:
        source = source_of(entry["file"])
        if source:
            kept.append({**entry, "file": source})
    account["files"] = kept
    file.write_text(json.dumps(account), encoding="utf-8")
    return file


def merge(steps, traces, out):
    """One page and one account of all."""
    words = ["gcovr", "--root", str(ROOT)]
    for file in traces:
        words += ["--add-tracefile", str(file)]
    words += ["--json", str(out / "all.json"), "--html-details", str(out / "index.html"),
              "--html-title", "neuron-emu: what the tests reach"]
    log = out / "gcovr-all.log"
    if steps.run("writing the page", words, log, GCOVR_S):
        sys.exit(f"coverage: gcovr failed; see {log}")
    files = json.loads((out / "all.json").read_text(encoding="utf-8"))["files"]
    if not files:
        sys.exit(f"coverage: gcovr found no line of the project; see {out}/gcovr-*.log")
    return files


def counts(entry):
    """How often each line of code of a file ran. gcovr lists lines without code, too."""
    return [line["count"] for line in entry["lines"] if not line.get("gcovr/noncode")]


def never_run(files):
    """Lines of text: files of which nothing ran, then functions that nothing called."""
    idle = {entry["file"] for entry in files
            if counts(entry) and not any(counts(entry))}
    yield from (f"file never run: {name}" for name in sorted(idle))
    for entry in sorted(files, key=lambda one: one["file"]):
        names = [function["name"] for function in entry.get("functions", ())
                 if not function["execution_count"]]
        if names and entry["file"] not in idle:
            yield f"never called in {entry['file']}: {', '.join(sorted(names))}"


def summary(files):
    """A line for each area, aligned."""
    for area, folder in AREAS.items():
        lines = [count for entry in files if entry["file"].startswith(folder + "/")
                 for count in counts(entry)]
        reached = sum(1 for count in lines if count)
        share = f"{100 * reached / len(lines):5.1f} %" if lines else "      -"
        yield f"{area:<8} {share} {reached:>7} of {len(lines):>6} lines"


def add_to_page(page, notes, unreached):
    """What gcovr does not say goes to the top of its page."""
    text = page.read_text(encoding="utf-8")
    parts = [f"<p><b>{html.escape(note)}</b></p>" for note in notes]
    parts.append("<details><summary>Files and functions that nothing called</summary><ul>")
    parts += [f"<li>{html.escape(line)}</li>" for line in unreached]
    parts.append("</ul></details>")
    changed = re.sub(r"(<body[^>]*>)", lambda body: body[1] + "".join(parts), text, count=1)
    page.write_text(changed, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder; the page goes to coverage/")
    build = pathlib.Path(parser.parse_args().build).resolve()
    out, steps, notes = build / "coverage", Steps(), Notes()

    for old in (out / "user").rglob("*.gcda"):
        old.unlink()
    run_native(steps, out, notes)
    run_guest(steps, out, notes)
    folders = {"native": out / "user"}
    guest = gather_guest(out)
    if guest:
        folders["guest"] = guest
    else:
        notes.fail("no counters came from the VM")
    for folder in gather_driver(build, notes):
        folders[f"driver-{folder.parent.name}"] = folder
    if not any(name.startswith("driver-") for name in folders):
        notes.hint(DRIVER_HINT)
    files = merge(steps, [trace(steps, name, folder, out) for name, folder in folders.items()], out)
    unreached = list(never_run(files))
    (out / "never.txt").write_text("\n".join(unreached) + "\n", encoding="utf-8")
    add_to_page(out / "index.html", notes.lines, unreached)
    print(*unreached, sep="\n")
    print()
    print(*summary(files), *notes.lines, sep="\n")
    print(f"{out / 'index.html'} ({time.monotonic() - steps.begin:.0f} s)")
    return notes.status()


if __name__ == "__main__":
    sys.exit(main())
