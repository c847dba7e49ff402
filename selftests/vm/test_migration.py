# SPDX-License-Identifier: MIT
"""Migrate a machine whose HBM is being written all the time, by the guest and by the chip.

The program in the guest (selftests/drivers/neuron/scribble.c) keeps in the guest's memory what
must be in HBM, and compares at its end. Memory is sent so slowly that the program writes many
pages that have been sent before.
"""

import time

from kept import FAST, Kept

BEGIN_S = 300
# A machine of this shape has some 200 MiB in use.
SLOW = 16 << 20
ROUNDS = 6000
TIMES = 3
SCRIBBLE = "/usr/libexec/neuron/scribble"


def sent(kept):
    """Bytes that the migration under way has sent."""
    answer = kept.vm.qmp.run("query-migrate")
    assert answer.get("status") != "completed", "all has been sent before the program has written"
    return answer.get("ram", {}).get("transferred", 0)


def migrate_slowly(kept):
    """Send some of the memory slowly, until the program has gone on, then the rest."""
    begin = kept.text().count("rounds")
    kept.migrate("migrate", kept.folder / "migrated", SLOW)
    deadline = time.monotonic() + BEGIN_S
    while sent(kept) < 2 * SLOW or kept.text().count("rounds") == begin:
        assert time.monotonic() < deadline, "memory is not sent, or nothing is written meanwhile"
        time.sleep(0.05)
    kept.vm.qmp.run("migrate-set-parameters", max_bandwidth=FAST)
    passes = kept.wait_migrated()["ram"]["dirty-sync-count"]
    assert passes > 1, "all memory was sent at once: nothing can have changed meanwhile"


def test_hbm_is_written_meanwhile(folder):
    """Several times, one behind the other."""
    kept = Kept(folder / "scribble", f"{SCRIBBLE} {ROUNDS}", prepare=["driver"])
    with kept.vm:
        kept.wait_for("scribble: begins", BEGIN_S)
        for i in range(TIMES):
            print(f"migration {i + 1} of {TIMES}")
            migrate_slowly(kept)
            kept.load_file()
        assert kept.vm.alive(), "the program has ended too early: raise ROUNDS"
        assert "scribble: HBM is as written" in kept.end()
