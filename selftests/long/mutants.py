#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Show that the native tests notice one wrong bit in one result.

A copy of the tree gets the mutations of mutants.table, all of them at once and all
asleep, and is built. Then one after the other is woken by the environment (mutate.h):
it flips the last bit of one element wherever the chip comes by, for each value of
the table's columns (host path, operator, type). One of the tests that the table names
must fail. A mutant that survives is a hole in the tests; one whose text is no longer
found or that is never reached fails too, so that the table keeps up with the code.

  mutants.py [--list] [--jobs N] [--all] [NAME...]

Prints TAP, one test for each row of the table.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from neuron_vm.process import Cancelled, Processes, tail

BUILD = pathlib.Path(os.environ.get("BUILD_DIR", ROOT / "build")) / "mutants"
TREE = BUILD / "tree"
NATIVE = BUILD / "native"
TEST_SECONDS = 300
BUILD_SECONDS = 1800
NO_PATH = "no such path on this host"
PATHS = {"scalar": [], "avx2": ["avx2", "fma"],
         "avx512": ["avx512f", "avx512dq", "avx512bw", "avx512vl"]}
HEADERS = ["uapi/neuron/isa.h", "uapi/neuron/dma_op.h"]
ENUMS = {"ALU": "NEURON_ALU_", "ACT": "NEURON_ACT_", "DTYPE": "NEURON_DTYPE_",
         "OP": "NEURON_OP_", "UDMA_OP": "NEURON_UDMA_OP_"}
MUTATE = pathlib.Path("selftests/long/mutate.h")
# A call of mutate.h and the name of its mutant.
CALL = re.compile(r'\bmuta(?:te|nt_is)\("([^"]*)"')

Case = collections.namedtuple("Case", "mutant path first second")


class Wrong(Exception):
    """The table and the tree do not go together."""


class Mutant:
    """A row of the table, whose comment says what is what."""

    def __init__(self, name):
        self.name = name
        self.file = ""
        self.find = ""
        self.put = []
        self.called = name
        self.paths = ["-"]
        self.first = ["-"]
        self.second = ["-"]
        self.tests = []

    def add(self, key, value):
        """One line of the row."""
        if key == "put":
            self.put.append(value)
        elif key in ("file", "find"):
            setattr(self, key, value)
        elif key == "in":
            self.called = value
        elif key in ("paths", "first", "second", "tests"):
            words = getattr(self, key)
            setattr(self, key, value.split() if words == ["-"] else words + value.split())
        else:
            raise Wrong(f"{self.name}: what is \"{key}\"?")


def read_table(path):
    """The rows of the table, in its order."""
    mutants = []
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("["):
            name = line.strip("[] ")
            if any(mutant.name == name for mutant in mutants):
                raise Wrong(f"{name}: two rows have this name")
            mutants.append(Mutant(name))
            continue
        key, value = line.split(None, 1)
        mutants[-1].add(key, value.rstrip())
    return mutants


def copy_tree():
    """What git tracks or would track; the times of unchanged files stay."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT,
                           check=True, capture_output=True, text=True).stdout.splitlines()
    sources = {}
    for name in names:
        if (ROOT / name).is_file():
            sources[name] = (ROOT / name).read_bytes()
    return sources


def put_tree(sources):
    """Write the copy."""
    for name, content in sources.items():
        path = TREE / name
        if path.is_file() and path.read_bytes() == content:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod((ROOT / name).stat().st_mode)


def check_calls(mutants):
    """What a row wakes, one row puts, and no other."""
    putters = {}
    for mutant in mutants:
        for name in CALL.findall("\n".join(mutant.put)):
            if putters.setdefault(name, mutant.name) != mutant.name:
                raise Wrong(f"{mutant.name}: the row {putters[name]} puts \"{name}\", too")
    for mutant in mutants:
        if mutant.called not in putters:
            raise Wrong(f"{mutant.name}: no row puts \"{mutant.called}\"")


def apply(mutants, sources):
    """All mutations, in memory. Their files include mutate.h."""
    check_calls(mutants)
    changed = {}
    for mutant in mutants:
        if not mutant.put:
            continue
        text = changed.get(mutant.file, sources.get(mutant.file, b"").decode())
        if mutant.find not in text:
            raise Wrong(f"{mutant.name}: {mutant.file} has no \"{mutant.find}\"")
        put = "\n".join(mutant.put).replace("$", mutant.find)
        changed[mutant.file] = text.replace(mutant.find, put)
    for name, text in changed.items():
        sources[name] = f'#include "{MUTATE.name}"\n{text}'.encode()


def enumerators(sources):
    """Short names like ALU_ADD and their values."""
    values = {}
    text = b"".join(sources[name] for name in HEADERS).decode()
    for short, prefix in ENUMS.items():
        known = 0
        for name, value in re.findall(rf"^\t{prefix}(\w+)\s*(?:=\s*(0x\w+|\d+))?,", text, re.M):
            known = int(value, 0) if value else known
            values[f"{short}_{name}"] = known
            known += 1
    return values


def expand(patterns, values):
    """Numbers as they are; names with wildcards; "!" takes away."""
    names = []
    for pattern in patterns:
        if pattern == "-" or pattern.isdigit():
            names.append(pattern)
            continue
        matches = [name for name in values if fnmatch.fnmatchcase(name, pattern.lstrip("!"))]
        if not matches:
            raise Wrong(f"nothing is called {pattern}")
        if pattern.startswith("!"):
            names = [name for name in names if name not in matches]
        else:
            names += [name for name in matches if name not in names]
    return names


def cases_of(mutant, values):
    """One case for each combination of the columns."""
    return [Case(mutant, path, first, second) for path in mutant.paths
            for first in expand(mutant.first, values) for second in expand(mutant.second, values)]


def usable(path):
    """Has this host the path?"""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as info:
        flags = set(re.search(r"^flags\s*:(.*)$", info.read(), re.M)[1].split())
    return flags.issuperset(PATHS.get(path, []))


def build(processes, tests, jobs):
    """The tests of the copy."""
    log = BUILD / "build.log"
    commands = [["ninja", "-C", NATIVE, "-j", str(jobs),
                 *(f"selftests/native/test-{test}" for test in tests)]]
    if not (NATIVE / "build.ninja").exists():
        commands.insert(0, ["meson", "setup", NATIVE, TREE, "-Dnative_only=true",
                            f"-Dc_args=-I{TREE / MUTATE.parent}"])
    for words in commands:
        if processes.run(words, log, BUILD_SECONDS).status:
            raise Wrong(f"{words[0]} failed, see {log}: " + " | ".join(tail(log, 3)))


class Tests:
    """Runs tests with at most one mutant awake; their output is kept in a folder."""

    def __init__(self, processes, folder):
        self.processes = processes
        self.folder = folder

    def run(self, test, words):
        """Run a test until its first failure. Has it failed, and has it come by the mutant?"""
        program = NATIVE / "selftests/native" / f"test-{test}"
        with tempfile.NamedTemporaryFile(dir=self.folder) as log:
            path = pathlib.Path(log.name)
            done = self.processes.run([program], path, TEST_SECONDS, env={"MUTANT": words},
                                      until=lambda: b"FAILED" in path.read_bytes())
            said = path.read_bytes()
        return b"FAILED" in said or done.status != 0, b"mutated" in said


def run_case(case, values, tests):
    """(verdict, text): which test has noticed it."""
    if not usable(case.path):
        return "skipped", NO_PATH
    numbers = [str(values.get(word, word)) for word in (case.first, case.second)]
    words = " ".join([case.mutant.called, case.path] + numbers)
    reached = False
    for test in case.mutant.tests:
        failed, here = tests.run(test, words)
        reached |= here
        if failed and here:
            return "killed", test
    return "SURVIVED", "" if reached else "no test reaches it"


def title(case):
    """The columns that say which one it is."""
    return " ".join([case.mutant.name] + [word for word in case[1:] if word != "-"])


def report(cases, values, tests, jobs, everything):
    """Run the cases; a line of TAP for each mutant. Whether none has survived."""
    by_mutant = {}
    for case in cases:
        by_mutant.setdefault(case.mutant.name, []).append(case)
    survived = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        verdicts = pool.map(lambda case: run_case(case, values, tests), cases)
        for number, (name, mine) in enumerate(by_mutant.items(), 1):
            counts = collections.Counter()
            for case, (verdict, text) in zip(mine, verdicts):
                counts[f"killed by {text}" if verdict == "killed" else verdict] += 1
                if everything or verdict == "SURVIVED":
                    print(f"# {verdict:9} {title(case):52} {text}".rstrip(), flush=True)
            survived += counts["SURVIVED"]
            print(tap_line(number, name, counts), flush=True)
    return not survived


def tap_line(number, name, counts):
    """The line of one mutant, after what has become of its cases."""
    if set(counts) == {"skipped"}:
        return f"ok {number} - {name} # SKIP {NO_PATH}"
    told = ", ".join(f"{count} {word}" for word, count in counts.items())
    return f"# {name}: {told}\n{'not ok' if counts['SURVIVED'] else 'ok'} {number} - {name}"


def check_unchanged(names, tests, jobs):
    """Without a mutant every test passes; the rest would say nothing otherwise."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        failed = [name for name, result in
                  zip(names, pool.map(lambda name: tests.run(name, ""), names)) if any(result)]
    if failed:
        raise Wrong(f"fail without a mutant: {' '.join(failed)}")


def main():
    """All, or the mutants that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="the cases, without running them")
    parser.add_argument("--all", action="store_true", help="a line for each case")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS", os.cpu_count())))
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    mutants = read_table(HERE / "mutants.table")
    sources = copy_tree()
    values = enumerators(sources)
    apply(mutants, sources)
    if unknown := set(args.names) - {mutant.name for mutant in mutants}:
        raise Wrong(f"no mutant is called {' '.join(sorted(unknown))}")
    chosen = [mutant for mutant in mutants if not args.names or mutant.name in args.names]
    cases = [case for mutant in chosen for case in cases_of(mutant, values)]
    if args.list:
        print("\n".join(title(case) for case in cases))
        return 0
    put_tree(sources)
    processes = Processes()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: processes.cancel())
    build(processes, sorted({test for mutant in mutants for test in mutant.tests}), args.jobs)
    print(f"1..{len(chosen)}", flush=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        tests = Tests(processes, folder)
        check_unchanged(sorted({test for mutant in chosen for test in mutant.tests}), tests,
                        args.jobs)
        passed = report(cases, values, tests, args.jobs, args.all)
    return 0 if passed else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Wrong as error:
        print(f"Bail out! {error}")
    except Cancelled:
        print("Bail out! ended by a signal")
    sys.exit(1)
