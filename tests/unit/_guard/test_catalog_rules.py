# SPDX-License-Identifier: Apache-2.0
"""Every catalog row says exactly what it should."""

from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.judge import judge_catalog
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.state import ClusterState

from .catalogs import CATALOG_ROWS, DEFAULT, NAME, PAIR, entry, live


@pytest.mark.parametrize("item", CATALOG_ROWS, ids=lambda item: item.id)
def test_row(item):
    verdict = judge_catalog(item.values, ClusterState.from_objects(item.objects))
    assert tuple(finding.id for finding in verdict.refusals) == item.says
    assert tuple(finding.id for finding in verdict.advice) == item.hints
    assert verdict.not_judged == ()
    assert all(finding.subject.startswith("kubernetesWorkerImage") for finding in verdict.refusals)


def test_immutable_names_every_drifted_field_and_both_values():
    values = {"storage": "8Gi", "images": [{**PAIR, "storageClass": "local", "imageFactoryURL": "http://m"}, DEFAULT]}
    (finding,) = judge_catalog(values, ClusterState.from_objects([live()])).refusals
    assert finding.subject == "kubernetesWorkerImage images[0]"
    assert finding.evidence["fields"] == ["storage", "storageClass", "imageFactoryURL"]
    assert finding.message.startswith(
        f"golden image cozy-public/{NAME} exists and cannot be changed: storage is 6Gi and would become 8Gi (from storage), "
    )
    assert "storageClass is replicated and would become local (from images[0].storageClass)" in finding.message
    assert "add a NEW entry" in finding.remedy


def test_all_refusals_at_once_each_with_its_index():
    values = {
        "images": [
            {**PAIR, "version": "v1"},
            {"version": "v1.13.6"},
            PAIR,
            PAIR,
            {**PAIR, "schematicID": "A", "storage": "x"},
        ]
    }
    verdict = judge_catalog(values, ClusterState.from_objects([]))
    assert [(finding.id, finding.subject.split()[1]) for finding in verdict.refusals] == [
        ("entry-schematic-required", "images[1].schematicID"),
        ("schematic-format", "images[4].schematicID"),
        ("version-format", "images[0].version"),
        ("entry-duplicate", "images[3]"),
        ("storage-format", "images[4].storage"),
    ]


def test_without_a_cluster_only_the_live_comparison_is_not_judged():
    verdict = judge_catalog(entry(), ClusterState())
    assert [finding.id for finding in verdict.not_judged] == ["golden-immutable"]
    assert verdict.not_judged[0].evidence == {"needs": "data_volumes"}
    assert judge_catalog({"images": []}, ClusterState()).not_judged == ()


def test_the_default_pair_is_the_published_one():
    state = ClusterState(
        data_volumes=(), pool_schema={"talos": {"default": {"schematicID": "abc", "version": "v1.14.0"}}}
    )
    (finding,) = judge_catalog({}, state).advice
    assert finding.evidence == {"schematicID": "abc", "version": "v1.14.0"}
