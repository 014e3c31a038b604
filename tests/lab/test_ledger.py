# SPDX-License-Identifier: Apache-2.0
"""The ledger counts what was asked, no more and no less."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from lab.api import Api, ApiError
from lab.kinds import KINDS
from lab.ledger import Ledger, Requests, parse, parse_mark, table


def event(**changes: Any) -> dict[str, Any]:
    """One entry as kube-apiserver writes it, shortened."""
    entry: dict[str, Any] = {
        "kind": "Event",
        "stage": "ResponseComplete",
        "requestURI": "/apis/cdi.kubevirt.io/v1beta1/namespaces/cozy-public/datavolumes/golden?x=1",
        "verb": "get",
        "user": {"username": "jane"},
        "userAgent": "product/1.0 (linux)",
        "objectRef": {
            "resource": "datavolumes", "namespace": "cozy-public", "name": "golden",
            "apiGroup": "cdi.kubevirt.io", "apiVersion": "v1beta1",
        },
        "responseStatus": {"code": 200},
    }  # fmt: skip
    return entry | changes


def line(**changes: Any) -> bytes:
    return json.dumps(event(**changes)).encode() + b"\n"


def reference(resource: str, group: str = "", **more: str) -> dict[str, str]:
    return {"resource": resource, **({"apiGroup": group} if group else {}), **more}


def write_log(path: Path, *lines: bytes) -> Ledger:
    path.write_bytes(b"".join(lines))
    return Ledger(path)


def test_parse_names_everything() -> None:
    request = parse(line())
    assert request
    assert (request.verb, request.resource, request.namespace, request.name) == (
        "get", "datavolumes.cdi.kubevirt.io", "cozy-public", "golden",
    )  # fmt: skip
    assert (request.subresource, request.user_agent, request.user, request.code) == (
        "",
        "product/1.0 (linux)",
        "jane",
        200,
    )


@pytest.mark.parametrize(
    ("changes", "counted"),
    [
        ({}, True),
        ({"stage": "RequestReceived"}, False),
        ({"stage": "ResponseStarted"}, False),
        ({"verb": "watch"}, False),
        ({"verb": "watch", "stage": "ResponseStarted"}, True),
        ({"stage": "ResponseStarted", "responseStatus": {"code": 401}}, True),
        ({"stage": "ResponseComplete", "responseStatus": {"code": 401}}, False),
        ({"responseStatus": None}, True),
        ({"objectRef": None}, True),
    ],
)
def test_parse_counts_each_request_once(changes: dict[str, Any], counted: bool) -> None:
    assert (parse(line(**changes)) is not None) is counted


@pytest.mark.parametrize("broken", [b"", b"\n", b"{", b"null\n", b"[]\n", b"17\n", b'{"verb": "get"}\n', b"\xff\xfe\n"])
def test_parse_broken_line(broken: bytes) -> None:
    assert parse(broken) is None


@pytest.mark.parametrize(
    ("verb", "target", "write", "review"),
    [
        ("get", reference("secrets"), False, False),
        ("create", reference("secrets"), True, False),
        ("update", reference("packages", "cozystack.io"), True, False),
        ("patch", reference("packages", "cozystack.io", subresource="status"), True, False),
        ("delete", reference("datavolumes", "cdi.kubevirt.io"), True, False),
        ("deletecollection", reference("pods"), True, False),
        ("create", reference("selfsubjectaccessreviews", "authorization.k8s.io"), False, True),
        ("create", reference("localsubjectaccessreviews", "authorization.k8s.io"), False, True),
        ("create", reference("selfsubjectrulesreviews", "authorization.k8s.io"), False, True),
        ("create", reference("tokenreviews", "authentication.k8s.io"), False, True),
        ("create", reference("clusterroles", "rbac.authorization.k8s.io"), True, False),
        ("create", reference("serviceaccounts", subresource="token"), True, False),
        ("get", None, False, False),
    ],
)
def test_writes_and_reviews(verb: str, target: dict[str, str] | None, write: bool, review: bool) -> None:
    request = parse(line(verb=verb, objectRef=target))
    assert request
    assert (request.is_write, request.is_review) == (write, review)


def test_since_mark_filters_and_counts(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    ledger = write_log(log, line(), line(verb="create"))
    mark = ledger.mark()
    assert ledger.since(mark) == Requests()
    with log.open("ab") as handle:
        handle.write(line(verb="list") + line(verb="patch", userAgent="other/2") + line(verb="create"))
    after = ledger.since(mark)
    assert after.by_verb() == {"list": 1, "patch": 1, "create": 1}
    assert after.writes().by_verb() == {"patch": 1, "create": 1}
    assert after.by_agent("product/").writes().count() == 1
    assert ledger.since(mark, "other").count() == 1
    assert ledger.all().count() == 5
    assert after.of("datavolumes.cdi.kubevirt.io", "list").count() == 1
    assert after.of("datavolumes").count() == 0


def test_since_half_written_last_line_is_read_later(tmp_path: Path) -> None:
    log, whole = tmp_path / "audit.log", line(verb="create")
    ledger = write_log(log, line(), whole[:30])
    assert ledger.all().count() == 1
    mark = ledger.mark()
    with log.open("ab") as handle:
        handle.write(whole[30:])
    assert ledger.since(mark).by_verb() == {"create": 1}


def test_since_log_that_was_rotated(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    ledger = write_log(log, line(), line())
    mark = ledger.mark()
    with log.open("ab") as handle:
        handle.write(line(verb="list"))
    log.rename(tmp_path / "audit-2026-12-01T00-00-00.000.log")
    write_log(log, line(verb="patch"))
    assert ledger.since(mark).by_verb() == {"list": 1, "patch": 1}
    log.rename(tmp_path / "audit-2026-12-01T00-00-01.000.log")
    write_log(log, line(verb="delete"))
    assert ledger.since(mark).by_verb() == {"list": 1, "patch": 1, "delete": 1}


def test_since_log_of_a_new_lab(tmp_path: Path) -> None:
    """The mark is of a log that is gone, or longer than this one: everything is new."""
    log = tmp_path / "audit.log"
    ledger = write_log(log, line(), line())
    mark = ledger.mark()
    log.rename(tmp_path / "audit.previous.log")
    write_log(log, line(verb="patch"))
    assert ledger.since(mark).by_verb() == {"patch": 1}
    assert ledger.since(10**9).by_verb() == {"patch": 1}


def test_no_log_yet(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "audit.log")
    assert ledger.mark() == "0:0"
    assert ledger.all() == Requests()


@pytest.mark.parametrize(("mark", "expected"), [("0", (0, 0)), (12, (0, 12)), ("7:12", (7, 12)), (":5", (0, 5))])
def test_parse_mark(mark: str | int, expected: tuple[int, int]) -> None:
    assert parse_mark(mark) == expected


@pytest.mark.parametrize("mark", ["", "x", "1:", "a:1", -1, "1.5"])
def test_parse_mark_refuses(mark: str | int) -> None:
    with pytest.raises(ValueError, match="is no mark"):
        parse_mark(mark)


def test_table_marks_writes() -> None:
    lines = [line(), line(), line(verb="create"), line(verb="get", objectRef=None, requestURI="/openapi/v3?hash=1")]
    text = table(Requests(filter(None, map(parse, lines))))
    assert text.splitlines()[1].split() == ["2", "get", "datavolumes.cdi.kubevirt.io", "product/1.0"]
    assert any(
        row.split() == ["1", "create", "*", "datavolumes.cdi.kubevirt.io", "product/1.0"] for row in text.splitlines()
    )
    assert any(row.split()[1:3] == ["get", "/openapi/v3"] for row in text.splitlines())
    assert text.splitlines()[-1] == "4 requests: 1 writes (*), 0 reviews, 3 reads"


def test_table_of_nothing() -> None:
    assert table(Requests()).splitlines()[-1] == "0 requests: 0 writes (*), 0 reviews, 0 reads"


REVIEW = {
    "apiVersion": "authorization.k8s.io/v1",
    "kind": "SelfSubjectAccessReview",
    "spec": {"resourceAttributes": {"verb": "list", "resource": "secrets"}},
}


async def known_requests(api: Api) -> None:
    """Fourteen requests: seven writes (two of them refused), one review, six reads (one of them a watch)."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "counted", "namespace": "tenant-root"}}
    await api.create(config)
    with contextlib.suppress(ApiError):
        await api.create(config)
    await api.patch("ConfigMap", "counted", {"data": {"a": "b"}}, "tenant-root")
    await api.replace(config | {"data": {"a": "c"}})
    await api.get("ConfigMap", "counted", "tenant-root")
    await api.get("ConfigMap", "missing", "tenant-root")
    version = (await api.request("GET", KINDS["ConfigMap"].path("tenant-root")))["metadata"]["resourceVersion"]
    await api.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", REVIEW)
    await api.list("StorageClass")
    await api.request("GET", "/openapi/v3")
    watch = api.watch("ConfigMap", version)
    await api.delete("ConfigMap", "counted", "tenant-root")
    async for _, found in watch:
        if found["metadata"]["name"] == "counted":
            break
    await watch.aclose()
    await api.request("DELETE", KINDS["ConfigMap"].path("tenant-root"), query={"labelSelector": "none=such"})
    assert not await api.delete("ConfigMap", "counted", "tenant-root")


@pytest.mark.lab
def test_ledger_counts_known_requests_exactly(bare_lab) -> None:
    async def ask() -> None:
        async with bare_lab.api("ledger-test/1 (exact)") as api:
            await known_requests(api)

    mark = bare_lab.ledger.mark()
    asyncio.run(ask())
    requests = bare_lab.ledger.since(mark, "ledger-test/1")
    assert requests.by_verb() == {
        "create": 3, "patch": 1, "update": 1, "get": 3, "list": 2, "watch": 1, "delete": 2, "deletecollection": 1,
    }  # fmt: skip
    assert requests.writes().count() == 7
    assert requests.reviews().count() == 1
    assert requests.reads().count() == 6
    configs = requests.of("configmaps", "create")
    assert [request.code for request in configs] == [201, 409]
    assert {(r.namespace, r.user) for r in configs} == {("tenant-root", "lab-admin")}
    assert [r.code for r in requests.of("configmaps", "delete")] == [200, 404]


@pytest.mark.lab
def test_ledger_sees_many_answers_at_once(bare_lab) -> None:
    """No entry may lag behind its answer, however large the answer is."""

    async def ask() -> None:
        async with bare_lab.api("ledger-test/many") as api:
            for _ in range(5):
                mark = bare_lab.ledger.mark()
                await asyncio.gather(*(api.list("CustomResourceDefinition") for _ in range(8)))
                assert bare_lab.ledger.since(mark, "ledger-test/many").by_verb() == {"list": 8}

    asyncio.run(ask())


@pytest.mark.lab
def test_ledger_counts_a_refused_stranger(bare_lab) -> None:
    async def ask() -> int:
        headers = {"Authorization": "Bearer nonsense", "User-Agent": "ledger-test/stranger"}
        url = bare_lab.about["apiserver"] + "/api/v1/secrets"
        async with aiohttp.ClientSession() as session, session.get(url, headers=headers, ssl=False) as answer:
            return answer.status

    mark = bare_lab.ledger.mark()
    assert asyncio.run(ask()) == 401
    requests = bare_lab.ledger.since(mark, "ledger-test/stranger")
    assert [(r.verb, r.resource, r.code) for r in requests] == [("list", "secrets", 401)]


@pytest.mark.lab
def test_ledger_command(bare_lab, cli: Callable[..., tuple[int, str, str]]) -> None:
    code, mark, _ = cli("ledger", "--home", bare_lab.home, "--mark")
    assert code == 0

    async def ask() -> None:
        async with bare_lab.api("ledger-test/cli") as api:
            await api.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tenant-cli"}})
            await api.get("Namespace", "tenant-cli")

    asyncio.run(ask())
    arguments = ("ledger", "--home", bare_lab.home, "--since", mark.strip(), "--user-agent", "ledger-test/cli")
    _, output, _ = cli(*arguments)
    assert output.splitlines()[-1] == "2 requests: 1 writes (*), 0 reviews, 1 reads"
    _, output, _ = cli(*arguments, "--json")
    assert [(r["verb"], r["write"]) for r in map(json.loads, output.splitlines())] == [("create", True), ("get", False)]


@pytest.mark.lab
def test_kubernetes_client_is_seen_by_its_agent(bare_lab) -> None:
    """The kubeconfig is one that the Python client of the product reads."""
    code = (
        "from kubernetes import client, config; config.load_kube_config();"
        "api = client.ApiClient(); api.user_agent = 'ledger-test/client';"
        "print(len(client.StorageV1Api(api).list_storage_class().items))"
    )
    mark = bare_lab.ledger.mark()
    answer = subprocess.run(
        [sys.executable, "-c", code], env=bare_lab.environment, capture_output=True, text=True, check=True
    )  # fmt: skip
    assert answer.stdout.strip() == "2"
    assert bare_lab.ledger.since(mark, "ledger-test/client").by_verb() == {"list": 1}
