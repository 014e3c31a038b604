# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which disks are a pool's. Names are never parsed: pool md0 is a prefix of pool md0-gpu."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .._pool.pool import Pool
from .._storage.objects import DataVolume


@dataclass(frozen=True)
class Disks:
    """Boot disks of one pool that stem from one golden."""

    finished: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return len(self.finished) + len(self.unfinished)


def cloned_disks(pool: Pool, golden: str, volumes: Iterable[DataVolume]) -> Disks:
    """Disks whose two annotations name exactly this pool and this golden, in the pool's namespace."""
    mine = [
        volume
        for volume in volumes
        if volume.namespace == pool.namespace and volume.pool == pool.object_name and volume.golden == golden
    ]
    finished = tuple(sorted(volume.name for volume in mine if volume.phase == "Succeeded"))
    return Disks(finished, tuple(sorted(volume.name for volume in mine if volume.phase != "Succeeded")))
