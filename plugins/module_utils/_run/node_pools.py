# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Create, change or delete worker pools: all of them are read and judged before the first one is written."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .approved import EXPECTED_SPEC, check_approved
from .batch_options import BATCH_SPEC, batch_limits, frozen_option
from .entry import POLICY_SPEC, Session
from .lean import without_collector
from .options import pool_options
from .pool_plan import Prepared, prepare
from .pool_remove import remove
from .pool_rollout import Rollout

POOLS_SPEC: dict[str, Any] = {
    "pools": {"type": "list", "elements": "raw", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "planned_catalog": {"type": "dict"},
    "talos_windows": {"type": "dict"},
    "wait": {"type": "str", "choices": ["none", "release", "workers"], "default": "release"},
    "wait_timeout": {"type": "int", "default": 1200},
    **BATCH_SPEC,
    **POLICY_SPEC,
    **EXPECTED_SPEC,
}


def node_pools(session: Session, sleep: Callable[[float], None] = time.sleep) -> dict[str, Any]:
    """Job of module node_pools."""
    params = session.params
    frozen = frozen_option(params["frozen"])
    if params["state"] == "absent":
        return remove(session, pool_options(params["pools"], with_spec=False), frozen)
    declared = pool_options(params["pools"], with_spec=True)
    limits = batch_limits(params, declared)

    def look() -> Prepared:
        with without_collector():
            return prepare(session, declared, frozen)

    first = look()
    if params["expected_plan"]:
        check_approved(params, first.plan, **{**first.outcome(), "changed": False})
    if session.check_mode:
        return first.outcome()
    return Rollout(session, first, look, limits, sleep).run()
