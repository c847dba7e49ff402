# SPDX-License-Identifier: MIT
"""What the runner makes of the output of programs."""

import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from runner import cli, results

GOOD = "1..2\nok 1 - first\nok 2 - second\n"


def outcome(text, status=0, **options):
    """(passed, failed, skipped) and the reasons of the failures."""
    cases = results.from_tap("program", text, status, **options)
    return results.count(cases), [case.why for case in cases if case.outcome == results.FAILED]


class Tap(unittest.TestCase):
    """One program."""

    def test_all_pass(self):
        self.assertEqual(outcome(GOOD), ((2, 0, 0), []))

    def test_a_failure_has_its_explanation(self):
        for text in ("1..1\n# a.c:3: 1 != 2\nnot ok 1 - first\n",
                     "1..1\nnot ok 1 - first\n# a.c:3: 1 != 2\n"):
            counts, why = outcome(text, 1)
            self.assertEqual(counts, (0, 1, 0))
            self.assertIn("1 != 2", why[0])

    def test_a_crash_after_some_tests(self):
        counts, why = outcome("1..3\nok 1 - first\n", 139)
        self.assertEqual(counts, (1, 1, 0))
        self.assertEqual(why, ["ended after 1 of 3 tests, exit status 139"])

    def test_fewer_tests_than_planned_without_a_crash(self):
        self.assertEqual(outcome("1..3\nok 1 - first\nok 2 - second\n")[0], (2, 1, 0))

    def test_more_tests_than_planned(self):
        self.assertEqual(outcome("1..1\nok 1 - first\nok 2 - second\n")[0], (2, 1, 0))

    def test_a_time_limit(self):
        self.assertIn("time limit", outcome("1..2\nok 1 - first\n", 124)[1][0])

    def test_a_status_that_no_test_explains(self):
        self.assertEqual(outcome(GOOD, 1), ((2, 1, 0), ["every test passed, yet exit status 1"]))

    def test_a_status_that_a_failure_explains(self):
        self.assertEqual(outcome("1..2\nok 1 - first\nnot ok 2 - second\n", 1)[0], (1, 1, 0))

    def test_no_plan(self):
        self.assertEqual(outcome("ok 1 - first\n")[0], (1, 1, 0))
        self.assertEqual(outcome("ok 1 - first\n", needs_plan=False)[0], (1, 0, 0))

    def test_a_plan_at_the_end(self):
        self.assertEqual(outcome("ok 1 - first\n1..1\n")[0], (1, 0, 0))

    def test_several_groups(self):
        self.assertEqual(outcome(GOOD + GOOD)[0], (4, 0, 0))
        self.assertEqual(outcome(GOOD + "1..2\nok 1 - first\n")[0], (3, 1, 0))

    def test_no_output(self):
        self.assertEqual(outcome("")[0], (0, 1, 0))

    def test_no_tap(self):
        self.assertEqual(outcome("hello\n")[0], (0, 1, 0))
        self.assertEqual(outcome("hello\n", needs_plan=False)[0], (0, 1, 0))

    def test_an_empty_plan(self):
        self.assertEqual(outcome("1..0\n")[0], (0, 1, 0))

    def test_a_skip_of_the_whole_program(self):
        cases = results.from_tap("program", "1..0 # SKIP no disk\n", 4)
        self.assertEqual([(case.outcome, case.why) for case in cases], [("skipped", "no disk")])

    def test_exit_status_4_without_tap(self):
        cases = results.from_tap("program", "no neuron device\n", 4)
        self.assertEqual([(case.outcome, case.why) for case in cases],
                         [("skipped", "no neuron device")])

    def test_exit_status_4_beside_passes(self):
        self.assertEqual(outcome(GOOD, 4)[0], (2, 1, 0))

    def test_the_ways_to_write_a_skip(self):
        text = "1..3\nok 1 - a # SKIP why\nok 2 # SKIP b\nnot ok 3 # SKIP c\n"
        cases = results.from_tap("program", text, 0)
        self.assertEqual([(case.name, case.outcome, case.why) for case in cases],
                         [("a", "skipped", "why"), ("b", "skipped", ""), ("c", "skipped", "")])

    def test_what_cmocka_prints_before_a_skip_is_the_reason(self):
        text = "1..2\nno abc here\nok 1 # SKIP a\nok 2 # SKIP b\n"
        cases = results.from_tap("program", text, 0)
        self.assertEqual([case.why for case in cases], ["no abc here", ""])

    def test_expected_failures_are_skips(self):
        text = "1..4\nnot ok 1 - a # TODO\nok 2 - b # XFAIL x\nnot ok 3 # XFAIL\nok 4 - d # TODO\n"
        cases = results.from_tap("program", text, 0)
        self.assertEqual(results.count(cases), (1, 0, 3))
        self.assertEqual(cases[1].why, "expected to fail: x")

    def test_a_case_may_have_the_name_of_one_that_the_reader_adds(self):
        for name in ("all", "end"):
            self.assertEqual(outcome(f"1..2\nok 1 - {name}\n")[0], (1, 1, 0))
            self.assertEqual(outcome(f"1..1\nok 1 - {name}\n")[0], (1, 0, 0))

    def test_only_an_empty_plan_skips_the_program(self):
        self.assertEqual(outcome("1..2 # SKIP x\nok 1 - a\n")[0], (1, 1, 0))
        self.assertEqual(outcome("1..0 # SKIP x\nok 1 - a\n")[0], (1, 1, 1))

    def test_a_remark_behind_a_result(self):
        self.assertEqual(outcome("1..1\nok 1 - a # 12 s\n")[0], (1, 0, 0))

    def test_bail_out(self):
        self.assertEqual(outcome("1..2\nok 1 - a\nBail out! no more\n", 1)[0], (1, 2, 0))


class Files(unittest.TestCase):
    """What is left in files."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name) / "test_a.tap"

    def guest(self, text):
        self.path.write_text(text)
        return results.count(results.from_tap_file(self.path))

    def test_the_exit_status_is_the_last_line(self):
        self.assertEqual(self.guest(GOOD + "# exit 0\n"), (2, 0, 0))
        self.assertEqual(self.guest(GOOD + "# exit 1\n"), (2, 1, 0))

    def test_without_it_the_machine_has_ended_before(self):
        self.assertEqual(self.guest(GOOD), (2, 1, 0))
        self.assertEqual(self.guest("1..3\nok 1 - a\n"), (1, 2, 0))

    def test_meson(self):
        line = {"name": "neuron-emu:native / udma", "result": "OK", "returncode": 0,
                "stdout": GOOD, "duration": 2.0}
        program, cases, text = results.from_meson(json.dumps(line))
        self.assertEqual((program, results.count(cases)), ("udma", (2, 0, 0)))
        self.assertIn("# exit 0", text)
        self.assertEqual(cases[0].seconds, 1.0)

    def test_meson_kills_a_slow_test(self):
        line = {"name": "udma", "result": "TIMEOUT", "returncode": -15,
                "stdout": "1..2\nok 1 - a\n", "stderr": "gone", "duration": 2.0}
        _, cases, _ = results.from_meson(json.dumps(line))
        self.assertEqual(results.count(cases), (1, 1, 0))
        self.assertIn("time limit", cases[-1].why)
        self.assertEqual(cases[-1].details, ["gone"])

    def test_meson_sees_a_signal(self):
        line = {"name": "udma", "result": "ERROR", "returncode": -6, "stdout": "1..2\nok 1 - a\n",
                "duration": 2.0}
        self.assertIn("134", results.from_meson(json.dumps(line))[1][-1].why)

    def test_junit_of_pytest(self):
        self.path.write_text(
            '<testsuites><testsuite><testcase classname="selftests.vm.test_x" name="a" time="1"/>'
            '<testcase classname="selftests.vm.test_x" name="b"><skipped message="why"/></testcase>'
            '<testcase classname="selftests.vm.test_x" name="c"><failure message="no">x\ny'
            '</failure></testcase><testcase classname="selftests.vm.test_x" name="d">'
            '<error message="e"/></testcase></testsuite></testsuites>')
        cases = results.from_junit(self.path)
        self.assertEqual(results.count(cases), (1, 2, 1))
        self.assertEqual(cases[0].title, "test_x:a")

    def test_a_file_that_pytest_skips_has_its_reason(self):
        self.path.write_text(
            '<testsuite><testcase classname="" name="selftests.vm.test_x"><skipped message='
            '"collection skipped">(\'/a/test_x.py\', 7, \'Skipped: X is not installed\')</skipped>'
            '</testcase></testsuite>')
        case, = results.from_junit(self.path)
        self.assertEqual((case.title, case.why), ("test_x:end", "X is not installed"))

    def test_names_of_pytest(self):
        for classname, name, wanted in (
                ("selftests.vm.test_x", "test_a[b.c]", ("test_x", "test_a[b.c]")),
                ("a.test_x.TestY", "test_a", ("test_x", "TestY::test_a")),
                ("odd", "test_a", ("odd", "test_a")),
                ("", "a.test_x", ("test_x", results.END))):
            self.assertEqual(results.pytest_name(classname, name), wanted)

    def test_junit_is_what_was_written(self):
        cases = [results.Case("p", "a", results.PASSED), results.failed("p", "b", "no\x1b", ["x"]),
                 results.Case("p", "c", results.SKIPPED, "why")]
        results.to_junit("suite", cases, 1.5, self.path)
        again = results.from_junit(self.path)
        self.assertEqual([case.outcome for case in again], [case.outcome for case in cases])


class WrittenTap(unittest.TestCase):
    """The TAP that is left for each suite, also of one that pytest has run."""

    CASES = [results.Case("a", "good", results.PASSED),
             results.Case("a", "skipped", results.SKIPPED, "no disk"),
             results.Case("b", "two#lines", results.FAILED, "1 is\nnot 2",
                          details=["ok 7 - x\x1b"])]

    def test_it_is_read_back(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "suite.tap")
            results.to_tap(self.CASES, path)
            text = path.read_text()
        again = results.from_tap("suite", text, 1)
        self.assertEqual([(case.name, case.outcome) for case in again],
                         [("a:good", "passed"), ("a:skipped", "skipped"),
                          ("b:two_lines", "failed")])
        self.assertEqual(again[1].why, "no disk")
        self.assertEqual(text.splitlines()[-3:],
                         ["not ok 3 - b:two_lines", "# 1 is not 2", "# ok 7 - x?"])


class Skips(unittest.TestCase):
    """The table of skips that are allowed."""

    RULES = ("# a comment\n"
             "asan,tsan | udma-*:windows | * | a Trainium1 has none\n"
             "kselftest | test_a:* | no pm_test | Debian's kernel has none\n"
             "kselftest | * | no neuron device | never\n")

    def judge(self, suite, title, why):
        case = results.Case(*title.split(":"), results.SKIPPED, why)
        results.SkipRules(self.RULES).judge(suite, [case])
        return case

    def test_what_the_table_has_stays_a_skip(self):
        case = self.judge("asan", "udma-trn1:windows", "")
        self.assertEqual((case.outcome, case.why), ("skipped", "a Trainium1 has none"))

    def test_another_suite_program_case_or_reason_fails(self):
        for suite, title, why in (("qtest", "udma-trn1:windows", ""),
                                  ("asan", "queue-trn1:windows", ""),
                                  ("asan", "udma-trn1:doors", ""),
                                  ("kselftest", "test_a:sleep", "no disk")):
            self.assertEqual(self.judge(suite, title, why).outcome, "failed")

    def test_no_device_is_always_a_failure(self):
        self.assertEqual(self.judge("kselftest", "test_b:x", "no neuron device").outcome, "failed")

    def test_a_line_with_too_few_columns(self):
        with self.assertRaises(ValueError):
            results.SkipRules("asan | udma:a | *\n")

    def allowed(self, program, case, why, *suites):
        """Of some suites, those that may skip a case by the real table."""
        case = results.Case(program, case, results.SKIPPED, why)
        return [suite for suite in suites if cli.skip_rules().reason(suite, case)]

    def test_only_chips_without_pairs_have_none(self):
        """A Trainium2 that says so, or is not there to be asked, has failed."""
        why = "these chips have no pairs"
        machines = ("kselftest", "trn1", "inf2", "trn3", "dma-iommu", "debug-suite-2")
        self.assertEqual(self.allowed("test_nrt_lnc", "pair.visible", why, *machines),
                         ["trn1", "inf2"])
        self.assertEqual(self.allowed("test_nrt_lnc", "lnc.usual", why, *machines), [])
        for program, suites in (("embedded_nrt_lnc_trn1", ["embedded"]), ("embedded_nrt_lnc", []),
                                ("embedded_nrt_lnc_trn3", [])):
            self.assertEqual(self.allowed(program, "pair.visible", why, "embedded", "stacks"),
                             suites)

    def test_only_chips_with_pairs_have_some(self):
        """The same the other way round."""
        why = "these chips have pairs"
        self.assertEqual(self.allowed("test_nrt_lnc", "lnc.no_pairs", why, "kselftest", "trn1",
                                      "inf2", "trn3", "dma-iommu", "debug-suite-2"),
                         ["kselftest", "trn3", "dma-iommu", "debug-suite-2"])
        for program, suites in (("embedded_nrt_lnc_trn1", []),
                                ("embedded_nrt_lnc", ["embedded", "stacks"]),
                                ("embedded_nrt_lnc_trn3", ["embedded"])):
            self.assertEqual(self.allowed(program, "lnc.no_pairs", why, "embedded", "stacks"),
                             suites)


if __name__ == "__main__":
    unittest.main()
