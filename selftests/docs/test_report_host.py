# SPDX-License-Identifier: MIT
"""tools/report-host, as far as a quick run goes: with whatever this host has of KVM."""

import getpass
import pathlib
import re
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))

from neuron_vm import report


def run(folder, *options):
    """Run the script and return it with the text of its report."""
    file = folder / "report.txt"
    done = subprocess.run([ROOT / "tools/report-host", "--no-build", "--output", file, *options],
                          capture_output=True, text=True, timeout=1500, check=False)
    assert file.exists(), done.stderr
    return done, file.read_text()


def test_quick(tmp_path):
    """One chip boots without KVM; what KVM does is told, and the exit status follows."""
    done, text = run(tmp_path, "--quick")
    assert re.search(r"^passed .*TCG, 1 chip: boot", text, re.M), text
    assert re.search(r"^(passed|FAILED|left out) .*KVM, 1 chip: boot", text, re.M), text
    assert done.returncode == (1 if "\nFAILED" in text else 0), text
    assert re.search(r"^KVM +\S", text, re.M)
    assert re.search(r"^QEMU +QEMU emulator version \d", text, re.M)


def test_nobody_is_named(monkeypatch):
    """Names and folders are replaced wherever they stand, and nothing else is."""
    monkeypatch.setattr(socket, "gethostname", lambda: "quokka.example.org")
    monkeypatch.setattr(getpass, "getuser", lambda: "ada")
    monkeypatch.setenv("HOME", "/home/ada")
    text = f"{ROOT}/build: quokka /home/ada/x quokka.example.org by ada (adapter)"
    assert report.anonymous(text) == "TREE/build: HOST HOME/x HOST by USER (adapter)"


def test_a_step_that_fails():
    """A wrong exit status, missing output and a time limit are failures; the output is shown."""
    for words, limit, wanted, complaint in (
            (["sh", "-c", "echo hello; exit 3"], 60, "", "exit status 3"),
            (["echo", "hello"], 60, "^goodbye", "does not contain"),
            (["sh", "-c", "echo hello; sleep 600"], 2, "", "not done after 2 s")):
        result = report.take(report.Step("a step", words, limit, wanted))
        assert result.outcome == report.FAILED
        assert complaint in result.notes[0]
        assert "| hello" in result.notes
    assert report.take(report.Step("a step", ["echo", "hello"], 60, "^hello")).outcome == \
        report.PASSED
