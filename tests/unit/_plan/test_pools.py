# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.pools import (
    LivePool,
    dropped_fields,
    pool_after,
    pool_step,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool


def pool(**spec: Any) -> Pool:
    return Pool("tenant-acme", "shop", "md0", {"cluster": "shop", **spec})


def live(**spec: Any) -> LivePool:
    served = {
        "cluster": "shop",
        "diskSize": "20Gi",
        "minReplicas": 0,
        "maxReplicas": 10,
        "talos": {"version": "v1.13.6"},
    }
    return LivePool("tenant-acme", "shop-md0", {**served, **spec})


def patch(declared: Pool, found: LivePool) -> Any:
    step = pool_step(declared, found)
    return None if step is None else step.payload["spec"]


def test_a_new_pool_is_created_with_what_is_declared_and_nothing_else() -> None:
    step = pool_step(pool(osImage={"builtin": {}}, version=None), None)
    assert step is not None
    assert (step.action, step.payload["spec"]) == ("create", {"cluster": "shop", "osImage": {"builtin": {}}})
    assert step.payload["metadata"] == {"namespace": "tenant-acme", "name": "shop-md0"}


@pytest.mark.parametrize(
    ("declared", "found", "expected"),
    [
        ({"diskSize": "20480Mi"}, {}, None),
        ({"diskSize": 21474836480}, {}, None),
        ({"diskSize": "21Gi"}, {}, {"diskSize": "21Gi"}),
        ({"resources": {"cpu": "2"}}, {"resources": {"cpu": 2, "memory": "4Gi"}}, None),
        ({"roles": ["a"]}, {"roles": ["a", "b"]}, {"roles": ["a"]}),
        ({"talos": {"version": "v1.13.6"}}, {}, None),
        ({"osImage": {"builtin": {}}}, {}, {"osImage": {"builtin": {}}}),
        ({"osImage": {"builtin": {}}}, {"osImage": {"builtin": {}}}, None),
        ({"osImage": {"builtin": {"schematicID": ""}}}, {"osImage": {"builtin": {}}}, None),
        # the whole form is declared: an override that is not stated goes
        (
            {"osImage": {"builtin": {}}},
            {"osImage": {"builtin": {"version": "v1.14.0"}}},
            {"osImage": {"builtin": {"version": None}}},
        ),
        # switching form: the null for the other one goes into the same patch
        ({"osImage": {"factory": {}}}, {"osImage": {"builtin": {}}}, {"osImage": {"builtin": None, "factory": {}}}),
        (
            {"osImage": {"builtin": {"version": "v1.13.7"}}},
            {"osImage": {"factory": {"imageFactoryURL": "http://m"}}},
            {"osImage": {"builtin": {"version": "v1.13.7"}, "factory": None}},
        ),
        ({"osImage": {}}, {"osImage": {"builtin": {}}}, {"osImage": None}),
        ({"osImage": None}, {"osImage": {"builtin": {}}}, {"osImage": None}),
        ({"osImage": {}}, {}, None),
        ({}, {"osImage": {"builtin": {}}}, None),
    ],
)
def test_a_live_pool_gets_the_least_patch(declared: Any, found: Any, expected: Any) -> None:
    assert patch(pool(**declared), live(**found)) == expected


def test_the_guards_judge_the_pool_as_it_will_be() -> None:
    after = pool_after(
        pool(osImage={"factory": {}}), live(storageClass="local", osImage={"builtin": {"version": "v1.14.0"}})
    )
    assert after.spec["osImage"] == {"factory": {}}
    assert after.spec["storageClass"] == "local"


def test_a_null_form_stays_visible_to_the_guards() -> None:
    assert pool_after(pool(osImage={"builtin": None}), live()).spec["osImage"] == {"builtin": None}


def test_a_dropped_field_is_named() -> None:
    stored = {"metadata": {"namespace": "tenant-acme", "name": "shop-md0"}, "spec": {"cluster": "shop"}}
    assert dropped_fields(pool(osImage={"builtin": {}}, minReplicas=2), stored) == ["spec.osImage", "spec.minReplicas"]
    assert dropped_fields(pool(), stored) == []
