# SPDX-License-Identifier: Apache-2.0
"""The lab's apps API behind the aggregator of a real kube-apiserver, against the recording of the real one."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from yarl import URL

from lab import instance
from lab.api import Api, ApiError
from lab.apps_api import Serving, register, serve
from lab.kinds import KINDS

pytestmark = pytest.mark.lab

Object = dict[str, Any]

RECORDING = Path(__file__).with_name("apps-api.json")
EXCHANGES = json.loads(RECORDING.read_text())
GROUP_PATH = "/apis/apps.cozystack.io/v1alpha1"
OPENAPI_PATH = f"/openapi/v3{GROUP_PATH}"
SPEC_SCHEMA = "com.github.cozystack.cozystack.pkg.apis.apps.v1alpha1.{}"
MERGE = "application/merge-patch+json"
SECONDS = 20


@dataclass
class Platform:
    """A lab without controllers, this server beside it, and the loop that both the server and a test run in."""

    home: Path
    api: Api
    serving: Serving
    runner: asyncio.Runner

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(asyncio.wait_for(work, SECONDS))

    def namespace(self, name: str) -> str:
        self.run(self.api.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
        return name


async def _start(api: Api, home: Path) -> Serving:
    await api.__aenter__()
    serving = await serve(api, home)
    await register(api, serving.url, (home / "certs/ca.crt").read_text())
    return serving


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    home = tmp_path_factory.mktemp("apps-api-lab")
    instance.up(home, instance.Options(without=("all",)), print)
    try:
        with asyncio.Runner() as runner:
            api = Api(home / "kubeconfig", "test")
            found = Platform(home, api, runner.run(_start(api, home)), runner)
            yield found
            runner.run(found.serving.close())
            runner.run(api.__aexit__())
    finally:
        instance.down(home, print)


def pool(name: str, namespace: str, spec: Object | None = None, **metadata: Any) -> Object:
    return {
        "apiVersion": "apps.cozystack.io/v1alpha1",
        "kind": "KubernetesNodes",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": spec or {"cluster": "shop"},
    }


async def names(api: Api, namespace: str, **query: str) -> list[str]:
    answer = await api.request("GET", KINDS["KubernetesNodes"].path(namespace), query=query)
    return [item["metadata"]["name"] for item in answer["items"]]


async def fails(work: Coroutine[Any, Any, Any]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await work
    return caught.value


# --- the recording ----------------------------------------------------------------------------------------------------

# What the recording replaced or left out: values of the first kind differ in every run, Status details and
# managedFields were dropped.
_PLACEHOLDERS = {"creationTimestamp": "<time>", "resourceVersion": "<rv>", "uid": "<uid>"}
_DROPPED = ("managedFields", "details")


def normalised(value: Any) -> Any:
    if isinstance(value, list):
        return [normalised(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: item for key, item in value.items() if key not in _DROPPED}
    return {key: _PLACEHOLDERS.get(key) or normalised(item) for key, item in kept.items()}


def difference(exchange: Object, status: int, body: Any) -> str:
    """Nothing when an answer is the recorded one."""
    wanted = exchange["response"]
    if (status, normalised(body)) == (wanted["status"], wanted["body"]):
        return ""
    return f"{exchange['name']}: answered {status} {json.dumps(normalised(body))}, recorded {json.dumps(wanted)}"


async def _replay(api: Api) -> list[str]:
    found = []
    for exchange in EXCHANGES:
        request = exchange["request"]
        headers = {"Content-Type": request["content_type"]} if "body" in request else {}
        data = json.dumps(request["body"]).encode() if "body" in request else None
        # Not by Api.request, which does not tell one success from another.
        url = URL(api.server + request["path"], encoded=True)
        async with api._session.request(request["method"], url, data=data, headers=headers) as answer:
            found.append(difference(exchange, answer.status, await answer.json()))
    return [item for item in found if item]


def test_every_recorded_exchange_answers_the_same(platform: Platform) -> None:
    platform.namespace("tenant-test")
    assert len(EXCHANGES) == 48
    assert platform.run(_replay(platform.api)) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda body: body["metadata"].update(name="other"),
        lambda body: body["spec"].update(maxReplicas=11),
        lambda body: body["spec"].pop("resources"),
        lambda body: body.update(status={"version": "1"}),
        lambda body: body["metadata"].update(generation=1),
    ],
)
def test_difference_notices_every_change(spoil: Callable[[Object], Any]) -> None:
    exchange = next(item for item in EXCHANGES if item["name"] == "get")
    body = copy.deepcopy(exchange["response"]["body"])
    assert difference(exchange, 200, body) == ""
    assert difference(exchange, 201, body).startswith("get: answered 201")
    spoil(body)
    assert difference(exchange, 200, body)


# --- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("team=a", ["one"]),
        ("team==a,app.kubernetes.io/part-of=shop", ["one"]),
        ("team!=a", ["three", "two"]),
        ("team in (a,b)", ["one", "two"]),
        ("team notin (a, b)", ["three"]),
        ("team", ["one", "two"]),
        ("!team", ["three"]),
        ("team in (a,b),!app.kubernetes.io/part-of", ["two"]),
        # The platform's own labels are no labels of the app.
        ("apps.cozystack.io/application.kind=KubernetesNodes", []),
    ],
)
def test_label_selector_is_about_user_labels(platform: Platform, selector: str, expected: list[str]) -> None:
    namespace = platform.namespace("tenant-labels")

    async def work() -> list[str]:
        labels = {"one": {"team": "a", "app.kubernetes.io/part-of": "shop"}, "two": {"team": "b"}, "three": {}}
        for name, entries in labels.items():
            with contextlib.suppress(ApiError):
                await platform.api.create(pool(name, namespace, labels=entries))
        return await names(platform.api, namespace, labelSelector=selector)

    assert sorted(platform.run(work())) == sorted(expected)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("metadata.name=a", ["a"]),
        ("metadata.name!=a", ["b"]),
        ("metadata.name=a,metadata.namespace=tenant-fields", ["a"]),
        ("metadata.namespace=elsewhere", []),
    ],
)
def test_field_selector_is_about_the_app_name(platform: Platform, selector: str, expected: list[str]) -> None:
    namespace = platform.namespace("tenant-fields")

    async def work() -> list[str]:
        for name in ("a", "b"):
            with contextlib.suppress(ApiError):
                await platform.api.create(pool(name, namespace))
        return await names(platform.api, namespace, fieldSelector=selector)

    assert platform.run(work()) == expected


@pytest.mark.parametrize("missing", ["kind", "group"])
def test_release_without_an_app_label_is_no_app(platform: Platform, missing: str) -> None:
    namespace = platform.namespace(f"tenant-foreign-{missing}")
    key = f"apps.cozystack.io/application.{missing}"

    async def work() -> None:
        api = platform.api
        await api.create(pool("shop-a", namespace))
        await api.patch("HelmRelease", "kubernetes-nodes-shop-a", {"metadata": {"labels": {key: None}}}, namespace)
        assert await api.get("KubernetesNodes", "shop-a", namespace) is None
        assert await names(api, namespace) == []
        assert await api.delete("KubernetesNodes", "shop-a", namespace) is False
        assert (await fails(api.patch("KubernetesNodes", "shop-a", {}, namespace))).status == 404
        assert await api.get("HelmRelease", "kubernetes-nodes-shop-a", namespace)

    platform.run(work())


def test_status_is_copied_from_the_release(platform: Platform) -> None:
    namespace = platform.namespace("tenant-status")
    time = "2026-11-01T10:00:00Z"
    ready = {"type": "Ready", "status": "False", "reason": "InstallFailed", "message": "m", "lastTransitionTime": time}
    released = {**ready, "type": "Released", "status": "True"}
    remediated = {**ready, "type": "Remediated"}
    labels = {
        "apps.cozystack.io/application.kind": "KubernetesNodes",
        "apps.cozystack.io/application.group": "apps.cozystack.io",
        "apps.cozystack.io/application.name": "shop-a",
    }
    monitor = {
        "apiVersion": KINDS["WorkloadMonitor"].api_version,
        "kind": "WorkloadMonitor",
        "metadata": {"name": "m", "namespace": namespace, "labels": labels},
        "spec": {"selector": {"app": "x"}},
    }

    async def work() -> tuple[Object, Object, Object]:
        api = platform.api
        await api.create(pool("shop-a", namespace))
        status = {"status": {"lastAttemptedRevision": "1.2.3", "conditions": [ready, remediated, released]}}
        await api.patch("HelmRelease", "kubernetes-nodes-shop-a", status, namespace, "status")
        plain = await api.get("KubernetesNodes", "shop-a", namespace)
        await api.create(monitor)
        pending = await api.get("KubernetesNodes", "shop-a", namespace)
        await api.patch("WorkloadMonitor", "m", {"status": {"operational": True}}, namespace, "status")
        (listed,) = await api.list("KubernetesNodes", namespace)
        return plain, pending, listed

    plain, pending, listed = platform.run(work())
    assert plain["status"] == {"conditions": [ready, released], "version": "1.2.3"}
    assert pending["status"]["conditions"][:2] == [ready, released]
    last = pending["status"]["conditions"][2]
    assert (last["type"], last["status"], last["reason"]) == ("WorkloadsReady", "Unknown", "Pending")
    last = listed["status"]["conditions"][2]
    assert (last["type"], last["status"], last["reason"]) == ("WorkloadsReady", "True", "WorkloadMonitorCheck")


# --- watching ---------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def watching(api: Api, namespace: str, **query: str) -> AsyncIterator[Callable[[], Coroutine[Any, Any, Object]]]:
    url, params = api.server + KINDS["KubernetesNodes"].path(namespace), {"watch": "1", **query}
    async with api._session.get(url, params=params, timeout=aiohttp.ClientTimeout(total=SECONDS)) as answer:
        assert answer.status == 200, await answer.text()

        async def following() -> Object:
            return json.loads(await answer.content.readline())

        yield following


def test_watch_tells_additions_changes_and_deletions(platform: Platform) -> None:
    namespace = platform.namespace("tenant-watch")

    async def work() -> list[Object]:
        api = platform.api
        begin = (await api.request("GET", KINDS["KubernetesNodes"].path(namespace)))["metadata"]["resourceVersion"]
        async with watching(api, namespace, resourceVersion=begin) as following:
            tenant = {"apiVersion": "apps.cozystack.io/v1alpha1", "kind": "Tenant", "spec": {}}
            await api.create({**tenant, "metadata": {"name": "other", "namespace": namespace}})
            await api.create(pool("shop-a", namespace))
            await api.patch("KubernetesNodes", "shop-a", {"spec": {"maxReplicas": 3}}, namespace)
            await api.delete("KubernetesNodes", "shop-a", namespace)
            return [await following() for _ in range(3)]

    events = platform.run(work())
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert {(event["object"]["kind"], event["object"]["metadata"]["name"]) for event in events} == {
        ("KubernetesNodes", "shop-a")
    }
    assert [event["object"]["spec"]["maxReplicas"] for event in events] == [10, 3, 3]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))


def test_watch_follows_selectors(platform: Platform) -> None:
    namespace = platform.namespace("tenant-watch-labels")

    async def work() -> list[tuple[str, str]]:
        api = platform.api
        async with watching(api, namespace, labelSelector="team=a") as following:
            await api.create(pool("shop-b", namespace, labels={"team": "b"}))
            await api.create(pool("shop-a", namespace, labels={"team": "a"}))
            await api.patch("KubernetesNodes", "shop-b", {"metadata": {"labels": {"team": "a"}}}, namespace)
            await api.patch("KubernetesNodes", "shop-a", {"metadata": {"labels": {"team": "b"}}}, namespace)
            events = [await following() for _ in range(3)]
        return [(event["type"], event["object"]["metadata"]["name"]) for event in events]

    assert platform.run(work()) == [("ADDED", "shop-a"), ("ADDED", "shop-b"), ("DELETED", "shop-a")]


def test_watch_marks_the_end_of_the_initial_events(platform: Platform) -> None:
    namespace = platform.namespace("tenant-watch-bookmark")
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}

    async def work() -> list[Object]:
        await platform.api.create(pool("shop-a", namespace))
        async with watching(platform.api, namespace, **query) as following:
            return [await following() for _ in range(2)]

    added, bookmark = platform.run(work())
    assert (added["type"], bookmark["type"], bookmark["object"]["kind"]) == ("ADDED", "BOOKMARK", "KubernetesNodes")
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(bookmark["object"]["metadata"]["resourceVersion"]) > 0


def test_watch_from_a_forgotten_version_fails_as_expired(platform: Platform) -> None:
    namespace = platform.namespace("tenant-watch-expired")

    async def work() -> Object:
        async with watching(platform.api, namespace, resourceVersion="1") as following:
            return await following()

    event = platform.run(work())
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


# --- writing ----------------------------------------------------------------------------------------------------------


def test_update_keeps_what_controllers_own(platform: Platform) -> None:
    namespace = platform.namespace("tenant-owned")
    release, finalizer = "kubernetes-nodes-shop-a", "finalizers.fluxcd.io/helm-release"

    async def work() -> tuple[Object, Object]:
        api = platform.api
        await api.create(pool("shop-a", namespace, labels={"team": "a"}, annotations={"note": "x"}))
        marks = {"labels": {"sharding.fluxcd.io/key": "shard3"}, "annotations": {"reconcile.fluxcd.io/forceAt": "1"}}
        await api.patch("HelmRelease", release, {"metadata": {**marks, "finalizers": [finalizer]}}, namespace)
        await api.replace(pool("shop-a", namespace, {"cluster": "shop", "maxReplicas": 2}))
        stored = await api.get("HelmRelease", release, namespace)
        await api.patch("HelmRelease", release, {"metadata": {"finalizers": None}}, namespace)
        return stored, await api.get("KubernetesNodes", "shop-a", namespace)

    stored, shown = platform.run(work())
    assert stored["metadata"]["labels"]["sharding.fluxcd.io/key"] == "shard3"
    assert "apps.cozystack.io-team" not in stored["metadata"]["labels"]
    assert stored["metadata"]["annotations"] == {"reconcile.fluxcd.io/forceAt": "1"}
    assert stored["metadata"]["finalizers"] == [finalizer]
    assert stored["spec"]["values"] == {"cluster": "shop", "maxReplicas": 2}  # a PUT stores what was sent, as a POST
    assert "annotations" not in shown["metadata"]


def test_null_is_stored_and_read_as_an_empty_map(platform: Platform) -> None:
    namespace = platform.namespace("tenant-null")

    async def work() -> tuple[Object, Object]:
        spec = {"cluster": "shop", "osImage": {"builtin": None}}
        shown = await platform.api.create(pool("shop-a", namespace, spec))
        return shown, await platform.api.get("HelmRelease", "kubernetes-nodes-shop-a", namespace)

    shown, stored = platform.run(work())
    assert shown["spec"]["osImage"] == {"builtin": {}}
    assert stored["spec"]["values"]["osImage"] == {"builtin": None}


def test_tenant_tells_its_namespace(platform: Platform) -> None:
    platform.namespace("tenant-root")

    async def work() -> tuple[Object, Object]:
        tenant = {
            "apiVersion": "apps.cozystack.io/v1alpha1",
            "kind": "Tenant",
            "metadata": {"namespace": "tenant-root"},
        }
        tenant["metadata"]["name"] = "acme"
        shown = await platform.api.create(tenant)
        return shown, await platform.api.get("HelmRelease", "tenant-acme", "tenant-root")

    shown, stored = platform.run(work())
    assert shown["status"] == {"namespace": "tenant-acme"}
    assert stored["spec"]["install"]["timeout"] == "15m0s"
    assert "disableWait" not in stored["spec"]["install"]


def test_restart_loses_nothing(platform: Platform) -> None:
    namespace = platform.namespace("tenant-restart")

    async def work() -> list[str]:
        await platform.api.create(pool("shop-a", namespace))
        await platform.serving.close()
        platform.serving = await serve(platform.api, platform.home)
        await register(platform.api, platform.serving.url, (platform.home / "certs/ca.crt").read_text())
        return await names(platform.api, namespace)

    assert platform.run(work()) == ["shop-a"]


# --- documents, access ------------------------------------------------------------------------------------------------


def test_openapi_shows_each_spec_and_can_hide_os_image(platform: Platform) -> None:
    options = platform.home / "apps-api.options.json"

    async def schemas() -> Object:
        return (await platform.api.request("GET", OPENAPI_PATH))["components"]["schemas"]

    found = platform.run(schemas())
    for kind in ("Kubernetes", "KubernetesNodes", "Tenant"):
        schema = found[SPEC_SCHEMA.format(kind)]
        mark = {"group": "apps.cozystack.io", "version": "v1alpha1", "kind": kind}
        assert schema["x-kubernetes-group-version-kind"] == [mark]
    nodes = SPEC_SCHEMA.format("KubernetesNodes")
    assert set(found[nodes]["properties"]["spec"]["properties"]["osImage"]["properties"]) == {"builtin", "factory"}
    try:
        options.write_text(json.dumps({"without_os_image": True}))
        hidden = platform.run(schemas())[nodes]["properties"]["spec"]["properties"]
        assert "osImage" not in hidden
        assert "talos" in hidden
    finally:
        options.unlink()
    assert "osImage" in platform.run(schemas())[nodes]["properties"]["spec"]["properties"]


def test_aggregated_discovery_lists_the_kinds(platform: Platform) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

    async def work() -> Object:
        async with platform.api._session.get(platform.api.server + "/apis", headers={"Accept": accept}) as answer:
            items = (await answer.json())["items"]
        return next(item for item in items if item["metadata"]["name"] == "apps.cozystack.io")

    (found,) = platform.run(work())["versions"]
    assert found["freshness"] == "Current"
    assert [item["resource"] for item in found["resources"]] == ["kuberneteses", "kubernetesnodeses", "tenants"]


def test_generic_client_finds_the_kinds(platform: Platform) -> None:
    kubernetes = pytest.importorskip("kubernetes")
    namespace = platform.namespace("tenant-generic")

    def work() -> Object:
        client = kubernetes.config.new_client_from_config(str(platform.home / "kubeconfig"))
        dynamic = kubernetes.dynamic.DynamicClient(client)
        resource = dynamic.resources.get(api_version="apps.cozystack.io/v1alpha1", kind="KubernetesNodes")
        resource.create(body=pool("shop-a", namespace), namespace=namespace)
        patch = {"spec": {"maxReplicas": 4}}
        resource.patch(name="shop-a", namespace=namespace, body=patch, content_type=MERGE)
        return resource.get(name="shop-a", namespace=namespace).to_dict()

    assert platform.run(asyncio.to_thread(work))["spec"]["maxReplicas"] == 4


async def _service_account_api(platform: Platform, namespace: str) -> Api:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "nobody", "namespace": namespace}}
    await platform.api.ensure(account)
    path = KINDS["ServiceAccount"].path(namespace, "nobody", "token")
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = (await platform.api.request("POST", path, request))["status"]["token"]
    config = yaml.safe_load((platform.home / "kubeconfig").read_text())
    config["users"][0]["user"] = {"token": token}
    mine = platform.home / "nobody.kubeconfig"
    mine.write_text(yaml.safe_dump(config))
    return Api(mine, "nobody")


def test_rights_are_judged_by_kube_apiserver(platform: Platform) -> None:
    namespace = platform.namespace("tenant-rights")

    async def work() -> tuple[ApiError, list[str]]:
        async with await _service_account_api(platform, namespace) as nobody:
            refused = await fails(names(nobody, namespace))
            meta = {"name": "pools", "namespace": namespace}
            rules = [{"apiGroups": ["apps.cozystack.io"], "resources": ["kubernetesnodeses"], "verbs": ["list"]}]
            group = "rbac.authorization.k8s.io"
            await platform.api.create({"apiVersion": f"{group}/v1", "kind": "Role", "metadata": meta, "rules": rules})
            binding = {"apiVersion": f"{group}/v1", "kind": "RoleBinding", "metadata": meta}
            binding["roleRef"] = {"apiGroup": group, "kind": "Role", "name": "pools"}
            binding["subjects"] = [{"kind": "ServiceAccount", "name": "nobody", "namespace": namespace}]
            await platform.api.create(binding)
            while True:  # the authorizer hears of it by a watch
                with contextlib.suppress(ApiError):
                    return refused, await names(nobody, namespace)
                await asyncio.sleep(0.02)

    refused, listed = platform.run(work())
    assert refused.status == 403
    assert f'"system:serviceaccount:{namespace}:nobody" cannot list resource "kubernetesnodeses"' in str(refused)
    assert listed == []


def test_only_the_aggregator_gets_in(platform: Platform) -> None:
    async def work() -> None:
        trusting = ssl.create_default_context(cafile=str(platform.home / "certs/ca.crt"))
        trusting.check_hostname = False
        async with aiohttp.ClientSession() as session:
            await session.get(platform.serving.url + GROUP_PATH, ssl=trusting)

    with pytest.raises(aiohttp.ClientError):
        platform.run(work())
