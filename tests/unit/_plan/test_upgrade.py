# SPDX-License-Identifier: Apache-2.0
"""What an upgrade declares: as a table, and held against the rules that judge what is written."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.pools import LivePool, pool_after, pool_step
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.upgrade import Target, upgrade_of
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool
from hypothesis import given
from hypothesis import strategies as st

A, B = "a" * 64, "b" * 64
OLD, NEW = "v1.13.6", "v1.13.7"
TALOS = {"version": OLD, "schematicID": A, "imageFactoryURL": "https://factory.talos.dev"}


def report(os_image: Any = None, name: str = "shop-md0", talos: dict[str, Any] = TALOS) -> dict[str, Any]:
    """One pool as node_pools_info returns it."""
    spec = {"cluster": "shop", "talos": talos, **({} if os_image is None else {"osImage": os_image})}
    pool = Pool.named("tenant-acme", name, spec)
    names = {"namespace": pool.namespace, "name": pool.name, "cluster": pool.cluster, "pool": pool.pool}
    return {**names, "source": pool.source.as_dict()}


@pytest.mark.parametrize(
    ("os_image", "target", "expected"),
    [
        ({"builtin": {}}, Target(NEW), {"builtin": {"version": NEW}}),
        ({"builtin": {"version": "v1.12.0"}}, Target(NEW), {"builtin": {"version": NEW}}),
        ({"builtin": {"schematicID": B}}, Target(NEW), {"builtin": {"schematicID": B, "version": NEW}}),
        ({"builtin": {"schematicID": B}}, Target(NEW, A), {"builtin": {"schematicID": A, "version": NEW}}),
        ({"builtin": {}}, Target(OLD, B), {"builtin": {"schematicID": B, "version": OLD}}),
        ({"builtin": {}}, Target(OLD), None),
        ({"builtin": {"version": NEW}}, Target(NEW), None),
        (None, Target(NEW, http=True), {"factory": {"version": NEW}}),
        (
            {"factory": {"imageFactoryURL": "http://m", "schematicID": B}},
            Target(NEW, http=True),
            {"factory": {"imageFactoryURL": "http://m", "schematicID": B, "version": NEW}},
        ),
        ({"factory": {}}, Target(OLD, http=True), None),
    ],
)
def test_what_a_pool_declares(os_image: Any, target: Target, expected: Any) -> None:
    found = upgrade_of([report(os_image)], target)
    assert found["left"] == []
    assert [pool["spec"] for pool in found["pools"]] == [{"osImage": expected} if expected else {}]
    assert (found["moving"], found["there"]) == (
        (["tenant-acme/shop-md0"], []) if expected else ([], ["tenant-acme/shop-md0"])
    )


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (report(), "over HTTP"),
        (report({"factory": {}}), "over HTTP"),
        (report({"factory": {}, "builtin": {}}), "both forms"),
        (report({"builtin": {}}, name="other-md0"), "its cluster"),
    ],
)
def test_what_is_left_alone_is_told_with_a_reason(item: dict[str, Any], words: str) -> None:
    found = upgrade_of([item], Target(NEW))
    assert found["pools"] == found["images"] == found["moving"] == []
    assert [words in left["reason"] for left in found["left"]] == [True]


def test_goldens_that_are_needed_and_goldens_that_are_left_behind() -> None:
    reports = [
        report({"builtin": {}}, "shop-a"),
        report({"builtin": {}}, "shop-b"),
        report({"builtin": {"schematicID": B}}, "shop-c"),
        report({"builtin": {"schematicID": B, "version": NEW}}, "shop-d"),
        report({"builtin": {"version": "v1.12.9"}}, "shop-cold"),
    ]
    images = [
        {"schematicID": A, "version": "v1.12.9", "storage": "9Gi"},
        {"schematicID": A, "version": OLD, "storage": "7Gi", "imageFactoryURL": "http://m"},
        {"schematicID": A, "version": "v1.13.1", "storageClass": "other"},
    ]
    found = upgrade_of(reports, Target(NEW), frozen=["tenant-acme/shop-cold", "tenant-else/x"], images=images)
    assert found["images"] == [
        {"schematicID": A, "version": NEW, "storage": "7Gi", "imageFactoryURL": "http://m"},
        {"schematicID": B, "version": NEW},
    ]
    assert found["moving"] == ["tenant-acme/shop-a", "tenant-acme/shop-b", "tenant-acme/shop-c"]
    assert (found["there"], found["frozen"]) == (["tenant-acme/shop-d"], ["tenant-acme/shop-cold"])
    assert [(old["schematicID"], old["version"], old["pools"]) for old in found["before"]] == [
        (A, OLD, ["tenant-acme/shop-a", "tenant-acme/shop-b"]),
        (B, OLD, ["tenant-acme/shop-c"]),
    ]
    known = [{"schematicID": A, "version": NEW, "storage": "8Gi"}]
    assert upgrade_of(reports[:1], Target(NEW), images=known)["images"] == known
    other = [{"schematicID": A, "version": "v1.0.0", "storage": "5Gi"}, {"schematicID": B, "version": OLD}]
    assert upgrade_of(reports[:1], Target(NEW), images=other)["images"][0]["storage"] == "5Gi"


forms = st.one_of(
    st.none(),
    st.dictionaries(
        st.sampled_from(["builtin", "factory"]),
        st.dictionaries(st.sampled_from(["version", "schematicID"]), st.sampled_from([OLD, NEW, ""]), max_size=2),
        min_size=1,
        max_size=1,
    ),
)


@given(forms, st.sampled_from([Target(NEW, http=True), Target(NEW, B, http=True)]))
def test_a_moved_pool_boots_the_target_by_the_same_way_and_moves_only_once(os_image: Any, target: Target) -> None:
    spec = {"cluster": "shop", "talos": TALOS, **({} if os_image is None else {"osImage": os_image})}
    (item,) = upgrade_of([report(os_image)], target)["pools"]
    declared = Pool(item["namespace"], item["cluster"], item["pool"], item["spec"])
    live = LivePool("tenant-acme", "shop-md0", spec)
    after = pool_after(declared, live)
    old, new = Pool.named("tenant-acme", "shop-md0", spec).source, after.source
    assert (new.schematic_id, new.version) == (target.schematic or old.schematic_id, NEW)
    assert new.clones == old.clones
    assert new.image_factory_url == old.image_factory_url
    assert pool_step(declared, LivePool("tenant-acme", "shop-md0", after.spec)) is None
    (again,) = upgrade_of([report(after.spec.get("osImage"))], target)["pools"]
    assert again["spec"] == {}
