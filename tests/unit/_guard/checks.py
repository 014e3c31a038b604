# SPDX-License-Identifier: Apache-2.0
"""The tables as plain checks, each saying whether a row's answer is wrong; what the mutation run asks again and again."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._guard import judge
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.state import ClusterState
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool

from tests.conformance import cases

from .build import NAMESPACE
from .catalogs import CATALOG_ROWS, CatalogRow
from .table import POOL_ROWS, PoolRow

__all__ = [
    "CATALOG_ROWS",
    "POOL_ROWS",
    "catalog_row",
    "pool_row",
    "recorded_catalogs",
    "recorded_pools",
]


def pool_row(row: PoolRow) -> bool:
    """Whether a pool row is answered wrongly."""
    verdict = judge.judge_pools([Pool.named(NAMESPACE, row.name, row.spec)], row.state())
    answer = tuple(item.id for item in verdict.refusals), tuple(item.id for item in verdict.advice)
    return answer != (row.says, row.hints) or verdict.not_judged != ()


def catalog_row(row: CatalogRow) -> bool:
    """Whether a catalog row is answered wrongly."""
    verdict = judge.judge_catalog(row.values, ClusterState.from_objects(row.objects))
    answer = tuple(item.id for item in verdict.refusals), tuple(item.id for item in verdict.advice)
    return answer != (row.says, row.hints) or verdict.not_judged != ()


@functools.cache
def recorded_pools() -> list[Mapping[str, Any]]:
    return cases.load(cases.POOLS)


@functools.cache
def recorded_catalogs() -> list[Mapping[str, Any]]:
    return cases.load(cases.CATALOGS)
