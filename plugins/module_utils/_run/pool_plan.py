# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One look at the declared pools: what differs, what the guards say, which workers a change replaces."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from .._guard.findings import Finding, Verdict
from .._guard.judge import judge_pools, with_published
from .._image.catalog import Catalog
from .._plan.batches import Key
from .._plan.plan import Plan, Step
from .._plan.pools import pool_after, pool_step
from .._pool.pool import Pool
from .._pool.rollout import RollVerdict
from .entry import Session
from .failures import Refusal
from .options import catalog_option, windows_option
from .pool_progress import PoolProgress
from .pool_wait import progress_of
from .results import outcome, settled_by
from .rolling import concerned_by, with_roll
from .site_state import SiteState, blank_class, read_site, with_clone_settings

FROZEN = "frozen"


def key_of(pool: Pool) -> Key:
    return pool.namespace, pool.name


@dataclass(frozen=True)
class Prepared:
    """``pools`` as they will be, in declared order. ``held`` are steps that would be taken were their pools not frozen."""

    declared: Mapping[Key, Pool]
    pools: tuple[Pool, ...]
    steps: Mapping[Key, Step]
    held: Mapping[Key, Step]
    rolls: Mapping[Key, RollVerdict]
    freezing: Mapping[Key, Mapping[str, Any]]
    verdict: Verdict
    site: SiteState

    @property
    def plan(self) -> Plan:
        return Plan(tuple(self.steps.values()))

    @cached_property
    def progress(self) -> Sequence[PoolProgress]:
        """How far the pools are, by what was read for this look."""
        return progress_of(self.pools, self.site)

    def reports(self, progress: Sequence[PoolProgress] | None = None) -> list[dict[str, Any]]:
        """The result's ``pools``."""
        return [self._report(one) for one in (self.progress if progress is None else progress)]

    def _report(self, one: PoolProgress) -> dict[str, Any]:
        key = key_of(one.pool)
        step, held, roll = self.steps.get(key), self.held.get(key), self.rolls.get(key)
        action = step.action if step else FROZEN if held else "none"
        return {
            **one.as_dict(),
            "action": action,
            "reason": step.reason if step else held.reason if held else "",
            "rolls_workers": step.rolls_workers if step else False,
            "roll": roll.as_dict() if roll else None,
            "freezes_defaults": sorted(self.freezing.get(key, ())),
            "concerned": concerned_by(one.pool, self.site.cluster).as_dict(),
        }

    def outcome(self, plan: Plan | None = None, progress: Sequence[PoolProgress] | None = None) -> dict[str, Any]:
        """The module's result."""
        return outcome(plan or self.plan, self.verdict, pools=self.reports(progress))


def prepare(session: Session, declared: Sequence[Pool], frozen: Collection[str]) -> Prepared:
    """Read the site and judge. Errors: Refusal (nothing has been written by this look), KubeError."""
    params = session.params
    given = params["planned_catalog"]
    planned = Catalog.from_values(catalog_option(given, "planned_catalog")) if given else None
    site = read_site(
        session.client,
        [pool.namespace for pool in declared],
        blank_class([pool.spec for pool in declared]),
        # A real run imports goldens first: what does not exist then is missing.
        planned if session.check_mode else None,
        windows_option(params["talos_windows"]),
    )
    after, steps, held, rolls = [], {}, {}, {}
    for pool in declared:
        key = key_of(pool)
        live = site.live.get(key)
        step = pool_step(pool, live)
        if step is None or pool.subject in frozen:
            after.append(pool.with_spec(live.spec) if live else pool)
            if step is not None:
                held[key] = step
            continue
        desired = pool_after(pool, live)
        after.append(desired)
        steps[key], roll = with_roll(step, desired, live, site.cluster)
        if roll is not None:
            rolls[key] = roll
    after = list(with_published(after, site.cluster))
    if steps:
        site = with_clone_settings(session.client, site)
    freezing = {key_of(pool): found for pool in after if key_of(pool) in steps and (found := _freezing(pool, site))}
    verdict = settled_by(params, _judge(after, steps, freezing, site))
    prepared = Prepared(
        {key_of(pool): pool for pool in declared}, tuple(after), steps, held, rolls, freezing, verdict, site
    )
    if verdict.refused:
        raise Refusal(verdict, **prepared.outcome(Plan()))
    return prepared


def _judge(
    pools: Sequence[Pool], steps: Mapping[Key, Step], freezing: Mapping[Key, Mapping[str, Any]], site: SiteState
) -> Verdict:
    """Refusals hold for pools that would be written; a pool that stays as it is gets the same finding as advice."""
    changed = [pool for pool in pools if key_of(pool) in steps]
    still = judge_pools([pool for pool in pools if key_of(pool) not in steps], site.cluster)
    advice = still.advice + tuple(
        replace(found, message=f"{found.message} (unchanged by this run)") for found in still.refusals
    )
    advice += tuple(_freeze(pool, freezing[key_of(pool)]) for pool in changed if key_of(pool) in freezing)
    return judge_pools(changed, site.cluster).plus(Verdict(advice=advice, not_judged=still.not_judged))


def _freezing(pool: Pool, site: SiteState) -> Mapping[str, Any]:
    """The first patch of a pool stores the defaults it was served with; they no longer follow the platform then."""
    release = site.cluster.release(pool.namespace, pool.release_name)
    live = site.live.get(key_of(pool))
    if release is None or live is None:
        return {}
    return {key: value for key, value in live.spec.items() if key not in release.values}


def _freeze(pool: Pool, frozen: Mapping[str, Any]) -> Finding:
    return Finding(
        "defaults-freeze",
        f"{pool.subject} spec",
        f"the platform stores today's defaults of {', '.join(frozen)} with this first change; they stop following the platform",
        "declare these fields yourself if they should move with your own data; nothing needs to be done otherwise",
        {"stored from now on": dict(frozen)},
    )
