# SPDX-License-Identifier: Apache-2.0
"""Judging pools together says what judging each of them alone says, whatever was judged before."""

from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.alike import shape_of
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.case import PoolCase
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.findings import Verdict
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.judge import judge_pools
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.state import ClusterState
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool

from .build import NAMESPACE
from .table import POOL_ROWS


@pytest.mark.parametrize("item", POOL_ROWS, ids=lambda item: item.id)
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_together_is_as_alone(item, first):
    """Twins in other places: without the objects that belong to the pool, in its namespace or its cluster, or of its name."""
    pool = Pool.named(NAMESPACE, item.name, item.spec)
    twins = [
        Pool.named("tenant-other", item.name, item.spec),
        Pool.named(NAMESPACE, "myk8s-twin", item.spec),
        Pool.named(NAMESPACE, "other-md0", {**item.spec, "cluster": "other"}),
    ]
    pools, state = [pool, *twins] if first else [*twins, pool], item.state()
    alone = [judge_pools([one], state) for one in pools]
    expected = Verdict()
    for verdict in alone:
        expected = expected.plus(verdict)
    assert judge_pools(pools, state) == expected


def test_pools_of_clusters_of_other_names_are_alike_and_others_are_not():
    def shape(**spec):
        return shape_of(PoolCase(Pool.named("t", f"{spec['cluster']}-a", spec), ClusterState()))

    assert shape(cluster="one", diskSize="20Gi") == shape(cluster="two", diskSize="20Gi")
    assert shape(cluster="one", diskSize="20Gi") != shape(cluster="one", diskSize="20480Mi")
    assert shape(cluster="one", minReplicas=1) != shape(cluster="one", minReplicas=True)
    assert shape(cluster="one", odd=object()) is None
