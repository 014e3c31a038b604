# SPDX-License-Identifier: Apache-2.0
"""Advice about what a write of the catalog leaves behind."""

from __future__ import annotations

from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.catalog_write import (
    judge_orphans,
    names_text,
    not_rendered,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.state import ClusterState

SCHEMATIC = "a" * 64


def listed(*versions: str) -> dict[str, Any]:
    return {"images": [{"schematicID": SCHEMATIC, "version": version} for version in versions]}


def there(*versions: str) -> ClusterState:
    volumes = [
        {
            "kind": "DataVolume",
            "metadata": {"name": f"talos-worker-{SCHEMATIC}-{version}", "namespace": "cozy-public"},
            "spec": {"storage": {"resources": {"requests": {"storage": "6Gi"}}}},
        }
        for version in versions
    ]
    return ClusterState.from_objects(volumes)


def orphans(live: dict[str, Any], desired: dict[str, Any], state: ClusterState) -> list[str]:
    verdict = judge_orphans(live, desired, state)
    assert not verdict.refusals
    return [one["name"].rsplit("-", 1)[1] for found in verdict.advice for one in found.evidence["goldens"]]


def test_only_what_exists_and_loses_its_entry_is_an_orphan() -> None:
    live = listed("v1.13.6", "v1.13.7", "v1.13.8")
    assert orphans(live, listed("v1.13.6"), there("v1.13.6", "v1.13.7")) == ["v1.13.7"]
    assert orphans(live, live, there("v1.13.6", "v1.13.7")) == []
    assert orphans(live, {"images": []}, there()) == []
    assert orphans(live, {"images": []}, ClusterState()) == []


def test_the_chart_default_is_an_entry_too() -> None:
    default = "talos-worker-ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515-v1.13.6"
    volume = {"kind": "DataVolume", "metadata": {"name": default, "namespace": "cozy-public"}}
    state = ClusterState.from_objects([volume])
    assert orphans({}, listed("v1.13.7"), state) == ["v1.13.6"]


def test_many_names_are_counted() -> None:
    assert names_text(["a", "b"]) == "a, b"
    assert names_text("abcdefg") == "a, b, c, d, e and 2 more"


def test_a_golden_that_is_gone_for_good_names_release_and_option() -> None:
    text = not_rendered(["g"]).text()
    assert "cozy-system/kubernetes-worker-image" in text
    assert "force_render=true" in text
