# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How far pools are: release, machines, boot disks. Judges what was read; asks nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .._pool.objects import HelmRelease, Machine, MachineDeployment
from .._pool.pool import Pool
from .._pool.source import Source
from .._storage.golden import RESTART_LIMIT
from .._storage.objects import DataVolume
from .._usage.disks import cloned_disks
from .waiting import FAILED, READY, ReleaseState, release_state

Place = tuple[str, str]  # namespace and name of a MachineDeployment


@dataclass(frozen=True)
class PoolProgress:
    """One pool. ``deployment`` is None when there is none, or when MachineDeployments were not read (``machines_read`` false).

    ``fleeting`` are troubles that often pass within seconds, ``lasting`` those that do not.
    """

    pool: Pool
    source: Source
    release: ReleaseState
    wanted_workers: int
    deployment: MachineDeployment | None = None
    machines_read: bool = True
    finished: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    lasting: tuple[str, ...] = ()
    fleeting: tuple[str, ...] = ()

    @property
    def released(self) -> bool:
        return self.release.state == READY

    @property
    def disks_ready(self) -> int:
        """Disks of a pool that boots over HTTP carry no mark; each of its ready machines has one."""
        if self.source.clones:
            return len(self.finished)
        return self.deployment.ready_replicas if self.deployment else 0

    @property
    def complete(self) -> bool:
        """The release is applied and every worker runs what it says. Without machines to look at, the disks have to do."""
        if not self.released or self.unfinished:
            return False
        if not self.machines_read:
            return self.disks_ready >= self.wanted_workers
        return self.deployment is not None and self.deployment.settled(self.wanted_workers)

    @property
    def trouble(self) -> str:
        """Why waiting alone will not help, blank when it may."""
        if self.release.state == FAILED:
            return f"{self.release.message} ({self.release.reason})"
        return "; ".join(self.lasting)

    @property
    def rolling(self) -> bool:
        return self.deployment is not None and self.deployment.updating

    def text(self) -> str:
        if not self.released:
            return f"{self.pool.subject}: release {self.release.state} ({self.release.message or self.release.reason})"
        parts = [f"{self.disks_ready} of {self.wanted_workers} worker disks"]
        if self.deployment is not None:
            found = self.deployment
            parts = [
                f"{found.ready_replicas} of {found.live_replicas} workers ready, {found.updated_replicas} up to date"
            ]
            if found.live_replicas < self.wanted_workers:
                parts.append(f"{self.wanted_workers} wanted")
        elif self.machines_read:
            parts = ["no MachineDeployment yet"]
        if self.unfinished:
            parts.append(f"unfinished: {', '.join(self.unfinished)}")
        return f"{self.pool.subject}: " + "; ".join([", ".join(parts), *self.lasting, *self.fleeting])

    def as_dict(self) -> dict[str, Any]:
        return {
            "namespace": self.pool.namespace,
            "name": self.pool.name,
            "cluster": self.pool.cluster,
            "pool": self.pool.pool,
            "source": self.source.as_dict(),
            "release": self.release.as_dict(),
            "workers": {
                "wanted": self.wanted_workers,
                "disks_ready": self.disks_ready,
                "disks_pending": len(self.unfinished),
            },
            "rollout": self._rollout(),
        }

    def _rollout(self) -> dict[str, Any] | None:
        """Null when nothing is known of machines."""
        found = self.deployment
        if found is None:
            return None
        return {
            "replicas": found.live_replicas,
            "updated": found.updated_replicas,
            "ready": found.ready_replicas,
            "rolling": found.updating,
            "complete": self.complete,
        }


def wanted_workers(pool: Pool) -> int:
    value = pool.values.get("minReplicas")
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def disk_trouble(volume: DataVolume) -> tuple[str, bool]:
    """What is wrong with a disk by the predicate that KubeVirt itself uses, and whether it is final; blank when nothing is.

    A failed attempt to fill a disk is not: CDI tries again. After some it is taken for final, as with goldens.
    """
    if volume.phase == "Failed":
        return f"disk {volume.name} failed", True
    for condition in volume.conditions:
        said = f"disk {volume.name}: {condition.message or condition.reason}"
        if condition.type == "Running" and condition.status == "False" and condition.reason == "Error":
            return said, volume.restarts >= RESTART_LIMIT
        if condition.type == "Running" and condition.status == "False" and condition.reason == "ImagePullFailed":
            return said, True
        if condition.type == "Bound" and condition.status != "True" and condition.reason == "ErrExceededQuota":
            return said, True
    return "", False


class Workers:
    """Looks up what belongs to a pool in one list of each kind; None for MachineDeployments means that they were not read."""

    def __init__(
        self,
        volumes: Iterable[DataVolume],
        deployments: Iterable[MachineDeployment] | None,
        machines: Iterable[Machine] = (),
    ) -> None:
        self.machines_read = deployments is not None
        self._deployments = {(one.meta.namespace, one.meta.name): one for one in deployments or ()}
        self._machines: dict[Place, list[Machine]] = {}
        for machine in machines:
            if machine.deployment:
                self._machines.setdefault((machine.meta.namespace, machine.deployment), []).append(machine)
        self._marked: dict[Place, list[DataVolume]] = {}
        self._owned: dict[tuple[str, str], list[DataVolume]] = {}
        for volume in volumes:
            if volume.pool:
                self._marked.setdefault((volume.namespace, volume.pool), []).append(volume)
                continue
            for kind, name, _ in volume.meta.owners:
                if kind == "VirtualMachine":
                    self._owned.setdefault((volume.namespace, name), []).append(volume)

    def progress(self, pool: Pool, source: Source, release: HelmRelease | None) -> PoolProgress:
        place = (pool.namespace, pool.object_name)
        machines = self._machines.get(place, ())
        if source.clones:
            mine = cloned_disks(pool, source.golden, self._marked.get(place, ()))
            finished, unfinished = mine.finished, mine.unfinished
            volumes = [one for one in self._marked.get(place, ()) if one.name in unfinished]
        else:
            found = [one for machine in machines for one in self._owned.get((place[0], machine.virtual_machine), ())]
            volumes = [one for one in found if one.phase != "Succeeded" and not one.meta.deleted]
            finished = tuple(one.name for one in found if one.phase == "Succeeded")
            unfinished = tuple(sorted(one.name for one in volumes))
        troubles = [disk_trouble(volume) for volume in volumes]
        failures = [(f"machine {one.meta.name}: {one.failure}", True) for one in machines if one.failure]
        every = [*troubles, *failures]
        return PoolProgress(
            pool=pool,
            source=source,
            release=release_state(release),
            wanted_workers=wanted_workers(pool),
            deployment=self._deployments.get(place),
            machines_read=self.machines_read,
            finished=finished,
            unfinished=unfinished,
            lasting=tuple(said for said, final in every if said and final),
            fleeting=tuple(said for said, final in every if said and not final),
        )
