# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pools that are alike need not be judged alike a thousand times.

A site has a handful of shapes of pools and thousands of pools. Rules that look at nothing of a pool's own say the same of all pools of one
shape; those that said nothing of the first are not asked again. What a rule did say is asked of every pool, for its own words.
"""

from __future__ import annotations

import marshal
from collections.abc import Collection, Sequence
from typing import Any

from .case import PoolCase
from .rule import Rule

# A cluster's name is part of a shape only where the published schema has an opinion on it.
_PLAIN_SCHEMA = frozenset({"type", "default", "description", "title"})


class Alike:
    """Which rules are still worth asking, shape by shape."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)
        self._left: dict[bytes, tuple[Rule, ...]] = {}

    def rules_for(self, shape: bytes | None) -> tuple[Rule, ...]:
        return self._rules if shape is None else self._left.get(shape, self._rules)

    def learn(self, shape: bytes | None, spoke: Collection[Rule]) -> None:
        """``spoke`` are the rules that had something to say of a pool of this shape."""
        if shape is not None and shape not in self._left:
            self._left[shape] = tuple(item for item in self._rules if item.own or item in spoke)


def shape_of(case: PoolCase) -> bytes | None:
    """All that a rule which is not ``own`` can depend on, beside what all pools share; None for what cannot be compared."""
    spec: dict[str, Any] = dict(case.pool.spec)
    known = case.state.pool_fields.properties.get("cluster")
    if (
        isinstance(spec.get("cluster"), str)
        and spec["cluster"]
        and (known is None or _PLAIN_SCHEMA.issuperset(known.schema))
    ):
        spec["cluster"] = "x"
    try:
        # Version 2 has no references, so equal values give equal bytes.
        return marshal.dumps((spec, id(case.pool.defaults), bool(case.pool.values_cluster), _disks(case)), 2)
    except (ValueError, TypeError):
        return None


def _disks(case: PoolCase) -> tuple[str, ...]:
    """What finished disks of the pool decide: that it has cloned (T1), and its class (T2)."""
    state = case.state
    if state.data_volumes is None or not state.disks_of(case.pool.namespace, case.pool.object_name):
        return ()
    if not case.cloned_disks:
        return ()
    claims = [state.claim(disk.namespace, disk.name) for disk in case.cloned_disks]
    return ("cloned", *(claim.storage_class for claim in claims if claim is not None))
