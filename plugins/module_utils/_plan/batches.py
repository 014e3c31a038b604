# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which pools are written next. Nothing is remembered: the answer follows from the plan and from what rolls right now."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

Key = tuple[str, str]  # namespace and name of a pool


@dataclass(frozen=True)
class Limits:
    """0 is no limit. ``canaries`` are written before all others, and alone."""

    batch_size: int = 0
    max_rolling: int = 0
    canaries: tuple[Key, ...] = ()

    @property
    def batched(self) -> bool:
        return bool(self.batch_size or self.max_rolling or self.canaries)


def next_batch(
    waiting: Sequence[Key], rolls: Mapping[Key, bool | None], disturbed: Collection[Key], limits: Limits
) -> tuple[Key, ...]:
    """The next pools of those that wait to be written, in their order; () when none waits.

    ``disturbed`` are waiting pools whose workers are being replaced already, by a change that was interrupted or went wrong. They go
    first: a change of theirs rolls no pool that stands still, so what may roll at a time is kept even while going back. ``rolls``
    says which pools a change rolls; what cannot be told (None) counts.
    """
    canaries = set(limits.canaries)
    for group in (
        [key for key in waiting if key in disturbed],
        [key for key in waiting if key in canaries],
        list(waiting),
    ):
        if group:
            return tuple(_fitting(group, rolls, limits))
    return ()


def _fitting(group: Sequence[Key], rolls: Mapping[Key, bool | None], limits: Limits) -> Iterator[Key]:
    taken = rolling = 0
    for key in group:
        moves = rolls.get(key, False) is not False
        if (limits.batch_size and taken >= limits.batch_size) or (moves and 0 < limits.max_rolling <= rolling):
            continue
        taken, rolling = taken + 1, rolling + moves
        yield key
