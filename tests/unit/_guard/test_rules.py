# SPDX-License-Identifier: Apache-2.0
"""Every row of the table says exactly what it should, in order, whatever the order of the objects."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.judge import judge_pools
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool

from .build import NAMESPACE
from .table import POOL_ROWS


def judged(item):
    return judge_pools([Pool.named(NAMESPACE, item.name, item.spec)], item.state())


@pytest.mark.parametrize("item", POOL_ROWS, ids=lambda item: item.id)
def test_row(item):
    verdict = judged(item)
    assert tuple(finding.id for finding in verdict.refusals) == item.says
    assert tuple(finding.id for finding in verdict.advice) == item.hints
    assert verdict.not_judged == ()
    for finding in (*verdict.refusals, *verdict.advice):
        assert finding.subject.startswith(f"{NAMESPACE}/{item.name}")
        assert finding.message
        assert finding.remedy


@pytest.mark.parametrize("item", [item for item in POOL_ROWS if len(item.objects) > 1], ids=lambda item: item.id)
def test_order_of_objects_does_not_matter(item):
    expected = judged(item)
    for seed in range(3):
        objects = list(item.objects)
        random.Random(seed).shuffle(objects)
        assert judged(replace(item, objects=tuple(objects))) == expected
