# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting for pools: releases first, then machines and their boot disks. What cannot get well by waiting is told at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._kube.client import Client
from .._kube.errors import KubeError
from .._kube.observe import Objects, Target, observe
from .._kube.resources import DATA_VOLUME, HELM_RELEASE, MACHINE, MACHINE_DEPLOYMENT, Resource
from .._pool.objects import HelmRelease, Machine, MachineDeployment
from .._pool.pool import Pool
from .._storage.objects import DataVolume
from .entry import Session
from .failures import WaitFailure
from .pool_progress import PoolProgress, Workers
from .site_state import SiteState

_SHOWN = 3
# A failed attempt that CDI makes good within this time is no reason to stop.
_PATIENCE = 5.0
_APP_SELECTOR = "apps.cozystack.io/application.kind=KubernetesNodes"
_PARSERS: Mapping[Resource, Callable[[Mapping[str, Any]], Any]] = {
    HELM_RELEASE: HelmRelease.from_api,
    MACHINE_DEPLOYMENT: MachineDeployment.from_api,
    MACHINE: Machine.from_api,
    DATA_VOLUME: DataVolume.from_api,
}


def progress_of(pools: Sequence[Pool], site: SiteState) -> list[PoolProgress]:
    """From what was read already; no request."""
    cluster = site.cluster
    workers = Workers(cluster.data_volumes or (), cluster.machine_deployments)
    return [workers.progress(pool, pool.source, cluster.release(pool.namespace, pool.release_name)) for pool in pools]


class _Parsed:
    """Typed objects of what is observed; each version of an object is read once, however often all of them are judged."""

    def __init__(self) -> None:
        self._known: dict[tuple[Resource, str, str], tuple[Any, Any]] = {}

    def of(self, resource: Resource, objects: Objects) -> list[Any]:
        found = []
        for (namespace, name), raw in objects.items():
            key = (resource, namespace, name)
            known = self._known.get(key)
            if known is None or known[0] is not raw:
                known = self._known[key] = (raw, _PARSERS[resource](raw))
            found.append(known[1])
        return found


@dataclass(frozen=True)
class Waited:
    """How a wait ended: the last look at every pool, and the subjects of those in trouble or late, with the reason."""

    found: Sequence[PoolProgress]
    unhealthy: Mapping[str, str] = field(default_factory=dict)
    timed_out: bool = False


class PoolWait:
    """Wait until every pool's release is applied and, with ``workers``, every worker of theirs runs what it says."""

    def __init__(
        self,
        session: Session,
        pools: Sequence[Pool],
        what: str,
        whole: Collection[Resource] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``whole`` are kinds known to be readable in all namespaces at once."""
        self.session, self.pools, self.what, self.clock = session, pools, what, clock
        self.targets = _targets(session.client, pools, what, whole)
        self.found: list[PoolProgress] = []
        self._parsed = _Parsed()
        self._sources = [pool.source for pool in pools]
        self._since: dict[str, float] = {}

    def run(self, seconds: float, tolerated: int = 0, before: str = "") -> Waited:
        """Until all are done, or more than ``tolerated`` are in trouble, or the time is over; the last two are no exceptions here.

        ``before`` begins each line of progress.
        """

        def judge(state: Mapping[Target, Objects]) -> bool:
            self._look({resource: _merged(state, resource) for resource in _PARSERS})
            self._tell(before)
            trouble = self._trouble()
            return len(trouble) > tolerated or all(self._done(one) or one.pool.subject in trouble for one in self.found)

        deadline = self.clock() + seconds
        while observe(self.session.client, self.targets, judge, max(deadline - self.clock(), 0.0)):
            # Watches of several kinds tell their news in no common order: what they agree on is read once more, the cause first.
            self._look(self._fresh())
            trouble = self._trouble()
            if len(trouble) > tolerated or all(self._done(one) or one.pool.subject in trouble for one in self.found):
                return Waited(self.found, trouble)
        trouble = self._trouble()
        late = {one.pool.subject: one.text() for one in self.found if not self._done(one)}
        return Waited(self.found, {**late, **trouble}, timed_out=True)

    def _fresh(self) -> dict[Resource, Objects]:
        found: dict[Resource, Objects] = {resource: {} for resource in _PARSERS}
        for target in self.targets:
            for raw in self.session.client.items(target.resource, target.namespace, target.selector):
                meta = raw.get("metadata") or {}
                found[target.resource][str(meta.get("namespace")), str(meta.get("name"))] = raw
        return found

    def _look(self, objects: Mapping[Resource, Objects]) -> None:
        typed = {resource: self._parsed.of(resource, found) for resource, found in objects.items()}
        releases = {(one.namespace, one.name): one for one in typed[HELM_RELEASE]}
        workers = Workers(typed[DATA_VOLUME], typed[MACHINE_DEPLOYMENT], typed[MACHINE])
        self.found = [
            workers.progress(pool, source, releases.get((pool.namespace, pool.release_name)))
            for pool, source in zip(self.pools, self._sources, strict=True)
        ]
        now = self.clock()
        fleeting = {said for one in self.found for said in one.fleeting}
        self._since = {said: self._since.get(said, now) for said in fleeting}

    def _trouble(self) -> dict[str, str]:
        """By subject, what cannot get well by waiting."""
        now, found = self.clock(), {}
        for one in self.found:
            said = one.trouble
            if not said and self.what == "workers":
                said = "; ".join(text for text in one.fleeting if now - self._since[text] >= _PATIENCE)
            if said:
                found[one.pool.subject] = said
        return found

    def _tell(self, before: str) -> None:
        still = [one for one in self.found if not self._done(one)]
        text = f"{before}{len(self.found) - len(still)} of {len(self.found)} pools done"
        shown = "".join(f"; {one.text()}" for one in still[:_SHOWN])
        more = f"; {len(still) - _SHOWN} more" if len(still) > _SHOWN else ""
        released = sum(one.released for one in self.found)
        troubles = " ".join(said for one in still for said in (*one.lasting, *one.fleeting))
        self.session.reporter.tell(f"{before} {len(still)} {released} {troubles}", text + shown + more)

    def _done(self, one: PoolProgress) -> bool:
        return one.released if self.what == "release" else one.complete


def failure_of(waited: Waited, seconds: float, **result: Any) -> WaitFailure:
    """What a wait that did not end well is told as."""
    count, total = len(waited.unhealthy), len(waited.found)
    pools = [one.as_dict() for one in waited.found]
    if waited.timed_out:
        text = f"Timed out after {seconds:g} s waiting for {count} of {total} pools: " + "; ".join(
            waited.unhealthy.values()
        )
        return WaitFailure(text, **{"pools": pools, **result, "timed_out": True, "unhealthy": dict(waited.unhealthy)})
    told = "; ".join(f"{subject}: {said}" for subject, said in waited.unhealthy.items())
    text = f"The platform refused or could not apply {count} of {total} pools: {told}"
    return WaitFailure(text, **{"pools": pools, **result, "unhealthy": dict(waited.unhealthy)})


def wait_gone(session: Session, pools: Sequence[Pool], what: str, seconds: float) -> None:
    """Until deleted pools are gone: releases and MachineDeployments, with ``workers`` machines too. Errors: WaitFailure."""
    targets = [one for one in _targets(session.client, pools, "workers") if one.resource != DATA_VOLUME]
    if what == "release":
        targets = [one for one in targets if one.resource != MACHINE]
    left: list[str] = []

    def judge(state: Mapping[Target, Objects]) -> bool:
        releases, deployments = _merged(state, HELM_RELEASE), _merged(state, MACHINE_DEPLOYMENT)
        machines = [Machine.from_api(raw) for raw in _merged(state, MACHINE).values()]
        count: dict[tuple[str, str], int] = {}
        for one in machines:
            count[one.meta.namespace, one.deployment] = count.get((one.meta.namespace, one.deployment), 0) + 1
        left.clear()
        for pool in pools:
            place = (pool.namespace, pool.object_name)
            still = [
                *(["its release"] if (pool.namespace, pool.release_name) in releases else []),
                *(["its MachineDeployment"] if place in deployments else []),
                *([f"{count[place]} machines"] if place in count else []),
            ]
            if still:
                left.append(f"{pool.subject} ({', '.join(still)})")
        session.reporter.tell(str(left), f"{len(pools) - len(left)} of {len(pools)} pools are gone")
        return not left

    if not observe(session.client, targets, judge, seconds):
        raise WaitFailure(
            f"Timed out after {seconds:g} s waiting for the end of {'; '.join(left)}. They are being deleted; look for what holds "
            "their finalizers, then run again.",
            changed=True,
            timed_out=True,
            left=list(left),
        )


def _merged(state: Mapping[Target, Objects], resource: Resource) -> Objects:
    found = [objects for target, objects in state.items() if target.resource == resource]
    return found[0] if len(found) == 1 else {key: raw for objects in found for key, raw in objects.items()}


def _targets(client: Client, pools: Iterable[Pool], what: str, whole: Collection[Resource] = ()) -> list[Target]:
    """What is watched. Machines are worth a look where they may be read; no wait fails for want of that right."""
    names = sorted({pool.namespace for pool in pools})
    targets = _places(client, HELM_RELEASE, names, whole, _APP_SELECTOR)
    if what == "workers":
        targets += _places(client, DATA_VOLUME, names, whole)
        targets += _places(client, MACHINE_DEPLOYMENT, names, whole)
        try:
            machines = _places(client, MACHINE, names, ())
            client.listing(MACHINE, machines[0].namespace, limit="1")
        except KubeError as error:
            if not (error.forbidden or error.not_found):
                raise
        else:
            targets += machines
    return targets


def _places(
    client: Client, resource: Resource, names: Sequence[str], whole: Collection[Resource], selector: str | None = None
) -> list[Target]:
    """One namespace, or all at once; one by one where only that is allowed."""
    if len(names) > 1 and resource in whole:
        return [Target(resource, None, selector)]
    if len(names) > 1:
        try:
            client.listing(resource, None, selector, limit="1")
        except KubeError as error:
            if not error.forbidden:
                raise
        else:
            return [Target(resource, None, selector)]
    return [Target(resource, name, selector) for name in names]
