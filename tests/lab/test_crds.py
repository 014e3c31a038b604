# SPDX-License-Identifier: Apache-2.0
"""The schemas are strict where the platform is, and the base objects are what the platform has."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from lab import furnish, seed
from lab.api import Api, ApiError
from lab.kinds import KINDS

pytestmark = pytest.mark.lab
SERVED_ELSEWHERE = {"", "storage.k8s.io", "rbac.authorization.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io"}

GOLDEN: dict[str, Any] = {
    "apiVersion": "cdi.kubevirt.io/v1beta1",
    "kind": "DataVolume",
    "metadata": {"name": "golden", "namespace": "cozy-public"},
    "spec": {
        "contentType": "kubevirt",
        "source": {"http": {"url": "http://127.0.0.1/image.raw.xz"}},
        "storage": {"resources": {"requests": {"storage": "6Gi"}}, "storageClassName": "replicated"},
    },
}


def golden(name: str, **spec: Any) -> dict[str, Any]:
    obj = copy.deepcopy(GOLDEN)
    obj["metadata"]["name"] = name
    obj["spec"] |= spec
    return obj


def ask(lab, question: Callable[[Api], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with lab.api("crd-test") as api:
            return await question(api)

    return asyncio.run(run())


def refused(lab, obj: dict[str, Any]) -> str:
    with pytest.raises(ApiError) as caught:
        ask(lab, lambda api: api.create(obj))
    assert caught.value.status == 422
    return str(caught.value)


def test_every_custom_kind_has_a_definition() -> None:
    wanted = {(k.group, k.version, k.plural, k.namespaced) for k in KINDS.values() if k.group not in SERVED_ELSEWHERE}
    served = {
        (crd["spec"]["group"], version["name"], crd["spec"]["names"]["plural"], crd["spec"]["scope"] == "Namespaced")
        for crd in furnish.definitions()
        for version in crd["spec"]["versions"]
    }
    assert served == {entry for entry in wanted if entry[0] != "apps.cozystack.io"}


def test_definitions_are_structural(bare_lab) -> None:
    for crd in ask(bare_lab, lambda api: api.list("CustomResourceDefinition")):
        states = {condition["type"]: condition["status"] for condition in crd["status"]["conditions"]}
        assert states.get("Established") == "True", crd["metadata"]["name"]
        assert states.get("NamesAccepted") == "True", crd["metadata"]["name"]
        assert states.get("KubernetesAPIApprovalPolicyConformant", "True") == "True", crd["metadata"]["name"]
        assert "NonStructuralSchema" not in states, crd["metadata"]["name"]


def test_unknown_fields_are_pruned(bare_lab) -> None:
    source = {
        "http": {"url": "http://127.0.0.1/x", "checksum": "sha256:00", "insecureSkipVerify": True, "secretRef": "s"}
    }
    answer = ask(bare_lab, lambda api: api.create(golden("pruned", source=source, surprise=1)))
    assert answer["spec"]["source"] == {"http": {"url": "http://127.0.0.1/x", "secretRef": "s"}}
    assert "surprise" not in answer["spec"]


@pytest.mark.parametrize(
    "change",
    [
        {"source": {"http": {"url": "http://127.0.0.1/other"}}},
        {"storage": {"resources": {"requests": {"storage": "7Gi"}}}},
        {"contentType": "archive"},
        {"contentType": None},
    ],
)
def test_datavolume_spec_is_immutable_and_its_metadata_is_not(bare_lab, change: dict[str, Any]) -> None:
    async def question(api: Api) -> None:
        await api.ensure(golden("fixed"))
        await api.patch("DataVolume", "fixed", {"metadata": {"annotations": {"a": "b"}}}, "cozy-public")
        await api.patch("DataVolume", "fixed", {"spec": change}, "cozy-public")

    with pytest.raises(ApiError, match="Cannot update DataVolume Spec") as caught:
        ask(bare_lab, question)
    assert caught.value.status == 422


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"storage": None}, "exactly one of pvc and storage"),
        ({"pvc": {"resources": {"requests": {"storage": "6Gi"}}}}, "exactly one of pvc and storage"),
        ({"source": {"http": {"url": "ftp://127.0.0.1/x"}}}, "spec.source.http.url"),
        ({"source": {"http": {}}}, "spec.source.http.url: Required value"),
        ({"source": {"blank": {}, "upload": {}}}, "spec.source: Too many: 2"),
        ({"storage": {"resources": {"requests": {"storage": "6 GB"}}}}, "spec.storage.resources.requests.storage"),
        ({"contentType": "iso"}, "spec.contentType: Unsupported value"),
    ],
)
def test_datavolume_is_refused(bare_lab, spec: dict[str, Any], message: str) -> None:
    obj = golden("refused", **spec)
    obj["spec"] = {key: value for key, value in obj["spec"].items() if value is not None}
    text = refused(bare_lab, obj)
    assert any(part in text for part in message.split("|")), text


def test_status_needs_its_subresource(bare_lab) -> None:
    async def question(api: Api) -> tuple[Any, Any]:
        created = await api.create(golden("status") | {"status": {"phase": "Succeeded"}})
        status = {"phase": "ImportInProgress", "progress": "41.00%", "restartCount": 2, "mood": "good"}
        patched = await api.patch("DataVolume", "status", {"status": status}, "cozy-public", "status")
        return created.get("status"), patched["status"]

    created, patched = ask(bare_lab, question)
    assert created is None
    assert patched == {"phase": "ImportInProgress", "progress": "41.00%", "restartCount": 2}


def test_fresh_helm_release_reads_an_empty_status_and_free_values(bare_lab) -> None:
    values = {"cluster": "shop", "deep": {"list": [1, None, {"a": "b"}], "nothing": None}, "number": 2.5}
    release = {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": "fresh", "namespace": "tenant-root"},
        "spec": {"interval": "5m0s", "values": values, "unknown": 1},
    }
    answer = ask(bare_lab, lambda api: api.create(release))
    assert answer["status"] == {}
    assert answer["spec"] == {"interval": "5m0s", "values": values}


def test_platform_package_keeps_its_values(bare_lab) -> None:
    values = {"bundles": {"enabledPackages": ["cozystack.x"]}, "anything": [{"a": None}]}
    package = seed.platform_package("isp-full", values)
    answer = ask(bare_lab, lambda api: api.create(package))
    assert answer["spec"]["components"]["platform"]["values"] == values
    assert "namespace" not in answer["metadata"]
    assert ask(bare_lab, lambda api: api.delete("Package", seed.PLATFORM))
    with pytest.raises(ValueError, match="no variant isp"):
        seed.platform_package("isp")


def test_base_objects_are_stored_as_written(bare_lab) -> None:
    def lost(sent: Any, stored: Any, path: str) -> list[str]:
        if isinstance(sent, dict) and isinstance(stored, dict):
            return [loss for key, value in sent.items() for loss in lost(value, stored.get(key), f"{path}.{key}")]
        if isinstance(sent, list) and isinstance(stored, list) and len(sent) == len(stored):
            return [
                loss for i, (a, b) in enumerate(zip(sent, stored, strict=True)) for loss in lost(a, b, f"{path}[{i}]")
            ]
        return [] if sent == stored or (sent in ({}, []) and stored is None) else [path]

    async def question(api: Api) -> list[str]:
        losses = []
        for obj in (obj for wave in seed.everything() for obj in wave):
            metadata = obj["metadata"]
            stored = await api.get(obj["kind"], metadata["name"], metadata.get("namespace"))
            losses += lost(obj, stored, f"{obj['kind']}/{metadata['name']}")
        return losses

    assert ask(bare_lab, question) == []


def test_base_objects_can_be_applied_again(bare_lab) -> None:
    async def question(api: Api) -> tuple[list[str], list[str]]:
        async def versions() -> list[str]:
            found = [
                await api.list(kind) for kind in ("StorageClass", "PackageSource", "CDI", "Namespace", "RoleBinding")
            ]
            return [obj["metadata"]["resourceVersion"] for objects in found for obj in objects]

        before = await versions()
        await seed.apply(api)
        return before, await versions()

    before, after = ask(bare_lab, question)
    assert before == after


def test_default_class_is_put_into_a_claim(bare_lab) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "plain", "namespace": "tenant-root"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    answer = ask(bare_lab, lambda api: api.create(claim))
    assert answer["spec"]["storageClassName"] == "replicated"
    assert "finalizers" not in answer["metadata"], "nothing here would remove them"
