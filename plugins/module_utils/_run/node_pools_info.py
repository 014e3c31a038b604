# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every pool, or a selection, with what it boots from, what the guards say, and how far it is."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._guard.case import PoolCase
from .._guard.findings import Finding, Verdict
from .._guard.judge import judge_pools, with_published
from .._guard.report import describe_pool
from .._guard.state import ClusterState
from .._plan.plan import Plan
from .._pool.following import followed_defaults
from .._pool.pool import Pool
from .._pool.rollout import config_is_hashed
from .._storage.disk_report import DiskReport, disk_report, summary
from .entry import Session
from .lean import without_collector
from .options import windows_option
from .pool_progress import PoolProgress
from .pool_wait import progress_of
from .results import outcome
from .selecting import Where
from .site_state import read_site, with_clone_settings

INFO_SPEC: dict[str, Any] = {
    "namespaces": {"type": "list", "elements": "str", "default": []},
    "clusters": {"type": "list", "elements": "str", "default": []},
    "names": {"type": "list", "elements": "str", "default": []},
    "where": {"type": "str"},
    "talos_windows": {"type": "dict"},
    "stalled_after": {"type": "int", "default": 900},
}


def node_pools_info(session: Session) -> dict[str, Any]:
    """Job of module node_pools_info."""
    with without_collector():
        return _info(session)


def _info(session: Session) -> dict[str, Any]:
    params = session.params
    where = Where(params["where"])
    namespaces: list[str] = params["namespaces"]
    windows = windows_option(params["talos_windows"])
    site = read_site(session.client, namespaces, every_claim=True, talos_windows=windows)
    site = with_clone_settings(session.client, site)
    pools = [
        Pool.named(live.namespace, live.name, live.spec)
        for live in site.live.values()
        if (not namespaces or live.namespace in namespaces)
        and (not params["clusters"] or live.spec.get("cluster") in params["clusters"])
        and (not params["names"] or live.name in params["names"])
    ]
    pools = sorted(with_published(pools, site.cluster), key=lambda pool: (pool.namespace, pool.name))
    verdict = judge_pools(pools, site.cluster)
    refused: dict[str, list[str]] = {}
    for finding in verdict.refusals:
        refused.setdefault(_subject(finding), []).append(finding.id)
    chosen, kept = [], []
    for pool, progress in zip(pools, progress_of(pools, site), strict=True):
        mine = _disks(pool, site.cluster, params["stalled_after"])
        report = {
            **describe_pool(pool, site.cluster),
            **progress.as_dict(),
            "labels": dict(site.live[pool.namespace, pool.name].labels),
            "follows_defaults": _follows(pool, site.cluster),
            "would_be_refused": refused.get(pool.subject, []),
            "clone": _clone(pool, site.cluster),
            "disks": [disk.as_dict() for disk in mine],
            "disk_summary": summary(mine),
        }
        report["rollout"] = _rollout(progress, report["machine_template"])
        if where.accepts(report):
            chosen.append(report)
            kept.append((pool.subject, mine))
    subjects = {subject for subject, _ in kept}
    every = summary(disk for _, mine in kept for disk in mine)
    return outcome(Plan(), _about(verdict, subjects), pools=chosen, disk_summary=every, unread=dict(site.unread))


def _subject(finding: Finding) -> str:
    return finding.subject.split(" ")[0]


def _about(verdict: Verdict, subjects: Iterable[str]) -> Verdict:
    """The findings of the pools that were selected."""
    wanted = set(subjects)

    def kept(findings: Iterable[Finding]) -> tuple[Finding, ...]:
        return tuple(finding for finding in findings if _subject(finding) in wanted)

    return Verdict(kept(verdict.refusals), kept(verdict.advice), kept(verdict.not_judged), kept(verdict.accepted))


def _rollout(progress: PoolProgress, predicted: str) -> Mapping[str, Any]:
    """How far the machines are, and whether the template that runs is the one that the chart would render now."""
    found = progress.as_dict()["rollout"] or dict.fromkeys(("replicas", "updated", "ready", "rolling", "complete"))
    live = progress.deployment.template_name if progress.deployment else ""
    differs = live != predicted if live and predicted else None
    return {**found, "template": {"live": live, "predicted": predicted, "differs": differs}}


def _follows(pool: Pool, cluster: ClusterState) -> dict[str, Any] | None:
    """None when the pool's release was not read."""
    release = cluster.release(pool.namespace, pool.release_name)
    if release is None:
        return None
    live = cluster.deployment(pool.namespace, pool.object_name)
    return followed_defaults(pool, release.values, config_is_hashed(live) if live else None)


def _clone(pool: Pool, cluster: ClusterState) -> dict[str, Any] | None:
    predicted = PoolCase(pool, cluster).clone
    return predicted.as_dict() if predicted is not None else None


def _disks(pool: Pool, cluster: ClusterState, stalled_after: float) -> Sequence[DiskReport]:
    """Boot disks that are marked as this pool's, also those of an earlier golden."""
    now = time.time()
    return [
        disk_report(disk, cluster.claim(disk.namespace, disk.claim_name or disk.name), now, stalled_after)
        for disk in cluster.disks_of(pool.namespace, pool.object_name)
    ]
