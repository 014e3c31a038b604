# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which disks are a pool's, and who uses a golden. Names are never parsed: pool md0 is a prefix of pool md0-gpu."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .._image.golden import GOLDEN_NAMESPACE
from .._pool.pool import Pool
from .._pool.source import resolve_source
from .._storage.objects import DataVolume

DECLARED, CLONING, CLONED = "declared", "cloning", "cloned"


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


@dataclass(frozen=True)
class User:
    """Somebody who uses a golden: a pool that declares it (at zero workers too), or a disk cloned or being cloned from it."""

    how: str
    namespace: str
    name: str

    def as_dict(self) -> dict[str, Any]:
        return {"how": self.how, "namespace": self.namespace, "name": self.name}


def users_by_golden(pools: Sequence[Pool], volumes: Iterable[DataVolume]) -> dict[str, list[User]]:
    """golden name -> users. A pool's own defaults are resolved, so that a form without a version counts too."""
    users: dict[str, list[User]] = {}
    for pool in pools:
        source = resolve_source(pool.values)
        if source.clones:
            users.setdefault(source.golden, []).append(User(DECLARED, pool.namespace, pool.name))
    for volume in volumes:
        golden = volume.golden
        if not golden and volume.source_claim and volume.source_claim[0] == GOLDEN_NAMESPACE:
            golden = volume.source_claim[1]
        if golden:
            how = CLONED if volume.phase == "Succeeded" else CLONING
            users.setdefault(golden, []).append(User(how, volume.namespace, volume.name))
    return users
