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
from .goldens import IMPORTS, RETIREMENTS
from .table import POOL_ROWS, PoolRow

__all__ = [
    "CATALOG_ROWS",
    "IMPORTS",
    "POOL_ROWS",
    "RETIREMENTS",
    "catalog_row",
    "import_row",
    "pool_row",
    "recorded_catalogs",
    "recorded_pools",
    "retirement_row",
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


def import_row(row: tuple[str, Any, str]) -> bool:
    """Whether a row of goldens to import is answered wrongly."""
    verdict = judge.judge_import(row[1])
    answer = [item.id for item in (*verdict.refusals, *verdict.advice)]
    return answer != row[2].split() or verdict.not_judged != ()


def retirement_row(row: tuple[str, Any, str, str]) -> bool:
    """Whether a row of goldens to retire is answered wrongly."""
    verdict = judge.judge_retirement(row[1])
    answer = [item.id for item in verdict.refusals], [item.id for item in verdict.advice]
    return answer != (row[2].split(), row[3].split())


@functools.cache
def recorded_pools() -> list[Mapping[str, Any]]:
    return cases.load(cases.POOLS)


@functools.cache
def recorded_catalogs() -> list[Mapping[str, Any]]:
    return cases.load(cases.CATALOGS)
