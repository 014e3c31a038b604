# SPDX-License-Identifier: Apache-2.0
"""The pure half of the lab's apps API: defaults, names, patches, selectors, and what a write costs and survives."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Coroutine
from typing import Any

import jsonschema
import pytest

from lab.api import ApiError
from lab.apps_api import apps, patches, selectors
from lab.apps_api.apps import APPS
from lab.apps_api.statuses import Refused
from lab.apps_api.store import Store
from lab.schemas import FILLERS, KUBERNETES_NODES, SCHEMAS

Object = dict[str, Any]

POOLS, CLUSTERS, TENANTS = APPS["kubernetesnodeses"], APPS["kuberneteses"], APPS["tenants"]


# --- defaults ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "field", "read"),
    [
        ({}, "osImage", None),
        ({"osImage": {}}, "osImage", {}),
        ({"osImage": None}, "osImage", {}),
        ({"osImage": {"builtin": None}}, "osImage", {"builtin": {}}),
        ({"osImage": {"builtin": {}, "factory": {}}}, "osImage", {"builtin": {}, "factory": {}}),
        ({"osImage": {"builtin": {"version": None}}}, "osImage", {"builtin": {"version": None}}),
        ({"osImage": {"builtin": "yes"}}, "osImage", {"builtin": {}}),
        ({"osImage": {"other": None}}, "osImage", {"other": None}),
        (
            {"kubelet": {"evictionHardMemory": "9%"}},
            "kubelet",
            {"evictionHardMemory": "9%", "evictionSoftMemory": "10%"},
        ),
        ({"kubelet": None}, "kubelet", {"evictionHardMemory": "7%", "evictionSoftMemory": "10%"}),
        ({"images": {}}, "images", {"kubectl": ""}),
        ({"resources": None}, "resources", {}),
        ({"resources": {"cpu": 2}}, "resources", {"cpu": 2}),
        ({"roles": None}, "roles", []),
        ({"gpus": [{"name": "a"}]}, "gpus", [{"name": "a"}]),
        ({"diskSize": None}, "diskSize", "20Gi"),
        ({"diskSize": 0}, "diskSize", 0),
        ({"storageClass": ""}, "storageClass", ""),
        ({"version": "v9.9"}, "version", "v9.9"),
        ({"podCpuLimit": None}, "podCpuLimit", None),
        ({"labels": None}, "labels", {}),
        ({}, "labels", None),
        ({}, "substrate", None),
        ({"zzz": {"a": None}}, "zzz", {"a": None}),
    ],
)
def test_filler_of_a_pool(sent: Object, field: str, read: Any) -> None:
    before = copy.deepcopy(sent)
    assert FILLERS["KubernetesNodes"](sent).get(field) == read
    assert sent == before


@pytest.mark.parametrize("kind", sorted(SCHEMAS))
def test_defaults_satisfy_their_schema(kind: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[kind])
    jsonschema.validate(FILLERS[kind](None), SCHEMAS[kind])


def test_filled_values_share_nothing_with_the_schema() -> None:
    FILLERS["KubernetesNodes"]({})["talos"]["registryMirrors"]["ghcr.io"] = {}
    assert FILLERS["KubernetesNodes"]({})["talos"]["registryMirrors"] == {}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"version": "v1.36"}, "version"),
        ({"diskSize": "10 Gi"}, "diskSize"),
        ({"maxReplicas": "3"}, "maxReplicas"),
        ({"talos": {"version": "v1.13.6"}}, "talos"),
        ({"osImage": {"builtin": None}}, "osImage"),
        ({"taints": [{"key": "a", "effect": "Never"}]}, "taints"),
    ],
)
def test_schema_refuses(spec: Object, field: str) -> None:
    with pytest.raises(jsonschema.ValidationError) as caught:
        jsonschema.validate(spec, KUBERNETES_NODES)
    assert caught.value.absolute_path[0] == field


# --- names, values, releases ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("app", "name", "parts"),
    [
        (POOLS, "a" * 37, ["must be no more than 36 characters"]),
        (CLUSTERS, "a" * 33, ['must be no more than 32 characters (release prefix "kubernetes-")']),
        (TENANTS, "a" * 47, ["must be no more than 46 characters"]),
        (TENANTS, "a-b", ["a tenant name must start with"]),
        (POOLS, "Shop_Bad", ["a DNS-1035 label"]),
        (POOLS, "shop\n", ["a DNS-1035 label"]),
        (POOLS, "1shop", ["a DNS-1035 label"]),
        (POOLS, "A" * 37, ["invalid: [metadata.name", "a DNS-1035 label", "36 characters"]),
    ],
)
def test_check_name_refuses(app: apps.App, name: str, parts: list[str]) -> None:
    with pytest.raises(Refused) as caught:
        apps.check_name(app, "tenant-root", name)
    assert caught.value.code == 422
    assert all(part in str(caught.value) for part in parts), str(caught.value)


@pytest.mark.parametrize(
    ("app", "name"), [(POOLS, "a" * 36), (CLUSTERS, "a" * 32), (TENANTS, "a" * 46), (POOLS, "shop-1"), (TENANTS, "a1")]
)
def test_check_name_accepts(app: apps.App, name: str) -> None:
    apps.check_name(app, "tenant-root", name)


def test_check_name_limits_the_tenant_namespace() -> None:
    apps.check_name(TENANTS, "tenant-" + "a" * 45, "b" * 10)
    with pytest.raises(Refused, match="64 characters"):
        apps.check_name(TENANTS, "tenant-" + "a" * 45, "b" * 11)


@pytest.mark.parametrize(
    ("parent", "name", "namespace"),
    [
        ("tenant-root", "root", "tenant-root"),
        ("tenant-root", "acme", "tenant-acme"),
        ("tenant-acme", "eu", "tenant-acme-eu"),
    ],
)
def test_tenant_namespace(parent: str, name: str, namespace: str) -> None:
    assert apps.tenant_namespace(parent, name) == namespace


def test_reserved_keys_are_hidden_on_read() -> None:
    values = {"cluster": "shop", "_cluster": {"a": 1}, "talos": {"_b": 1}, "gpus": [{"name": "a", "_c": 1}]}
    metadata = {"name": "kubernetes-nodes-shop-a", "namespace": "tenant-a", "labels": {}}
    shown = apps.to_object(POOLS, {"metadata": metadata, "spec": {"values": values}})["spec"]
    assert "_" not in {key[0] for key in (*shown, *shown["talos"], *shown["gpus"][0])}
    assert shown["gpus"] == [{"name": "a"}]


@pytest.mark.parametrize(
    ("app", "release", "chart", "action"),
    [
        (
            POOLS,
            "kubernetes-nodes-x",
            "cozystack-kubernetes-nodes-application-kubevirt-kubernetes-nodes",
            ("15m0s", True),
        ),
        (CLUSTERS, "kubernetes-x", "cozystack-kubernetes-application-kubevirt-kubernetes", ("20m0s", True)),
        (TENANTS, "tenant-x", "cozystack-tenant-application-default-tenant", ("15m0s", None)),
    ],
)
def test_to_release(app: apps.App, release: str, chart: str, action: tuple[str, bool | None]) -> None:
    made = apps.to_release(app, "tenant-a", {"metadata": {"name": "x"}})
    assert made["metadata"]["name"] == release
    assert made["spec"]["chartRef"]["name"] == chart
    assert (made["spec"]["install"]["timeout"], made["spec"]["install"].get("disableWait")) == action
    assert "values" not in made["spec"]


# --- patches ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "patch", "merged"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": None}, {}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": "x"}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({}, {"a": {"b": None, "c": {}}}, {"a": {"c": {}}}),
        ({"a": [{"b": 1}]}, {"a": [{"b": None}]}, {"a": [{"b": None}]}),
        ({"a": 1}, "x", "x"),
    ],
)
def test_merge(target: Any, patch: Any, merged: Any) -> None:
    before = copy.deepcopy(target)
    assert patches.merge(target, patch) == merged
    assert target == before


@pytest.mark.parametrize(
    ("operations", "result"),
    [
        ([{"op": "add", "path": "/a/-", "value": 3}], {"a": [1, 2, 3], "b": {"c/d": 1}}),
        ([{"op": "add", "path": "/a/0", "value": 0}], {"a": [0, 1, 2], "b": {"c/d": 1}}),
        ([{"op": "remove", "path": "/b/c~1d"}], {"a": [1, 2], "b": {}}),
        ([{"op": "replace", "path": "/a/1", "value": 9}], {"a": [1, 9], "b": {"c/d": 1}}),
        ([{"op": "move", "from": "/a", "path": "/x"}], {"x": [1, 2], "b": {"c/d": 1}}),
        ([{"op": "copy", "from": "/b", "path": "/x"}], {"a": [1, 2], "b": {"c/d": 1}, "x": {"c/d": 1}}),
        ([{"op": "test", "path": "/a/0", "value": 1}], {"a": [1, 2], "b": {"c/d": 1}}),
    ],
)
def test_apply_operations(operations: Any, result: Any) -> None:
    document = {"a": [1, 2], "b": {"c/d": 1}}
    assert patches.apply_operations(document, operations) == result
    assert document == {"a": [1, 2], "b": {"c/d": 1}}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "/x", "value": 1},
        {"op": "remove", "path": "/a/2"},
        {"op": "remove", "path": "/a/-1"},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add", "path": "/a/0"},
        {"op": "test", "path": "/a/0", "value": 2},
        {"op": "frobnicate", "path": "/a"},
        "add",
    ],
)
def test_apply_operations_refuses(operation: Any) -> None:
    with pytest.raises(Refused) as caught:
        patches.apply_operations({"a": [1, 2]}, [operation])
    assert caught.value.code == 422


@pytest.mark.parametrize(
    ("content_type", "raw", "code"),
    [("application/json", b"{}", 415), ("application/merge-patch+json", b"{", 400), (patches.APPLY, b"a: [", 400)],
)
def test_patched_refuses(content_type: str, raw: bytes, code: int) -> None:
    with pytest.raises(Refused) as caught:
        patches.patched(content_type, raw, {})
    assert caught.value.code == code


# --- selectors --------------------------------------------------------------------------------------------------------

OWN = "apps.cozystack.io/application.kind=KubernetesNodes,apps.cozystack.io/application.group=apps.cozystack.io"


@pytest.mark.parametrize(
    ("wanted", "rewritten"),
    [
        ("", ""),
        ("a=b", ",apps.cozystack.io-a=b"),
        ("!a , b in (c,d),e", ",!apps.cozystack.io-a ,apps.cozystack.io-b in (c,d),apps.cozystack.io-e"),
    ],
)
def test_label_selector(wanted: str, rewritten: str) -> None:
    assert selectors.label_selector(POOLS, wanted) == OWN + rewritten


# --- writes against an API server that gets in the way ----------------------------------------------------------------


class Busy:
    """Stands in for Api: one stored release, and a list of errors that the next writes meet."""

    def __init__(self, *errors: ApiError) -> None:
        self.errors, self.requests = list(errors), 0
        self.stored = apps.to_release(POOLS, "tenant-a", {"metadata": {"name": "shop-a"}, "spec": {"cluster": "shop"}})
        self.stored["metadata"] |= {"resourceVersion": "1", "uid": "u", "creationTimestamp": "2026-11-01T10:00:00Z"}

    async def get(self, *_: Any) -> Object:
        return copy.deepcopy(self.stored)

    async def request(self, _: str, path: str, query: Object) -> Object:
        self.requests += 1
        found = [copy.deepcopy(self.stored)] * 1000 if "helmreleases" in path else []
        return {"metadata": {"resourceVersion": "9"}, "items": found}

    async def replace(self, obj: Object) -> Object:
        if self.errors:
            error = self.errors.pop(0)
            if error.status == 409:
                self.stored["metadata"] |= {"resourceVersion": "2", "finalizers": ["f"]}
            raise error
        assert obj["metadata"]["resourceVersion"] == self.stored["metadata"]["resourceVersion"]
        return obj

    create = replace


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 10))


def _patch(busy: Busy) -> Coroutine[Any, Any, Object]:
    raw = json.dumps({"spec": {"maxReplicas": 3}}).encode()
    return Store(busy).patch(POOLS, "tenant-a", "shop-a", "application/merge-patch+json", raw)


def test_patch_survives_a_conflict() -> None:
    busy = Busy(ApiError(409, {"message": "modified"}))
    shown = run(_patch(busy))
    assert (shown["spec"]["maxReplicas"], shown["metadata"]["resourceVersion"]) == (3, "2")


@pytest.mark.parametrize(
    "errors", [[ApiError(409, {"message": "modified"})] * 5, [ApiError(403, {"message": "modified"})]]
)
def test_patch_passes_other_trouble_on_as_500(errors: list[ApiError]) -> None:
    with pytest.raises(Refused, match="failed to update HelmRelease: modified") as caught:
        run(_patch(Busy(*errors)))
    assert caught.value.code == 500


def test_create_passes_a_quota_refusal_on_as_500() -> None:
    busy = Busy(ApiError(403, {"message": "exceeded quota: pools"}))
    with pytest.raises(Refused, match="failed to create HelmRelease: exceeded quota: pools") as caught:
        run(Store(busy).create(POOLS, "tenant-a", {"metadata": {"name": "shop-b"}}))
    assert caught.value.code == 500
    assert "reason" not in caught.value.body


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"metadata": {"name": "other"}}, "does not match the name on the URL"),
        ({"metadata": None}, "does not make a complete object"),
        ({"spec": {"_x": 1}}, "is reserved"),
    ],
)
def test_patch_refuses(body: Object, message: str) -> None:
    raw = json.dumps(body).encode()
    with pytest.raises(Refused, match=message) as caught:
        run(Store(Busy()).patch(POOLS, "tenant-a", "shop-a", "application/merge-patch+json", raw))
    assert caught.value.code == 400


def test_list_costs_two_requests_however_many_apps() -> None:
    busy = Busy()
    assert len(run(Store(busy).list(POOLS, None, {}))["items"]) == 1000
    assert busy.requests == 2
