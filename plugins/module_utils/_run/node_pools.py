# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Create, change or delete worker pools: all of them are read and judged before the first one is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._guard.findings import Finding, Verdict
from .._guard.judge import judge_pools
from .._image.catalog import Catalog
from .._kube.errors import KubeError
from .._kube.resources import KUBERNETES_NODES
from .._plan.plan import CREATE, DELETE, Plan, Step
from .._plan.pools import KIND, LivePool, dropped_fields, pool_after, pool_step
from .._pool.pool import Pool
from .entry import Session
from .failures import Failure, Refusal
from .options import catalog_option, pool_options, windows_option
from .pool_wait import PoolWait, progress_of
from .results import outcome, settled_by
from .rolling import with_roll
from .site_state import SiteState, blank_class, read_site, with_clone_settings


@dataclass(frozen=True)
class Prepared:
    pools: tuple[Pool, ...]  # as they will be
    steps: Mapping[tuple[str, str], Step]
    verdict: Verdict
    site: SiteState

    @property
    def plan(self) -> Plan:
        return Plan(tuple(self.steps.values()))


def node_pools(session: Session) -> dict[str, Any]:
    """Job of module node_pools."""
    params = session.params
    if params["state"] == "absent":
        return _remove(session, pool_options(params["pools"], with_spec=False))
    declared = pool_options(params["pools"], with_spec=True)
    planned = catalog_option(params["planned_catalog"], "planned_catalog") if params["planned_catalog"] else None
    prepared = _prepare(session, declared, Catalog.from_values(planned) if planned and session.check_mode else None)
    if not session.check_mode:
        _write(session, declared, prepared)
    waited = params["wait"] != "none" and not session.check_mode
    reports = PoolWait(session, prepared.pools, prepared.site, params["wait"]).run(prepared.plan) if waited else None
    return _result(prepared, reports if reports is not None else progress_of(prepared.pools, prepared.site))


def _result(prepared: Prepared, reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    shown = []
    for report in reports:
        step = prepared.steps.get((report["namespace"], report["name"]))
        shown.append(
            {
                **report,
                "action": step.action if step else "none",
                "rolls_workers": step.rolls_workers if step else False,
            }
        )
    return outcome(prepared.plan, prepared.verdict, pools=shown)


def _prepare(session: Session, declared: Sequence[Pool], planned: Catalog | None) -> Prepared:
    namespaces = [pool.namespace for pool in declared]
    windows = windows_option(session.params["talos_windows"])
    site = read_site(session.client, namespaces, blank_class([pool.spec for pool in declared]), planned, windows)
    after, steps = [], {}
    for pool in declared:
        live = site.live.get((pool.namespace, pool.name))
        desired = pool_after(pool, live)
        step = pool_step(pool, live)
        after.append(desired)
        if step is not None:
            steps[(pool.namespace, pool.name)] = with_roll(step, desired, live, site.cluster)
    if steps:
        site = with_clone_settings(session.client, site)
    verdict = settled_by(session.params, _judge(after, steps, site))
    prepared = Prepared(tuple(after), steps, verdict, site)
    if verdict.refused:
        raise Refusal(verdict, **outcome(Plan(), verdict, pools=list(progress_of(prepared.pools, site))))
    return prepared


def _judge(pools: Sequence[Pool], steps: Mapping[tuple[str, str], Step], site: SiteState) -> Verdict:
    """Refusals hold for pools that would be written; a pool that stays as it is gets the same finding as advice."""
    changed = [pool for pool in pools if (pool.namespace, pool.name) in steps]
    unchanged = [pool for pool in pools if (pool.namespace, pool.name) not in steps]
    still = judge_pools(unchanged, site.cluster)
    advice = still.advice + tuple(
        replace(found, message=f"{found.message} (unchanged by this run)") for found in still.refusals
    )
    freezing = tuple(finding for pool in changed for finding in _freeze(pool, site))
    return judge_pools(changed, site.cluster).plus(Verdict(advice=advice + freezing, not_judged=still.not_judged))


def _freeze(pool: Pool, site: SiteState) -> tuple[Finding, ...]:
    """The first patch of a pool stores the defaults it was served with; they no longer follow the platform then."""
    release = site.cluster.release(pool.namespace, pool.release_name)
    live = site.live.get((pool.namespace, pool.name))
    if release is None or live is None:
        return ()
    frozen = {key: value for key, value in live.spec.items() if key not in release.values}
    if not frozen:
        return ()
    found = Finding(
        "defaults-freeze",
        f"{pool.subject} spec",
        f"the platform stores today's defaults of {', '.join(frozen)} with this first change; they stop following the platform",
        "declare these fields yourself if they should move with your own data; nothing needs to be done otherwise",
        {"stored from now on": frozen},
    )
    return (found,)


def _write(session: Session, declared: Sequence[Pool], prepared: Prepared) -> None:
    done: list[str] = []
    for pool in declared:
        step = prepared.steps.get((pool.namespace, pool.name))
        if step is None:
            continue
        try:
            stored = _send(session, step, pool)
        except KubeError as error:
            raise Failure(
                f"{error}{_so_far(done)}", **{**_result(prepared, ()), **error.as_dict(), "written": done}
            ) from error
        done.append(pool.subject)
        lost = dropped_fields(pool, stored)
        if lost:
            raise Failure(
                f"{pool.subject}: the platform dropped {', '.join(lost)}; it does not know these fields{_so_far(done)}",
                **{**_result(prepared, ()), "written": done},
            )


def _so_far(done: Sequence[str]) -> str:
    return f" (written so far: {', '.join(done)}; run again to go on)" if done else " (nothing was written)"


def _send(session: Session, step: Step, pool: Pool) -> Mapping[str, Any]:
    """One write; the aggregated API answers with the object as it is stored, defaults filled in."""
    client = session.client
    if step.action != CREATE:
        return client.merge_patch(KUBERNETES_NODES, step.name, step.payload, step.namespace)
    try:
        return client.create(KUBERNETES_NODES, step.payload, step.namespace)
    except KubeError as error:
        # An existing name is answered with 500. Somebody (or our own lost answer) created it meanwhile: lay ours over it.
        if error.status != 500 or "already exists" not in error.cause:
            raise
        found = client.get(KUBERNETES_NODES, step.name, step.namespace)
        if found is None:
            raise
        again = pool_step(pool, LivePool.from_api(found))
        if again is None:
            return found
        return client.merge_patch(KUBERNETES_NODES, again.name, again.payload, again.namespace)


def _remove(session: Session, pools: Sequence[Pool]) -> dict[str, Any]:
    """Delete pools. Workers and their disks go with the release; goldens stay."""
    names = sorted({pool.namespace for pool in pools})
    only = names[0] if len(names) == 1 else None
    live = {
        (found.namespace, found.name)
        for found in (LivePool.from_api(item) for item in session.client.items(KUBERNETES_NODES, only))
    }
    steps = {
        (pool.namespace, pool.name): Step(
            DELETE,
            KIND,
            pool.namespace,
            pool.name,
            "the pool is to be absent; its workers and disks go with it",
            rolls_workers=True,
        )
        for pool in pools
        if (pool.namespace, pool.name) in live
    }
    plan = Plan(tuple(steps.values()))
    if not session.check_mode:
        for step in plan.steps:
            session.client.delete(KUBERNETES_NODES, step.name, step.namespace)
        if session.params["wait"] != "none" and plan.steps:
            PoolWait.gone(session, pools)
    reports = [
        {
            "namespace": pool.namespace,
            "name": pool.name,
            "action": "delete" if (pool.namespace, pool.name) in steps else "none",
        }
        for pool in pools
    ]
    return outcome(plan, Verdict(), pools=reports)
