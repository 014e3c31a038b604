# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.client import Client
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.errors import KubeError
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.resources import (
    KUBERNETES_NODES,
    PACKAGE,
    Resource,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.snapshot import Scope, Snapshot

from tests.unit._kube.scripted import Scripted, answer, refused, reset

POOL = {"metadata": {"name": "shop-md0", "namespace": "tenant-acme"}}


def client(*answers: Any) -> tuple[Client, Scripted, list[float]]:
    transport, slept = Scripted(*answers), []
    return Client(transport, sleep=slept.append), transport, slept


@pytest.mark.parametrize(
    ("resource", "namespace", "name", "path"),
    [
        (PACKAGE, None, None, "/apis/cozystack.io/v1alpha1/packages"),
        (PACKAGE, "ignored", "a.b", "/apis/cozystack.io/v1alpha1/packages/a.b"),
        (KUBERNETES_NODES, "t", "x", "/apis/apps.cozystack.io/v1alpha1/namespaces/t/kubernetesnodeses/x"),
        (
            KUBERNETES_NODES,
            "t/../q",
            "a/b",
            "/apis/apps.cozystack.io/v1alpha1/namespaces/t%2F..%2Fq/kubernetesnodeses/a%2Fb",
        ),
        (
            Resource("PersistentVolumeClaim", "v1", "persistentvolumeclaims"),
            None,
            None,
            "/api/v1/persistentvolumeclaims",
        ),
    ],
)
def test_paths_are_built_and_escaped(resource: Resource, namespace: Any, name: Any, path: str) -> None:
    assert resource.path(namespace, name) == path


@pytest.mark.parametrize("trouble", [answer(503, Retry_After="1"), answer(500), answer(429), refused(), reset()])
def test_a_read_is_tried_again(trouble: Any) -> None:
    api, transport, slept = client(trouble, answer(200, {"items": [POOL]}))
    assert api.items(KUBERNETES_NODES) == [POOL]
    assert len(transport.asked) == 2
    assert len(slept) == 1


def test_retry_after_is_obeyed_within_reason() -> None:
    api, _, slept = client(answer(429, Retry_After="7"), answer(503, Retry_After="3600"), answer(200, {"items": []}))
    api.items(PACKAGE)
    assert 5 <= slept[0] <= 9
    assert 24 <= slept[1] <= 36


def test_reads_give_up_after_a_bounded_number_of_attempts() -> None:
    api, transport, _ = client(*[refused()] * 9)
    with pytest.raises(
        KubeError, match="Failed to list KubernetesNodes tenant-acme: cannot connect to https://api: Connection refused"
    ):
        api.items(KUBERNETES_NODES, "tenant-acme")
    assert len(transport.asked) == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
def test_an_answer_that_will_not_change_is_not_asked_for_again(status: int) -> None:
    api, transport, _ = client(answer(status, {"message": "no", "reason": "R"}))
    with pytest.raises(KubeError, match=f"{status} no"):
        api.items(PACKAGE)
    assert len(transport.asked) == 1


@pytest.mark.parametrize("trouble", [reset(), answer(500, {"message": "boom"}), answer(504)])
def test_a_write_that_may_have_happened_is_not_sent_again(trouble: Any) -> None:
    api, transport, _ = client(trouble)
    with pytest.raises(KubeError):
        api.create(KUBERNETES_NODES, POOL, "tenant-acme")
    assert len(transport.asked) == 1


@pytest.mark.parametrize("trouble", [refused(), answer(429), answer(503)])
def test_a_write_that_certainly_did_not_happen_is_sent_again(trouble: Any) -> None:
    api, transport, _ = client(trouble, answer(201, POOL))
    assert api.create(KUBERNETES_NODES, POOL, "tenant-acme") == POOL
    assert len(transport.asked) == 2


def test_missing_is_none_when_read_and_false_when_deleted() -> None:
    api, _, _ = client(answer(404, {"message": "x"}), answer(404, {"message": "x"}))
    assert api.get(PACKAGE, "p") is None
    assert api.delete(PACKAGE, "p") is False


@pytest.mark.parametrize("body", [b"<html>login</html>", b"[]", b'{"kind": "Status"}', b'{"items": null}'])
def test_an_answer_that_is_no_list_is_named(body: bytes) -> None:
    api, _, _ = client(answer(200, body))
    with pytest.raises(KubeError, match="is this address a Kubernetes API"):
        api.items(PACKAGE)


def test_a_foreign_error_page_is_quoted_shortly() -> None:
    api, _, _ = client(answer(403, b"<html>\n" + b"x" * 5000))
    with pytest.raises(KubeError) as caught:
        api.items(PACKAGE)
    assert len(str(caught.value)) < 300


def test_credentials_that_are_not_accepted_come_with_a_hint() -> None:
    api, _, _ = client(answer(401, {"message": "Unauthorized"}))
    with pytest.raises(KubeError, match="credentials were not accepted"):
        api.items(PACKAGE)


def page(*names: str, token: str = "") -> Any:
    items = [{"metadata": {"name": name}} for name in names]
    return answer(200, {"metadata": {"continue": token}, "items": items})


def names_of(items: list[dict[str, Any]]) -> list[str]:
    return [item["metadata"]["name"] for item in items]


def test_a_list_is_read_page_by_page() -> None:
    api, transport, _ = client(page("a", "b", token="t1"), page("c", "d", token="t2"), page("e"))
    pages = list(api.pages(PACKAGE, None, "x=y", 2))
    assert [names_of(one) for one in pages] == [["a", "b"], ["c", "d"], ["e"]]
    assert [query for query, _, _ in transport.details] == [
        {"labelSelector": "x=y", "limit": "2"},
        {"labelSelector": "x=y", "limit": "2", "continue": "t1"},
        {"labelSelector": "x=y", "limit": "2", "continue": "t2"},
    ]


def test_an_expired_page_starts_again_in_one_piece() -> None:
    api, transport, _ = client(page("a", token="t1"), answer(410, {"message": "expired"}), page("a", "b"))
    assert names_of(api.items(PACKAGE, limit=1)) == ["a", "b"]
    assert transport.details[-1][0] == {}


def test_an_expired_page_is_told_to_who_reads_pages() -> None:
    api, _, _ = client(page("a", token="t1"), answer(410, {"message": "expired"}))
    with pytest.raises(KubeError, match="410 expired"):
        list(api.pages(PACKAGE, None, None, 1))


def test_other_trouble_of_a_page_is_not_hidden() -> None:
    api, _, _ = client(page("a", token="t1"), answer(403, {"message": "no"}))
    with pytest.raises(KubeError, match="403 no"):
        api.items(PACKAGE, limit=1)


def test_metadata_alone_is_asked_for() -> None:
    api, transport, _ = client(page("a"))
    assert names_of(api.metadata_items(PACKAGE)) == ["a"]
    assert "as=PartialObjectMetadataList" in transport.details[0][2]


@pytest.mark.parametrize(
    ("given", "body"),
    [
        ({}, None),
        ({"uid": "7"}, {"uid": "7"}),
        ({"uid": "7", "resource_version": "8"}, {"uid": "7", "resourceVersion": "8"}),
    ],
)
def test_a_deletion_can_be_bound_to_one_object(given: Any, body: Any) -> None:
    api, transport, _ = client(answer(200, {}))
    assert api.delete(PACKAGE, "a", **given)
    sent = transport.details[0][1]
    assert (sent or {}).get("preconditions") == body


def test_another_object_of_that_name_is_not_deleted() -> None:
    api, _, _ = client(answer(409, {"message": "the UID in the precondition does not match"}))
    with pytest.raises(KubeError) as caught:
        api.delete(PACKAGE, "a", uid="7")
    assert caught.value.conflict


def test_a_snapshot_keeps_what_is_made_of_its_items() -> None:
    api, _, _ = client(page("a", "b", token="t"), page("c"))
    scope = Scope(
        PACKAGE, parse=lambda item: None if item["metadata"]["name"] == "b" else item["metadata"]["name"], limit=2
    )
    assert Snapshot(api).read([scope]).items(PACKAGE) == ["a", "c"]


def test_a_snapshot_whose_pages_expire_is_read_again() -> None:
    api, _, _ = client(page("a", token="t"), answer(410, {"message": "expired"}), page("a", "b"))
    scope = Scope(PACKAGE, parse=lambda item: item["metadata"]["name"], limit=1)
    assert Snapshot(api).read([scope]).items(PACKAGE) == ["a", "b"]


def test_a_list_without_elements_is_empty() -> None:
    api, _, _ = client(answer(200, {"kind": "PartialObjectMetadataList", "items": None}))
    assert api.metadata_items(PACKAGE) == []
