# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options of how pools are written: how many at a time, which first, which never."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .._plan.batches import Key, Limits
from .._pool.pool import Pool
from .failures import OptionFailure
from .options import shown

BATCH_SPEC: dict[str, Any] = {
    "parallel": {"type": "int", "default": 4},
    "batch_size": {"type": "int", "default": 0},
    "max_rolling_pools": {"type": "int", "default": 0},
    "canary": {"type": "raw"},
    "pause": {"type": "float", "default": 0.0},
    "max_failures": {"type": "int", "default": 0},
    "frozen": {"type": "list", "elements": "str", "default": []},
}
_MOST_PARALLEL = 32


def batch_limits(params: Mapping[str, Any], declared: Sequence[Pool]) -> Limits:
    """Errors: OptionFailure."""
    for name in ("batch_size", "max_rolling_pools", "max_failures", "pause"):
        if params[name] < 0:
            raise OptionFailure(name, f"0 or more is expected, not {shown(params[name])}")
    if not 1 <= params["parallel"] <= _MOST_PARALLEL:
        raise OptionFailure("parallel", f"1 to {_MOST_PARALLEL} is expected, not {shown(params['parallel'])}")
    frozen = frozen_option(params["frozen"])
    canaries = _canaries(params["canary"], [pool for pool in declared if pool.subject not in frozen])
    limits = Limits(params["batch_size"], params["max_rolling_pools"], canaries)
    if limits.batched and params["wait"] != "workers":
        raise OptionFailure(
            "wait",
            f"batches need workers, not {shown(params['wait'])}: a batch begins when the workers of the last one are replaced",
        )
    return limits


def _canaries(value: Any, declared: Sequence[Pool]) -> tuple[Key, ...]:
    if value is None or value == "":
        return ()
    if isinstance(value, str) and re.fullmatch(r"[0-9]+", value.strip()):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return tuple((pool.namespace, pool.name) for pool in declared[:value])
    named = [value] if isinstance(value, str) else value
    if not isinstance(named, (list, tuple)):
        raise OptionFailure("canary", f"a number, or a list of namespace/name is expected, not {shown(value)}")
    known = {pool.subject: (pool.namespace, pool.name) for pool in declared}
    for name in named:
        if name not in known:
            raise OptionFailure(
                "canary",
                f"{shown(name)} is none of the pools of this task; give namespace/name as in tenant-acme/shop-md0",
            )
    return tuple(known[name] for name in named)


def frozen_option(value: Sequence[str]) -> frozenset[str]:
    """Subjects that are never written. A list for a whole site is fine; a name that can be no pool's is refused."""
    for name in value:
        if not re.fullmatch(r"[^/\s]+/[^/\s]+", name):
            raise OptionFailure("frozen", f"namespace/name is expected, as in tenant-acme/shop-md0, not {shown(name)}")
    return frozenset(value)
