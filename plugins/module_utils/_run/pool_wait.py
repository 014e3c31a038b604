# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting for pools: releases first, then the boot disks of their workers. A refused release is told at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._kube.observe import Objects, Target, observe
from .._kube.resources import DATA_VOLUME, HELM_RELEASE, MACHINE_DEPLOYMENT
from .._plan.plan import Plan
from .._pool.objects import HelmRelease, MachineDeployment
from .._pool.pool import Pool
from .._pool.source import resolve_source
from .._storage.objects import DataVolume
from .entry import Session
from .failures import WaitFailure
from .site_state import SiteState
from .waiting import FAILED, PoolProgress, Workers, release_state

_SHOWN = 3
_APP_SELECTOR = "apps.cozystack.io/application.kind=KubernetesNodes"


def _report(progress: PoolProgress) -> dict[str, Any]:
    return {
        "namespace": progress.pool.namespace,
        "name": progress.pool.name,
        "cluster": progress.pool.cluster,
        "pool": progress.pool.pool,
        "source": progress.source.as_dict(),
        "release": progress.release.as_dict(),
        "workers": {
            "wanted": progress.wanted_workers,
            "disks_ready": progress.ready_workers,
            "disks_pending": len(progress.unfinished),
        },
    }


def _progress(
    pools: Sequence[Pool],
    releases: Iterable[HelmRelease],
    volumes: Sequence[DataVolume],
    deployments: Iterable[MachineDeployment],
) -> list[PoolProgress]:
    by_name = {(release.namespace, release.name): release for release in releases}
    ready = {(item.meta.namespace, item.meta.name): item.ready_replicas for item in deployments}
    workers = Workers(volumes, ready)
    return [
        workers.progress(
            pool, resolve_source(pool.values), release_state(by_name.get((pool.namespace, pool.release_name)))
        )
        for pool in pools
    ]


def _progress_at(pools: Sequence[Pool], site: SiteState) -> list[PoolProgress]:
    cluster = site.cluster
    return _progress(pools, cluster.helm_releases or (), cluster.data_volumes or (), cluster.machine_deployments or ())


def progress_of(pools: Sequence[Pool], site: SiteState) -> list[dict[str, Any]]:
    """Reports from what was read already; no request."""
    return [_report(item) for item in _progress_at(pools, site)]


class PoolWait:
    """Wait until every pool's release is Ready and, with ``workers``, the disks of its smallest number of workers are."""

    def __init__(self, session: Session, pools: Sequence[Pool], site: SiteState, what: str) -> None:
        self.session, self.pools, self.site, self.what = session, pools, site, what
        names = {pool.namespace for pool in pools}
        only = next(iter(names)) if len(names) == 1 else None
        self.releases = Target(HELM_RELEASE, only, _APP_SELECTOR)
        self.volumes = Target(DATA_VOLUME, only)
        self.deployments = Target(MACHINE_DEPLOYMENT, only)
        self.found: list[PoolProgress] = []

    def run(self, plan: Plan) -> list[dict[str, Any]]:
        """The reports at the end of the wait. Errors: WaitFailure."""
        if not plan.steps:
            self.found = _progress_at(self.pools, self.site)
            if self._done():
                return [_report(item) for item in self.found]
        targets = [self.releases] if self.what == "release" else [self.releases, self.volumes, self.deployments]
        seconds = float(self.session.params["wait_timeout"])
        if not observe(self.session.client, targets, self._judge, seconds):
            open_ones = [item.text() for item in self.found if not self._finished(item)]
            raise WaitFailure(
                f"Timed out after {seconds:g} s waiting for {len(open_ones)} of {len(self.pools)} pools: "
                + "; ".join(open_ones),
                changed=bool(plan.steps),
                plan=plan.as_dict(),
                timed_out=True,
                pools=[_report(item) for item in self.found],
            )
        return [_report(item) for item in self.found]

    def _judge(self, state: Mapping[Target, Objects]) -> bool:
        releases = [HelmRelease.from_api(item) for item in state[self.releases].values()]
        volumes = [DataVolume.from_api(item) for item in state.get(self.volumes, {}).values()]
        deployments = [MachineDeployment.from_api(item) for item in state.get(self.deployments, {}).values()]
        self.found = _progress(self.pools, releases, volumes, deployments)
        self._tell()
        return self._done()

    def _tell(self) -> None:
        still = [item for item in self.found if not self._finished(item)]
        text = f"{len(self.found) - len(still)} of {len(self.found)} pools done"
        shown = "".join(f"; {item.text()}" for item in still[:_SHOWN]) + (
            f"; {len(still) - _SHOWN} more" if len(still) > _SHOWN else ""
        )
        releases = sum(item.released for item in self.found)
        self.session.reporter.tell(f"{len(still)} {releases}", text + shown)

    def _finished(self, item: PoolProgress) -> bool:
        return item.released if self.what == "release" else item.complete

    def _done(self) -> bool:
        failed = [item for item in self.found if item.release.state == FAILED]
        if failed:
            texts = "; ".join(f"{item.pool.subject}: {item.release.message} ({item.release.reason})" for item in failed)
            raise WaitFailure(
                f"The platform refused or could not apply {len(failed)} of {len(self.found)} pools: {texts}",
                pools=[_report(item) for item in self.found],
            )
        return all(self._finished(item) for item in self.found)

    @staticmethod
    def gone(session: Session, pools: Sequence[Pool]) -> None:
        """Wait until the releases of deleted pools and their MachineDeployments are gone."""
        releases, deployments = Target(HELM_RELEASE, None, _APP_SELECTOR), Target(MACHINE_DEPLOYMENT)
        left: list[str] = []

        def judge(state: Mapping[Target, Objects]) -> bool:
            left[:] = [
                pool.subject
                for pool in pools
                if (pool.namespace, pool.release_name) in state[releases]
                or (pool.namespace, pool.object_name) in state[deployments]
            ]
            return not left

        seconds = float(session.params["wait_timeout"])
        if not observe(session.client, (releases, deployments), judge, seconds):
            raise WaitFailure(f"Timed out after {seconds:g} s waiting for the end of {', '.join(left)}", timed_out=True)
