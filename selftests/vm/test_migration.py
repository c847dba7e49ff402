# SPDX-License-Identifier: MIT
"""Migrate a machine whose HBM is being written all the time, by the guest and by the chip.

The program in the guest (selftests/drivers/neuron/scribble.c) keeps in the guest's memory what
must be in HBM, and compares at its end. Memory is sent so slowly that the program writes many
pages that have been sent before.
"""

import time

from kept import FAST, Kept

from neuron_vm import MachineError

BEGIN_S = 300
# A machine of this shape has some 200 MiB in use.
SLOW = 16 << 20
# Of the program; more, when it has ended before the last migration.
ROUNDS = (15000, 60000, 240000)
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


def migrated_while_it_ran(folder, rounds):
    """Several migrations, one behind the other. False: the program has ended too early."""
    kept = Kept(folder, f"{SCRIBBLE} {rounds}", prepare=["driver"])
    with kept.vm:
        kept.wait_for("scribble: begins", BEGIN_S)
        try:
            for i in range(TIMES):
                print(f"{rounds} rounds: migration {i + 1} of {TIMES}")
                migrate_slowly(kept)
                kept.load_file()
        except MachineError:
            if "\nstatus " not in kept.text():
                raise
            return False
        assert "scribble: HBM is as written" in kept.end()
    return True


def test_hbm_is_written_meanwhile(folder):
    """What the guest and the chip write while HBM is sent arrives."""
    assert any(migrated_while_it_ran(folder / str(rounds), rounds) for rounds in ROUNDS), \
        "the program has always ended too early"
