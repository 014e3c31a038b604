# SPDX-License-Identifier: Apache-2.0
"""The judgement as tables: what a server said, and what it means."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._factory.facts import Answer, NoAnswer
from ansible_collections.cozystack.worker_image.plugins.module_utils._factory.image_verdict import (
    LARGEST,
    SMALLEST,
    Seen,
    judge,
    well_formed_version,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._factory.verdict import transient
from hypothesis import given
from hypothesis import strategies as st

from tests.unit._factory.scripted import IMAGE, IMAGE_HEADERS, XZ, text

ID = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515"
URL = f"https://f.example/image/{ID}/v1.13.6/openstack-amd64.raw.xz"
LISTED = ("v1.12.11", "v1.13.5", "v1.13.6", "v1.13.7")
NOT_FOUND = text(404, f'schematic ID "{ID}" not found\n')
NO_VERSION = text(404, "version v1.13.99 is not available\n")
NGINX = text(404, "<html><head><title>404 Not Found</title></head></html>", "text/html")


def seen(get: Answer | NoAnswer | None, version: str = "v1.13.6", **known: Any) -> Seen:
    head = get if isinstance(get, NoAnswer) else IMAGE
    return Seen(URL, ID, version, **{"head": head, "get": None if isinstance(get, NoAnswer) else get, **known})


def image(body: bytes = XZ, status: int = 200, **headers: str) -> Answer:
    return Answer(status, IMAGE_HEADERS | {key.replace("_", "-"): value for key, value in headers.items()}, body)


@pytest.mark.parametrize(
    ("found", "kind", "words"),
    [
        (seen(IMAGE), "ok", ["200000000 bytes"]),
        (seen(image(status=206, content_range="bytes 0-511/70000", content_length="512")), "ok", ["70000 bytes"]),
        (seen(image(content_type="application/octet-stream")), "ok", []),
        (seen(image(content_length="nonsense")), "ok", ["unknown size"]),
        # status 200, and not the image
        (seen(text(200, "<html><title>Log in</title>", "text/html; charset=utf-8")), "not_an_image", ["web page", "Log in"]),
        (seen(image(content_type="text/html")), "not_an_image", ["web page"]),
        (seen(image(content_encoding="gzip")), "not_an_image", ["Content-Encoding gzip"]),
        (seen(image(b"\x1f\x8b\x08" + bytes(50))), "not_an_image", ["gzip", "1f 8b 08"]),
        (seen(image(b"QFI\xfb" + bytes(50))), "not_an_image", ["qcow2"]),
        (seen(image(b"version https://git-lfs")), "not_an_image", ["begins with 76 65 72 73 69 6f, not"]),
        (seen(image(b"")), "not_an_image", ["empty file"]),
        (seen(Answer(416, {"content-range": "bytes */0"})), "not_an_image", ["empty file"]),
        (seen(image(content_length=str(SMALLEST - 1))), "not_an_image", ["too small"]),
        (seen(image(content_length=str(SMALLEST))), "ok", []),
        (seen(image(content_length=str(LARGEST))), "ok", []),
        (seen(image(content_length=str(LARGEST + 1))), "not_an_image", ["too large"]),
        # 404 in its kinds
        (seen(NOT_FOUND, versions=LISTED, known=False), "unknown_schematic", ["unknown to this factory", ID, "404"]),
        (seen(NOT_FOUND), "unknown_schematic", []),
        (seen(text(404, "not found"), versions=LISTED, known=False), "unknown_schematic", []),
        (seen(text(404, "not found"), versions=LISTED), "unknown_schematic", ["the release is listed"]),
        (seen(NO_VERSION, "v1.13.99", versions=LISTED, known=True), "unknown_version", ["v1.13.99", "not published"]),
        (seen(NO_VERSION, "v1.13.99", versions=LISTED), "unknown_version", []),
        (seen(text(404, "no extension x for the schematic"), versions=LISTED, known=True), "unknown_version", ["lists Talos v1.13.6"]),
        (seen(NGINX), "not_published", ["404 Not Found", "mirror"]),
        # malformed
        (seen(text(500, "internal server error\n"), "v1.13.06"), "malformed", ["'v1.13.06'", "500", "internal server error"]),
        (seen(text(500, "internal server error\n"), "v1.13.6-a..b"), "malformed", []),
        (seen(text(400, "invalid profile: x\nmore")), "malformed", ["400: invalid profile: x"]),
        # others
        (seen(text(500, "internal server error\n")), "server_error", ["500: internal server error"]),
        (seen(text(503, "")), "server_error", ["status 503"]),
        (seen(text(429, "slow down")), "server_error", ["slow down"]),
        (seen(text(401, "unauthorized")), "unauthorized", ["401: unauthorized"]),
        (seen(text(403, "<Error><Code>AccessDenied</Code></Error>", "application/xml")), "unauthorized", ["AccessDenied"]),
        (seen(text(402, "enterprise feature")), "payment", ["enterprise feature"]),
        (seen(text(410, "gone")), "unexpected", ["410: gone"]),
        (seen(Answer(204)), "unexpected", ["204"]),
        (seen(Answer(302, {"location": "https://sso.example/?state=s3cret"})), "unexpected", ["https://sso.example/?..."]),
        # no answer
        (seen(NoAnswer("dns", "Name or service not known")), "not_reachable", ["does not resolve", "Name or service"]),
        (seen(NoAnswer("refused", "Connection refused")), "not_reachable", ["nothing listens"]),
        (seen(NoAnswer("timeout", "timed out")), "not_reachable", ["no connection within the time"]),
        (seen(NoAnswer("silence", "read timed out")), "not_reachable", ["no answer within the time"]),
        (seen(NoAnswer("reset", "Connection reset by peer")), "not_reachable", ["broke"]),
        (seen(NoAnswer("proxy", "407")), "not_reachable", ["proxy"]),
        (seen(NoAnswer("redirects", "more than 5 redirects")), "unexpected", ["more than 5"]),
        (seen(NoAnswer("address", "Failed to parse")), "unexpected", ["Failed to parse"]),
        (seen(NoAnswer("tls", "unable to get local issuer certificate")), "tls", ["x509: certificate signed by unknown authority"]),
        (seen(NoAnswer("tls", "self-signed certificate in certificate chain")), "tls", ["unknown authority"]),
        (seen(NoAnswer("tls", "certificate has expired")), "tls", ["x509: certificate has expired"]),
        (seen(NoAnswer("tls", "Hostname mismatch, certificate is not valid for 'a'.")), "tls", ["x509: Hostname"]),
        (seen(NoAnswer("tls", "wrong version number")), "tls", ["TLS failed"]),
    ],
)  # fmt: skip
def test_judge(found: Seen, kind: str, words: list[str]) -> None:
    verdict = judge(found)
    assert (verdict.kind, verdict.ok) == (kind, kind == "ok")
    assert [word for word in words if word not in verdict.message] == [], verdict.message
    assert bool(verdict.remedy) != verdict.ok
    assert "s3cret" not in str(verdict)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (seen(NoAnswer("tls", "unable to get local issuer certificate")), ["certConfigMap", "plain http", "ca_cert"]),
        (seen(NoAnswer("tls", "wrong version number")), ["http://"]),
        (seen(NoAnswer("tls", "certificate has expired")), ["renew"]),
        (seen(NoAnswer("silence", "")), ["prewarm"]),
        (seen(NOT_FOUND), ["module schematic", "mirror"]),
        (seen(NO_VERSION, "v1.13.99", versions=LISTED, known=True), ["v1.13.5, v1.13.6, v1.13.7"]),
        (seen(NO_VERSION, "v1.14.0", versions=LISTED, known=True), ["v1.13.7"]),
        (seen(NGINX), [f"/image/{ID}/v1.13.6/"]),
        (seen(image(content_encoding="gzip")), ["compression off"]),
        (seen(text(401, "")), ["token", "secretRef"]),
    ],
)
def test_remedies_name_the_way_out(found: Seen, words: list[str]) -> None:
    remedy = judge(found).remedy
    assert [word for word in words if word not in remedy] == [], remedy


def test_version_in_the_hint_is_of_the_same_minor() -> None:
    remedy = judge(seen(NO_VERSION, "v1.1.9", versions=("v1.1.8", "v1.13.6"), known=True)).remedy
    assert "v1.1.8" in remedy
    assert "v1.13.6" not in remedy


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (seen(image(content_length="")), "no Content-Length"),
        (seen(IMAGE, head=text(405, "")), "HEAD is answered with 405"),
        (seen(IMAGE, head=image(content_length="199999999")), "HEAD says 199999999 bytes and GET 200000000"),
        (seen(image(content_type="text/plain")), "Content-Type is text/plain"),
        (replace(seen(IMAGE), schematic="site-image"), "'site-image' is none of a factory's"),
        (replace(seen(NGINX), schematic=ID[:-1]), "64 hexadecimal digits"),
    ],
)
def test_notes(found: Seen, word: str) -> None:
    notes = judge(found).notes
    assert len(notes) == 1
    assert word in notes[0]


def test_an_image_without_flaw_has_no_notes() -> None:
    assert judge(seen(IMAGE)).notes == ()


@pytest.mark.parametrize(
    ("version", "fine"),
    [
        ("v1.13.6", True), ("1.13.6", True), ("v1.14.0-beta.1", True), ("v1.14.0-0a", True), ("v1.14.0-a-b", True),
        ("v1.13.06", False), ("v01.13.6", False), ("v1.13", False), ("v1.14.0-01", False), ("v1.14.0-a..b", False),
        ("v1.14.0-", False), ("v1.14.0-.", False), ("v1.13.6\n", False), ("latest", False),
    ],
)  # fmt: skip
def test_well_formed_version(version: str, fine: bool) -> None:
    assert well_formed_version(version) is fine


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_transient_statuses(status: int) -> None:
    assert transient(Answer(status))


@pytest.mark.parametrize("answer", [Answer(s) for s in (200, 400, 401, 402, 403, 404, 405, 501)])
def test_final_statuses(answer: Answer) -> None:
    assert not transient(answer)


@given(
    st.integers(100, 599),
    st.dictionaries(st.sampled_from(["content-type", "content-length", "content-range", "location"]), st.text(max_size=20)),
    st.binary(max_size=40),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, (), LISTED]),
    st.text(max_size=12),
)  # fmt: skip
def test_any_answer_has_a_verdict_and_only_xz_is_fine(
    status: int, headers: dict[str, str], body: bytes, known: bool | None, versions: Any, version: str
) -> None:
    verdict = judge(seen(Answer(status, headers, body), version, known=known, versions=versions))
    assert verdict.message
    if verdict.ok:
        assert status in (200, 206)
        assert body.startswith(XZ[:6])
    else:
        assert verdict.remedy
