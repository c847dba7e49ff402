# SPDX-License-Identifier: MIT
"""From where to where tiles live, and what is said when they do not fit."""

import re

import numpy as np
import pytest

import nki
import nki.isa as nisa
import nki.language as nl

# Two of these do not fit in SBUF at a time, nor nine banks in PSUM.
LARGE = 30 * 1024
BANK = 512


def numbers(*shape):
    """An array by chance."""
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def checked(kernel, *arrays, **options):
    """What it returns, with the check of the chip."""
    return nki.jit(kernel, platform_target="trn2", check=True, **options)(*arrays)


@pytest.mark.parametrize("schedule", [False, True])
def test_a_tile_lives_from_its_first_write_on(schedule):
    def kernel(a):
        out = nl.ndarray((6, 128, 64), nl.float32, buffer=nl.shared_hbm)
        tiles = [nl.ndarray((128, LARGE), nl.float32) for _ in range(6)]
        for i, tile in enumerate(tiles):
            nisa.memset(tile[:, 64:], 0.0)
            nisa.dma_copy(tile[:, :64], a[i])
            nisa.dma_copy(out[i], tile[:, :64])
        return out

    a = numbers(6, 128, 64)
    np.testing.assert_array_equal(checked(kernel, a, schedule=schedule), a)


def test_banks_are_taken_from_the_first_write_on():
    def kernel(a):
        out = nl.ndarray((12, 128, BANK), nl.float32, buffer=nl.shared_hbm)
        sums = [nl.ndarray((128, BANK), nl.float32, buffer=nl.psum) for _ in range(12)]
        x = nl.load(a)
        for i, total in enumerate(sums):
            nisa.tensor_scalar(total, x, nl.add, float(i))
            nisa.tensor_copy(result := nl.ndarray((128, BANK), nl.float32), total)
            nl.store(out[i], result)
        return out

    a = numbers(128, BANK)
    np.testing.assert_array_equal(checked(kernel, a),
                                  np.stack([a + np.float32(i) for i in range(12)]))


def test_tiles_of_loops_live_in_their_loops():
    """Each is made before both loops, and is in use in one of them."""
    def kernel(a):
        out = nl.ndarray((2, 128, 64), nl.float32, buffer=nl.shared_hbm)
        tiles = [nl.ndarray((128, LARGE), nl.float32) for _ in range(2)]
        for i, tile in enumerate(tiles):
            def body(_, i=i, tile=tile):
                nisa.dma_copy(tile[:, :64], a[i])
                nisa.tensor_scalar(tile[:, :64], tile[:, :64], nl.add, 1.0)
                nisa.dma_copy(out[i], tile[:, :64])
            nl.fori_loop(0, 3, body)
        return out

    a = numbers(2, 128, 64)
    np.testing.assert_array_equal(checked(kernel, a), a + np.float32(1))


def test_a_loop_keeps_what_its_next_round_needs():
    """The first round writes what the second one reads, so nothing else lies there."""
    def kernel(a):
        out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
        total = nl.ndarray((128, 64), nl.float32)
        seen = nl.ndarray((128, 64), nl.float32)
        nisa.memset(seen, 0.0)

        def body(_):
            nisa.tensor_copy(total, seen)
            for i in range(4):
                x = nl.ndarray((128, 12 * 1024), nl.float32)
                nisa.memset(x, float(i))
                nisa.tensor_tensor(total, total, x[:, :64], nl.add)
            nisa.tensor_copy(seen, total)
        nl.fori_loop(0, 3, body)
        nisa.dma_copy(y := nl.ndarray((128, 64), nl.float32), a)
        nisa.tensor_tensor(y, y, total, nl.add)
        nl.store(out, y)
        return out

    a = numbers(128, 64)
    np.testing.assert_array_equal(checked(kernel, a), a + np.float32(18))


def line_of(kernel, text):
    """The line of the first one that holds a text, in this file."""
    with open(__file__, encoding="utf-8") as file:
        lines = file.readlines()
    first = kernel.__code__.co_firstlineno
    return next(i for i in range(first, len(lines)) if text in lines[i - 1])


def test_the_message_names_the_tiles_of_sbuf():
    def kernel(a):
        small = nl.load(a)
        one = nl.ndarray((128, 20 * 1024), nl.float32)
        over = nl.ndarray((128, 25 * 1024), nl.float32)
        two = nl.ndarray((128, 28 * 1024), nl.float32)
        nisa.memset(over, 0.0)
        nisa.memset(one, 0.0)
        nisa.memset(two, 0.0)
        nisa.tensor_tensor(two[:, :64], one[:, :64], small, nl.add)

    with pytest.raises(nki.NkiCapacityError) as caught:
        checked(kernel, numbers(128, 64))
    assert re.search(
        rf"test_lives.py:{line_of(kernel, 'two = ')}: .*sbuf needs 192.25 KiB of 224 KiB in each "
        r"partition, but what is free is not in one piece: largest tiles are "
        rf"112 KiB from line {line_of(kernel, 'two = ')}, 80 KiB from line "
        rf"{line_of(kernel, 'one = ')}, 0.25 KiB", str(caught.value)), str(caught.value)


def test_the_message_names_the_tiles_of_psum():
    def kernel(a):
        x = nl.load(a)
        large = nl.ndarray((128, 2 * BANK), nl.float32, buffer=nl.psum)
        sums = [nl.ndarray((128, BANK), nl.float32, buffer=nl.psum) for _ in range(7)]
        for total in [large[:, :BANK]] + sums:
            nisa.tensor_copy(total, x)
        for total in [large[:, :BANK]] + sums:
            nisa.tensor_copy(x, total)

    with pytest.raises(nki.NkiCapacityError) as caught:
        checked(kernel, numbers(128, BANK))
    line = line_of(kernel, "sums = ")
    assert f"test_lives.py:{line}: " in str(caught.value)
    assert (f"psum needs 9 banks of 8: largest tiles are 4 KiB from line "
            f"{line_of(kernel, 'large = ')}, 2 KiB from line {line}, 2 KiB from line {line}"
            in str(caught.value))


def test_told_places_count():
    def kernel(a):
        told = nl.ndarray((128, BANK), nl.float32, buffer=nl.psum, address=(0, 2048))
        sums = [nl.ndarray((128, BANK), nl.float32, buffer=nl.psum) for _ in range(8)]
        x = nl.load(a)
        for total in [told] + sums:
            nisa.tensor_copy(total, x)
        for total in [told] + sums:
            nisa.tensor_copy(x, total)

    with pytest.raises(nki.NkiCapacityError,
                       match="needs 9 banks of 8, 2 KiB of it at places that the kernel tells"):
        checked(kernel, numbers(128, BANK))
