# SPDX-License-Identifier: Apache-2.0
"""How worker disks are cloned: predicted, and compared with what then happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.integration.site import Site, golden

SCENARIO = "class-mismatch"
pytestmark = pytest.mark.lab

SPEC = {"minReplicas": 1, "maxReplicas": 1, "instanceType": "u1.medium", "osImage": {"builtin": {}}}


def pool(name: str, **spec: Any) -> dict[str, Any]:
    return {"namespace": "tenant-globex", "cluster": "web", "pool": name, "spec": {**SPEC, **spec}}


def reported(site: Site, name: str, **options: Any) -> dict[str, Any]:
    result = site.module("node_pools_info", names=[name], **options)
    assert not result.get("failed"), result
    (found,) = result["pools"]
    return {**found, "site": result}


@contextmanager
def patched(site: Site, kind: str, name: str, patch: dict[str, Any], back: dict[str, Any]) -> Iterator[None]:
    site.patch(kind, name, patch)
    try:
        yield
    finally:
        site.patch(kind, name, back)


def test_a_hanging_clone_was_predicted_and_is_reported_stalled(site: Site) -> None:
    found = reported(site, "shop-md0", stalled_after=0)
    assert found["clone"]["method"] == "csi-clone"
    assert "hang" in [risk["id"] for risk in found["clone"]["risks"]]
    (disk,) = found["disks"]
    assert (disk["state"], disk["phase"], disk["clone_phase"]) == ("stalled", "CSICloneInProgress", "CSIClone")
    assert (disk["golden"], disk["clone_type"], disk["undersized"]) == (golden(), "csi-clone", None)
    assert "Pending" in disk["message"]
    name = f"tenant-acme/{disk['name']}"
    assert found["disk_summary"]["stalled"] == found["site"]["disk_summary"]["stalled"] == [name]
    assert found["would_be_refused"] == ["storage-class-mismatch"]
    assert reported(site, "shop-md0")["disks"][0]["state"] == "running"


def test_a_clone_inside_the_storage_comes_as_predicted(site: Site) -> None:
    result = site.module("node_pools", pools=[pool("inside")])
    assert not result.get("failed"), result
    assert [finding["id"] for finding in result["advice"] if "clone" in finding["id"]] == []
    found = reported(site, "web-inside")
    assert (found["clone"]["method"], found["clone"]["risks"], found["clone"]["unknown"]) == ("csi-clone", [], [])
    (disk,) = found["disks"]
    assert (disk["state"], disk["clone_type"], disk["undersized"]) == ("ready", "csi-clone", False)
    assert (disk["size"], disk["capacity"], disk["message"]) == ("20Gi", "20Gi", "")
    assert found["disk_summary"]["clone_types"] == {"csi-clone": 1}


@pytest.mark.parametrize(
    ("name", "kind", "target", "patch", "back", "rule", "words"),
    [
        (
            "stiff",
            "StorageClass",
            "replicated",
            {"allowVolumeExpansion": False},
            {"allowVolumeExpansion": True},
            "class-not-expandable",
            "No volume expansion is possible",
        ),
        (
            "snaps",
            "CDI",
            "cdi",
            {"spec": {"cloneStrategyOverride": "snapshot"}},
            {"spec": {"cloneStrategyOverride": "csi-clone"}},
            "no-snapshot-class",
            "No compatible volumesnapshotclass found",
        ),
        (
            "copied",
            "CDI",
            "cdi",
            {"spec": {"cloneStrategyOverride": "copy"}},
            {"spec": {"cloneStrategyOverride": "csi-clone"}},
            "clone-strategy-copy",
            "",
        ),
    ],
)
def test_a_copy_over_the_network_was_predicted_with_its_reason(
    site: Site, name: str, kind: str, target: str, patch: dict[str, Any], back: dict[str, Any], rule: str, words: str
) -> None:
    with patched(site, kind, target, patch, back):
        refused = site.module("node_pools", check=True, pools=[pool(name)], refuse_on=[rule])
        assert [finding["id"] for finding in refused["refusals"]] == [rule]
        result = site.module("node_pools", pools=[pool(name)])
        assert not result.get("failed"), result
        assert rule in [finding["id"] for finding in result["advice"]]
        found = reported(site, f"web-{name}")
        assert (found["clone"]["method"], found["clone"]["fallback_reason"]) == ("copy", words)
        (disk,) = found["disks"]
        assert (disk["state"], disk["clone_type"], disk["fallback_reason"]) == ("ready", "copy", words)


def test_a_class_whose_profile_is_empty_is_refused(site: Site) -> None:
    bare = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "bare"},
        "provisioner": "bare.example.net",
    }
    site.api(lambda api: api.create(bare))
    assert site.wait_for("StorageProfile", lambda item: item["metadata"]["name"] == "bare" and "status" in item)
    result = site.module("node_pools", check=True, pools=[pool("bare", storageClass="bare")])
    assert "profile-incomplete" in [finding["id"] for finding in result["refusals"]]


def test_the_reads_do_not_grow_and_a_run_without_changes_does_without_the_settings(site: Site) -> None:
    mark = site.mark()
    reported(site, "web-inside")
    assert site.since(mark).count() <= 15
    mark = site.mark()
    assert site.module("node_pools", pools=[pool("inside")])["changed"] is False
    assert site.since(mark).count() <= 10


def test_what_may_not_be_read_is_not_known_and_not_judged(site: Site) -> None:
    """A reader of pools, disks and claims who sees nothing of CDI's settings."""
    env = site_reader(site)
    result = site.module("node_pools_info", names=["web-inside"], env=env)
    assert not result.get("failed"), result
    (found,) = result["pools"]
    assert found["clone"]["method"] == "unknown"
    assert found["clone"]["unknown"]
    assert {"cdis.cdi.kubevirt.io", "storageprofiles.cdi.kubevirt.io"} <= set(result["unread"])
    assert {"clone-strategy-copy", "volume-mode-differs"} <= {finding["id"] for finding in result["not_judged"]}
    assert found["disks"][0]["clone_type"] == "csi-clone"


def site_reader(site: Site) -> dict[str, str]:
    """A service account with its rights and the environment that uses it."""
    groups = {
        "apps.cozystack.io": ["kubernetesnodeses", "kuberneteses"],
        "cdi.kubevirt.io": ["datavolumes"],
        "": ["persistentvolumeclaims"],
        "storage.k8s.io": ["storageclasses"],
    }
    rules = [{"apiGroups": [group], "resources": names, "verbs": ["get", "list"]} for group, names in groups.items()]
    rbac = "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": "pool-reader"}, "rules": rules}
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "pool-reader", "namespace": "cozy-system"},
    }
    binding = {
        "apiVersion": f"{rbac}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "pool-reader"},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "pool-reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "pool-reader", "namespace": "cozy-system"}],
    }

    async def make(api: Any) -> str:
        for obj in (role, account, binding):
            await api.create(obj)
        path = "/api/v1/namespaces/cozy-system/serviceaccounts/pool-reader/token"
        answer = await api.request("POST", path, {"spec": {}})
        token: str = answer["status"]["token"]
        return token

    token = site.api(make)
    return {
        "K8S_AUTH_KUBECONFIG": "",
        "K8S_AUTH_HOST": site.lab["apiserver"],
        "K8S_AUTH_API_KEY": token,
        "K8S_AUTH_VERIFY_SSL": "false",
    }
