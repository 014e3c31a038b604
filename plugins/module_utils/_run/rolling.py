# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Adds to a step whether it rolls workers, and why."""

from __future__ import annotations

from dataclasses import replace

from .._guard.judge import with_published
from .._guard.report import resolved_class
from .._guard.state import ClusterState
from .._plan.plan import CREATE, Step
from .._plan.pools import LivePool
from .._pool.pool import Pool
from .._pool.rollout import predict_roll


def with_roll(step: Step, desired: Pool, live: LivePool | None, cluster: ClusterState) -> Step:
    """A new pool rolls nothing. For a live one, what would run is compared with the MachineDeployment that runs."""
    if step.action == CREATE or live is None:
        return step
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
    return replace(step, rolls_workers=found.rolls, roll_reasons=found.reasons + found.notes)
