# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every pool, or a selection, with what it boots from, what the guards say, and how far it is."""

from __future__ import annotations

from typing import Any

from .._guard.judge import judge_pools, with_published
from .._guard.report import describe_pool
from .._plan.plan import Plan
from .._pool.pool import Pool
from .entry import Session
from .options import windows_option
from .pool_wait import progress_of
from .results import outcome
from .site_state import read_site


def node_pools_info(session: Session) -> dict[str, Any]:
    """Job of module node_pools_info."""
    params = session.params
    namespaces: list[str] = params["namespaces"]
    windows = windows_option(params["talos_windows"])
    site = read_site(session.client, namespaces, every_claim=True, talos_windows=windows)
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
    described = [describe_pool(pool, site.cluster) for pool in with_published(pools, site.cluster)]
    reports = [
        {**about, **report, "would_be_refused": by_subject.get(pool.subject, [])}
        for pool, about, report in zip(pools, described, progress_of(pools, site), strict=True)
    ]
    return outcome(Plan(), verdict, pools=reports, unread=dict(site.unread))
