# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every pool, or a selection, with what it boots from, what the guards say, and how far it is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from .._guard.case import PoolCase
from .._guard.judge import judge_pools, with_published
from .._guard.report import describe_pool
from .._guard.state import ClusterState
from .._plan.plan import Plan
from .._pool.pool import Pool
from .._storage.disk_report import DiskReport, disk_report, summary
from .entry import Session
from .options import windows_option
from .pool_wait import progress_of
from .results import outcome
from .site_state import read_site, with_clone_settings


def node_pools_info(session: Session) -> dict[str, Any]:
    """Job of module node_pools_info."""
    params = session.params
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
    pools.sort(key=lambda pool: (pool.namespace, pool.name))
    verdict = judge_pools(pools, site.cluster)
    by_subject: dict[str, list[str]] = {}
    for finding in verdict.refusals:
        by_subject.setdefault(finding.subject.split(" ")[0], []).append(finding.id)
    published = with_published(pools, site.cluster)
    disks = [_disks(pool, site.cluster, params["stalled_after"]) for pool in pools]
    reports = [
        {
            **describe_pool(full, site.cluster),
            **report,
            "would_be_refused": by_subject.get(pool.subject, []),
            "clone": _clone(full, site.cluster),
            "disks": [disk.as_dict() for disk in mine],
            "disk_summary": summary(mine),
        }
        for pool, full, report, mine in zip(pools, published, progress_of(pools, site), disks, strict=True)
    ]
    every = summary(disk for mine in disks for disk in mine)
    return outcome(Plan(), verdict, pools=reports, disk_summary=every, unread=dict(site.unread))


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
