# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.catalog import (
    PlatformPackage,
    catalog_changes,
    catalog_plan,
    desired_catalog,
    force_step,
    merge_images,
    removal_changes,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.changes import merge_patch
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.plan import Plan

NAME = "cozystack.kubernetes-worker-image"
ENTRY = {"schematicID": "abc", "version": "v1.13.6"}


def package(values: dict[str, Any]) -> PlatformPackage:
    return PlatformPackage.from_api(
        {
            "metadata": {"name": "cozystack.cozystack-platform", "resourceVersion": "7"},
            "spec": {"variant": "isp-full", "components": {"platform": {"values": values}}},
        }
    )


def values_patch(declared: dict[str, Any], live: dict[str, Any], exact: bool = False) -> dict[str, Any]:
    platform = package(live)
    patch = merge_patch(catalog_changes(desired_catalog(declared, platform.catalog, exact), platform))
    return patch["spec"]["components"]["platform"]["values"] if patch else {}


def test_an_empty_platform_gets_the_name_and_the_block() -> None:
    assert values_patch({"storage": "6Gi", "images": [ENTRY]}, {"publishing": {"host": "x"}}) == {
        "bundles": {"enabledPackages": [NAME]},
        "kubernetesWorkerImage": {"storage": "6Gi", "images": [ENTRY]},
    }


def test_foreign_packages_and_keys_are_written_back_whole() -> None:
    live = {
        "bundles": {"enabledPackages": ["cozystack.b", "cozystack.a"], "disabledPackages": ["x"]},
        "kubernetesWorkerImage": {
            "futureKey": 1,
            "images": [{"schematicID": "other", "version": "v1.13.0", "note": "n"}],
        },
    }
    assert values_patch({"images": [ENTRY]}, live) == {
        "bundles": {"enabledPackages": ["cozystack.b", "cozystack.a", NAME]},
        "kubernetesWorkerImage": {"images": [{"schematicID": "other", "version": "v1.13.0", "note": "n"}, ENTRY]},
    }


@pytest.mark.parametrize(
    ("declared", "live"),
    [
        ({"storage": "6144Mi"}, {"storage": "6Gi"}),
        ({"storage": 6442450944}, {"storage": "6Gi"}),
        ({"imageFactoryURL": "https://m.example"}, {"imageFactoryURL": "https://m.example//"}),
        ({"images": [{**ENTRY, "storage": "6144Mi"}]}, {"images": [{**ENTRY, "storage": "6Gi", "foreign": 1}]}),
        ({"storageClass": None}, {}),
    ],
)
def test_equal_in_other_words_is_no_change_and_keeps_the_live_spelling(declared: Any, live: Any) -> None:
    assert values_patch(declared, {"bundles": {"enabledPackages": [NAME]}, "kubernetesWorkerImage": live}) == {}


def test_a_declared_null_takes_the_key_out() -> None:
    live = {
        "bundles": {"enabledPackages": [NAME]},
        "kubernetesWorkerImage": {"storageClass": "local", "storage": "6Gi"},
    }
    assert values_patch({"storageClass": None}, live) == {"kubernetesWorkerImage": {"storageClass": None}}


def test_an_equal_size_keeps_its_spelling_when_another_field_changes() -> None:
    declared = [{**ENTRY, "storage": "6144Mi", "storageClass": "local"}]
    assert merge_images(declared, [{**ENTRY, "storage": "6Gi"}], exact=False) == [
        {**ENTRY, "storage": "6Gi", "storageClass": "local"}
    ]


def test_exact_drops_entries_that_are_not_declared() -> None:
    live = {
        "bundles": {"enabledPackages": [NAME]},
        "kubernetesWorkerImage": {"images": [{"schematicID": "x", "version": "v1.0.0"}, ENTRY]},
    }
    assert values_patch({"images": [ENTRY]}, live, exact=True) == {"kubernetesWorkerImage": {"images": [ENTRY]}}
    assert values_patch({"images": [ENTRY]}, live, exact=False) == {}


def test_absent_takes_only_the_name_out() -> None:
    platform = package({"bundles": {"enabledPackages": ["a", NAME, "b"]}, "kubernetesWorkerImage": {"images": [ENTRY]}})
    assert merge_patch(removal_changes(platform)) == {
        "spec": {"components": {"platform": {"values": {"bundles": {"enabledPackages": ["a", "b"]}}}}}
    }
    assert removal_changes(package({})) == ()


def test_a_plan_hash_depends_on_what_would_be_written_and_on_nothing_else() -> None:
    plans = [
        catalog_plan(package(live), catalog_changes({"images": [ENTRY]}, package(live)), reason)
        for live, reason in (({}, "a"), ({"foreign": 1}, "b"), ({"bundles": {"enabledPackages": ["x"]}}, "a"))
    ]
    assert plans[0].hash == plans[1].hash
    assert plans[0].hash != plans[2].hash


@pytest.mark.parametrize(
    "odd", [None, [], "x", {"spec": None}, {"spec": {"components": {"platform": None}}, "metadata": None}]
)
def test_a_package_of_any_shape_is_read_without_a_crash(odd: Any) -> None:
    found = PlatformPackage.from_api(odd if isinstance(odd, dict) else {})
    assert (found.enabled, found.catalog, found.variant) == ([], {}, "default")


def test_facts_move_when_somebody_edits_catalog_or_packages() -> None:
    live = {"bundles": {"enabledPackages": ["a"]}, "kubernetesWorkerImage": {"storage": "6Gi"}}
    facts = package(live).facts
    assert package({**live, "publishing": {"host": "other"}}).facts == facts
    assert package({**live, "kubernetesWorkerImage": {"storage": "7Gi"}}).facts != facts
    assert package({**live, "bundles": {"enabledPackages": ["a", "b"]}}).facts != facts


def test_a_forced_render_is_the_same_step_at_any_moment() -> None:
    assert Plan((force_step("r"),)).hash == Plan((force_step("r"),)).hash
