# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Adds to a step whether it rolls workers, why, how many of them, and how to go back."""

from __future__ import annotations

from dataclasses import replace

from .._guard.judge import with_published
from .._guard.report import resolved_class
from .._guard.state import ClusterState
from .._plan.plan import CREATE, Concerned, Step
from .._plan.pools import LivePool, way_back
from .._pool.pool import Pool
from .._pool.rollout import RollVerdict, predict_roll
from .._storage.quantity import bytes_of


def with_roll(
    step: Step, desired: Pool, live: LivePool | None, cluster: ClusterState
) -> tuple[Step, RollVerdict | None]:
    """A new pool rolls nothing. For a live one, what would run is compared with the MachineDeployment that runs."""
    if step.action == CREATE or live is None:
        return step, None
    current = Pool(desired.namespace, desired.cluster, desired.pool, live.spec)
    after, before = with_published((desired, current), cluster)
    classes = [resolved_class(pool, cluster) for pool in (after, before)]
    found = predict_roll(
        after,
        classes[0].value if classes[0] else None,
        None if cluster.cluster_values is None else cluster.values_of(desired.namespace),
        cluster.deployment(desired.namespace, desired.object_name),
        before,
        classes[1].value if classes[1] else None,
        live_read=cluster.machine_deployments is not None,
    )
    concerned = None if found.rolls is False else concerned_by(after, cluster)
    back = way_back(before, after)
    replaced = _replaced(found.rolls, concerned)
    effect = "; ".join(part for part in (replaced, f"to roll back, {back}" if back else "") if part)
    told = found.reasons + found.notes
    return replace(step, rolls_workers=found.rolls, roll_reasons=told, effect=effect, concerned=concerned), found


def _replaced(rolls: bool | None, concerned: Concerned | None) -> str:
    if rolls is False or concerned is None:
        return ""
    number = "an unknown number of" if concerned.workers is None else str(concerned.workers)
    workers = "worker" if concerned.workers == 1 else "workers"
    return f"{'replaces' if rolls else 'may replace'} {number} {workers}"


def concerned_by(pool: Pool, cluster: ClusterState) -> Concerned:
    """The workers of a pool, a boot disk for each, and what these take."""
    found = cluster.deployment(pool.namespace, pool.object_name)
    if cluster.machine_deployments is None:
        return Concerned()
    workers = 0 if found is None else found.live_replicas or found.replicas or 0
    size = bytes_of(pool.disk_size)
    return Concerned(workers, workers, None if size is None else workers * size)
