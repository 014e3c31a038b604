# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.batches import Key, Limits, next_batch
from hypothesis import given
from hypothesis import strategies as st

A, B, C, D, E = (("t", name) for name in "abcde")
ALL = [A, B, C, D, E]
ROLLS: dict[Key, bool | None] = dict.fromkeys(ALL, True)


@pytest.mark.parametrize(
    ("waiting", "rolls", "disturbed", "limits", "expected"),
    [
        ([], ROLLS, [], Limits(2), []),
        (ALL, ROLLS, [], Limits(), ALL),
        (ALL, ROLLS, [], Limits(2), [A, B]),
        ([C, D], ROLLS, [], Limits(5), [C, D]),
        (ALL, ROLLS, [], Limits(3, 1), [A]),
        # pools that keep their workers fill the batch
        (ALL, {**ROLLS, C: False, D: False}, [], Limits(3, 1), [A, C, D]),
        (ALL, {**ROLLS, B: None}, [], Limits(0, 2), [A, B]),
        (ALL, {}, [], Limits(0, 1), ALL),
        # canaries first, alone, and no more of them than a batch may hold
        (ALL, ROLLS, [], Limits(3, canaries=(C,)), [C]),
        (ALL, ROLLS, [], Limits(1, canaries=(C, D)), [C]),
        (ALL, ROLLS, [], Limits(canaries=(C, D)), [C, D]),
        ([A, B], ROLLS, [], Limits(canaries=(C,)), [A, B]),
        # what rolls already goes before canaries: nothing that stands still is moved meanwhile
        (ALL, ROLLS, [D, E], Limits(3, canaries=(A,)), [D, E]),
        (ALL, ROLLS, [C, D, E], Limits(2), [C, D]),
    ],
)
def test_the_next_batch(
    waiting: list[Key], rolls: dict[Key, bool | None], disturbed: list[Key], limits: Limits, expected: list[Key]
) -> None:
    assert list(next_batch(waiting, rolls, disturbed, limits)) == expected


@given(
    st.lists(st.integers(0, 30), unique=True),
    st.dictionaries(st.integers(0, 30), st.sampled_from([True, False, None])),
    st.sets(st.integers(0, 30)),
    st.integers(0, 4),
    st.integers(0, 4),
    st.lists(st.integers(0, 30), unique=True, max_size=4),
)
def test_every_pool_is_written_once_and_no_batch_is_too_large(
    numbers: list[int], told: dict[int, bool | None], moving: set[int], size: int, most: int, canaries: list[int]
) -> None:
    keys = [("t", str(number)) for number in numbers]
    rolls = {("t", str(number)): value for number, value in told.items()}
    limits = Limits(size, most, tuple(("t", str(number)) for number in canaries))
    disturbed = {("t", str(number)) for number in moving}
    left, written = list(keys), []
    while batch := next_batch(left, rolls, disturbed, limits):
        assert not size or len(batch) <= size
        assert not most or sum(rolls.get(key, False) is not False for key in batch) <= most
        first = set(batch) & set(limits.canaries)
        assert not first or set(batch) <= set(limits.canaries) or set(batch) <= disturbed
        written += batch
        left = [key for key in left if key not in batch]
        disturbed -= set(batch)
    assert sorted(written) == sorted(keys)
