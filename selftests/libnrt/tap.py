# SPDX-License-Identifier: MIT
"""Runs the tests of unittest in a module and prints TAP, as the tests in C do.

CMOCKA_TEST_FILTER names one case; the programs that run tests set this variable.
"""

import os
import traceback
import unittest


class TapResult(unittest.TestResult):
    """Prints each result as it comes."""

    def __init__(self):
        super().__init__()
        self.number = 0
        self.part_failed = False

    def _say(self, word, test, after=""):
        self.number += 1
        name = ".".join(test.id().split(".")[-2:])
        print(f"{word} {self.number} - {name}{after}", flush=True)

    @staticmethod
    def _explain(error):
        for line in "".join(traceback.format_exception(*error)).splitlines():
            print("#", line)

    def _fail(self, test, error):
        self._explain(error)
        self._say("not ok", test)
        self.part_failed = False

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            print("#", subtest)
            self._explain(err)
            self.part_failed = True

    def stopTest(self, test):
        """Nothing else is said of a test with parts that failed."""
        if self.part_failed:
            self._say("not ok", test)
            self.part_failed = False
        super().stopTest(test)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._say("ok", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._say("ok", test, f" # SKIP {reason}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._fail(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._fail(test, err)


def run(module):
    """Run the tests of a module, or the one that is named; the exit status."""
    wanted = os.environ.get("CMOCKA_TEST_FILTER")
    loader = unittest.TestLoader()
    if wanted:
        loader.testNamePatterns = [f"*{wanted}"]
    suite = loader.loadTestsFromModule(module)
    print(f"TAP version 13\n1..{suite.countTestCases()}", flush=True)
    return 0 if suite.run(TapResult()).wasSuccessful() else 1
