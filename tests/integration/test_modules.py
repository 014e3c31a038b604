# SPDX-License-Identifier: Apache-2.0
"""Twelve steps per writing module: create, modify, delete; each in check mode and for real; each twice."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.client import Client
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.connection import Settings
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.resources import Resource
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.transport import HttpTransport
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import Session
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.node_pools import POOLS_SPEC, node_pools
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.progress import Reporter

from tests.integration.site import CATALOG, PRODUCT, SCHEMATIC, Site, golden

SCENARIO = "demo"
pytestmark = pytest.mark.lab


def twelve(site: Site, module: str, *stages: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """For each stage the results of check, check, real, real, check, all from one playbook.

    What check mode promises is held here: the same diff and plan as the run that follows, and no writing request, which the audit
    log tells by the user agent. Nor does the second real run write: there are as many writes as there were steps.
    """
    mark = site.mark()
    tasks = [
        {f"{PRODUCT}.{module}": options, "check_mode": check}
        for options in stages
        for check in (True, True, False, False, True)
    ]
    run = site.play(*tasks)
    assert len(run.results) == len(tasks), run.output
    rows = [run.results[start : start + 5] for start in range(0, len(tasks), 5)]
    for options, results in zip(stages, rows, strict=True):
        assert not [result["msg"] for result in results if result.get("failed")], options
        assert [result["changed"] for result in results] == [True, True, True, False, False], options
        check, _, done, again, _ = results
        assert check["diff"] == done["diff"]
        assert check["plan"] == done["plan"]
        assert again["plan"]["steps"] == []
    writes = site.since(mark).writes()
    assert not [item for item in writes if "check mode" in item.user_agent]
    assert len(writes) == sum(len(results[2]["plan"]["steps"]) for results in rows)
    return rows


def test_image_catalog(site: Site) -> None:
    base = {"imageFactoryURL": site.lab["image_source"], "storage": "6Gi"}
    entries = [{"schematicID": SCHEMATIC, "version": version} for version in ("v1.13.6", "v1.13.7")]
    created, modified, deleted = twelve(
        site,
        "image_catalog",
        {"catalog": {**base, "images": entries[:1]}},
        {"catalog": {**base, "images": entries}},
        {"state": "absent"},
    )
    assert [item["state"] for item in created[0]["goldens"]] == ["planned"]
    assert [item["state"] for item in created[2]["goldens"]] == ["ready"]
    assert [(item["version"], item["state"]) for item in modified[2]["goldens"]] == [
        ("v1.13.6", "ready"),
        ("v1.13.7", "ready"),
    ]
    assert "goldens stay" in deleted[2]["plan"]["steps"][0]["reason"]
    assert site.get("DataVolume", golden("v1.13.7"), "cozy-public") is not None
    package = site.get("Package", "cozystack.cozystack-platform")
    assert package is not None
    assert CATALOG not in package["spec"]["components"]["platform"]["values"]["bundles"]["enabledPackages"]
    restored = site.module("image_catalog", catalog={**base, "images": entries})
    assert restored["changed"] is True
    orphan = site.module("image_catalog", catalog={"images": entries[:1]}, entries="exact")
    assert orphan["changed"] is True
    found = {item["name"]: item["orphan"] for item in site.module("golden_image_info")["goldens"]}
    assert found == {golden("v1.13.6"): False, golden("v1.13.7"): True}


def test_node_pools(site: Site) -> None:
    pool = {"namespace": "tenant-acme", "cluster": "shop", "pool": "md0"}
    spec = {"minReplicas": 1, "maxReplicas": 3, "osImage": {"builtin": {}}}
    created, modified, _ = twelve(
        site,
        "node_pools",
        {"pools": [{**pool, "spec": spec}], "wait": "workers"},
        {"pools": [{**pool, "spec": {**spec, "minReplicas": 2, "diskSize": "30Gi"}}], "wait": "workers"},
        {"pools": [pool], "state": "absent"},
    )
    assert created[2]["pools"][0]["workers"] == {"wanted": 1, "disks_ready": 1, "disks_pending": 0}
    step = modified[0]["plan"]["steps"][0]
    assert step["rolls_workers"] is True
    assert "diskSize" in " ".join(step["roll_reasons"])
    assert {change["field"] for change in step["changes"]} == {"spec.minReplicas", "spec.diskSize"}
    assert "defaults-freeze" in [finding["id"] for finding in modified[0]["advice"]]
    assert site.list("VirtualMachine", "tenant-acme") == []
    assert site.get("DataVolume", golden(), "cozy-public") is not None


def test_a_scale_edit_does_not_roll_and_switching_the_form_does(site: Site) -> None:
    pool = {"namespace": "tenant-globex", "cluster": "web", "pool": "front"}
    spec = {"minReplicas": 1, "osImage": {"builtin": {}}}
    assert site.module("node_pools", pools=[{**pool, "spec": spec}], wait="workers")["changed"] is True
    before = site.get("MachineDeployment", "kubernetes-web-front", "tenant-globex")
    assert before is not None
    scaled = site.module("node_pools", pools=[{**pool, "spec": {**spec, "maxReplicas": 4}}])
    assert scaled["pools"][0]["rolls_workers"] is False
    live = site.get("MachineDeployment", "kubernetes-web-front", "tenant-globex")
    assert live is not None
    template = live["spec"]["template"]["spec"]["infrastructureRef"]["name"]
    assert template == before["spec"]["template"]["spec"]["infrastructureRef"]["name"]
    switched = {**pool, "spec": {"osImage": {"factory": {"imageFactoryURL": site.lab["image_source"]}}}}
    result = site.module("node_pools", pools=[switched])
    reasons = result["plan"]["steps"][0]["roll_reasons"]
    assert result["pools"][0]["rolls_workers"] is True
    after = site.get("MachineDeployment", "kubernetes-web-front", "tenant-globex")
    stored = site.get("KubernetesNodes", "web-front", "tenant-globex")
    assert after is not None
    assert stored is not None
    name = after["spec"]["template"]["spec"]["infrastructureRef"]["name"]
    assert name != template
    assert any(template in reason and name in reason for reason in reasons), reasons
    assert stored["spec"]["osImage"] == switched["spec"]["osImage"]


def test_info_modules_see_users_and_what_would_be_refused(site: Site) -> None:
    pool = {"namespace": "tenant-globex", "cluster": "web", "pool": "idle", "spec": {"osImage": {"builtin": {}}}}
    assert site.module("node_pools", pools=[pool])["changed"] is True
    found = {item["name"]: item for item in site.module("golden_image_info")["goldens"]}[golden()]
    assert {"how": "declared", "namespace": "tenant-globex", "name": "web-idle"} in found["users"]
    mark = site.mark()
    reports = {item["name"]: item for item in site.module("node_pools_info", clusters=["web"])["pools"]}
    assert reports["web-idle"]["would_be_refused"] == []
    assert reports["web-idle"]["source"]["golden"] == golden()
    assert not site.since(mark).writes()
    site.api(lambda api: api.delete("DataVolume", golden(), "cozy-public"))
    reports = {item["name"]: item for item in site.module("node_pools_info", names=["web-idle"])["pools"]}
    assert reports["web-idle"]["would_be_refused"] == ["golden-absent"]


def test_a_pool_created_behind_our_back_meanwhile_is_judged_again_and_patched(site: Site) -> None:
    """The aggregated API answers 500 for a name that exists; the operator's other terminal was faster."""
    client = Client(HttpTransport(Settings(kubeconfig=site.lab["kubeconfig"])))
    body = {
        "metadata": {"namespace": "tenant-acme", "name": "shop-twice"},
        "spec": {"cluster": "shop", "maxReplicas": 9},
    }
    create = client.create

    def too_late(resource: Resource, ours: dict[str, Any], namespace: str | None = None) -> dict[str, Any]:
        create(resource, {**ours, **body}, namespace)
        return create(resource, ours, namespace)

    client.create = too_late  # type: ignore[method-assign,assignment]
    params = {name: option.get("default") for name, option in POOLS_SPEC.items()}
    params["pools"] = [{"namespace": "tenant-acme", "cluster": "shop", "pool": "twice", "spec": {"maxReplicas": 3}}]
    mark = site.mark()
    result = node_pools(Session(params, client, False, print, Reporter(print)))
    assert [step["action"] for step in result["plan"]["steps"]] == ["create"]
    assert result["written"] == ["tenant-acme/shop-twice"]
    assert [item.verb for item in site.since(mark).writes()] == ["create", "create", "patch"]
    live = site.get("KubernetesNodes", "shop-twice", "tenant-acme")
    assert live is not None
    assert live["spec"]["maxReplicas"] == 3
