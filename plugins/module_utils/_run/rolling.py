# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Adds to a step whether it rolls workers, and why."""

from __future__ import annotations

from dataclasses import replace

from .._guard.state import ClusterState
from .._plan.plan import CREATE, Step
from .._plan.pools import LivePool
from .._pool.pool import Pool


def with_roll(step: Step, desired: Pool, live: LivePool | None, cluster: ClusterState) -> Step:
    if step.action == CREATE or live is None:
        return step
    return replace(step, rolls_workers=None)
