# SPDX-License-Identifier: Apache-2.0
"""Modules schematic and image_probe_info against an imitation of a factory and of a mirror, by real ansible-playbook."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.site import PRODUCT, SCHEMATIC, Run, Site

SCENARIO = "demo"
pytestmark = pytest.mark.lab
CUSTOM = {"systemExtensions": {"officialExtensions": ["siderolabs/qemu-guest-agent"]}}
FILE = "openstack-amd64.raw.xz"
DRBD = {"systemExtensions": {"officialExtensions": ["siderolabs/qemu-guest-agent", "siderolabs/drbd"]}}
DRBD_ID = "9994bbd63cb127e263b1957d85575054f9fceaa6d08c0609c5813134284f147d"


class Source:
    """The lab's image source: scripted, and asked what it was asked."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.url, self.tls, self.ca = (site.lab[key] for key in ("image_source", "image_source_tls", "image_source_ca"))

    def lab(self, action: str, body: Any) -> None:
        request = urllib.request.Request(f"{self.url}/_lab/{action}", json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=10):
            pass

    def counts(self) -> dict[str, dict[str, int]]:
        with urllib.request.urlopen(f"{self.url}/_lab/counts", timeout=10) as answer:
            return dict(json.load(answer))

    def posts(self) -> int:
        return sum(count.get("post", 0) for count in self.counts().values())

    def image(self, version: str = "v1.13.6", schematic: str = SCHEMATIC) -> dict[str, Any]:
        return {"schematicID": schematic, "version": version}

    def probe(self, *images: dict[str, Any], flags: tuple[str, ...] = (), **options: Any) -> Run:
        wanted = {"imageFactoryURL": self.url, "images": list(images) or [self.image()], **options}
        return self.site.play({f"{PRODUCT}.image_probe_info": wanted}, flags=flags)

    def probes(self, *tasks: dict[str, Any]) -> list[dict[str, Any]]:
        """The first image of each task, in one playbook."""
        given = [{"imageFactoryURL": self.url, "images": self.image(), **options} for options in tasks]
        run = self.site.play(*({f"{PRODUCT}.image_probe_info": options} for options in given))
        assert [result.get("msg") for result in run.results if result.get("failed")] == [], run.output
        return [result["images"][0] for result in run.results]


@pytest.fixture
def source(site: Site) -> Iterator[Source]:
    found = Source(site)
    found.lab("reset", {})
    yield found
    found.lab("reset", {})


def test_schematic_is_registered_once_and_check_mode_posts_nothing(site: Site, source: Source) -> None:
    source.lab("mode", {"strict": True})
    source.lab("unknown", {"schematics": [DRBD_ID]})
    task = {f"{PRODUCT}.schematic": {"imageFactoryURL": source.url + "/", "customization": DRBD, "version": "v1.13.6"}}
    checks = site.play(task, task, check=True)
    assert [result["changed"] for result in checks.results] == [True, True]
    assert source.posts() == 0
    run = site.play(task, task, {**task, "check_mode": True})
    first, second, third = run.results
    assert [first["changed"], second["changed"], third["changed"]] == [True, False, False]
    assert [first["known"], second["known"]] == [False, True]
    assert source.posts() == 1
    assert first["plan"] == checks.results[0]["plan"]
    assert first["diff"] == checks.results[0]["diff"]
    for result in (*checks.results, *run.results):
        assert result["id"] == DRBD_ID
        assert "siderolabs/drbd" in result["schematic"]
        assert result["image_url"] == f"{source.url}/image/{DRBD_ID}/v1.13.6/{FILE}"
        assert result["installer_image"] == f"{source.url.removeprefix('http://')}/installer/{DRBD_ID}:v1.13.6"
    assert not [warning for result in run.results for warning in result.get("warnings", [])]


def test_schematic_whose_id_cannot_be_computed(site: Site, source: Source) -> None:
    task = {"imageFactoryURL": source.url, "customization": {"extraKernelArgs": ["panic: 10"]}}
    first = site.module("schematic", **task)
    assert (first["changed"], first["known"]) == (True, None)
    assert f"schematicID: {first['id']}" in first["warnings"][0]
    known, other, contradiction = site.play(
        {f"{PRODUCT}.schematic": {**task, "schematicID": first["id"]}},
        {f"{PRODUCT}.schematic": {**task, "customization": {"extraKernelArgs": ["panic: 20"]}, "schematicID": first["id"]}},
        {f"{PRODUCT}.schematic": {"imageFactoryURL": source.url, "customization": DRBD, "schematicID": SCHEMATIC}},
    ).results  # fmt: skip
    assert (known["changed"], known["known"]) == (False, True)
    assert "another schematic than the declared one" in other["msg"]
    assert "'panic: 10'" in other["msg"]
    assert DRBD_ID in contradiction["msg"]
    assert SCHEMATIC in contradiction["msg"]


def test_schematic_at_what_cannot_register(site: Site, source: Source) -> None:
    def failed(mode: dict[str, Any], check: bool = False, **options: Any) -> dict[str, Any]:
        source.lab("mode", mode)
        result = site.module(
            "schematic", check=check, **{"imageFactoryURL": source.url, "customization": DRBD, "timeout": 2, **options}
        )
        assert result["failed"], result
        return result

    for check in (True, False):
        mirror = failed({"kind": "mirror"}, check=check)
        assert mirror["class"] == "not_a_factory"
        assert "plain mirror" in mirror["msg"]
        assert "publish its image" in mirror["msg"]
    assert source.posts() == 0
    private = failed({"secret": "hunter2hunter2"})
    assert private["class"] == "unauthorized"
    assert "401: unauthorized" in private["msg"]
    typo = failed({}, customization={"systemExtension": {}})
    assert "did you mean systemExtensions?" in typo["msg"]
    source.lab(
        "faults",
        [{"path": "/schematics", "kind": "status", "status": 503, "methods": ["GET"], "text": "registry is down\n"}],
    )
    down = failed({})
    assert (down["class"], down["status"]) == ("server_error", 503)
    assert "503: registry is down" in down["msg"]


def test_a_factory_with_another_opinion_on_the_id(site: Site, source: Source) -> None:
    source.lab("unknown", {"schematics": [DRBD_ID]})
    other = {"id": "ab" * 32, "schematic": "owner: someone\ncustomization: {}\n"}
    fault = {"path": "^/schematics$", "kind": "status", "status": 201, "methods": ["POST"], "text": json.dumps(other)}
    source.lab("faults", [fault])
    result = site.module("schematic", imageFactoryURL=source.url, customization=DRBD)
    assert result["failed"]
    for word in (DRBD_ID, other["id"], "owner: someone", "siderolabs/drbd", "declare owner"):
        assert word in result["msg"]


def test_an_old_factory_that_cannot_tell_what_it_knows(site: Site, source: Source) -> None:
    source.lab("mode", {"schematic_route": False})
    result = site.module("schematic", imageFactoryURL=source.url, customization=DRBD)
    assert (result["changed"], result["known"], result["id"]) == (True, None, DRBD_ID)
    assert "older than v0.9.0" in result["warnings"][0]


def test_strict_factory_tells_404s_and_malformed_versions_apart(site: Site, source: Source) -> None:
    source.lab("mode", {"strict": True})
    site.module("schematic", imageFactoryURL=source.url, customization=CUSTOM)
    images = [
        source.image(),
        source.image(schematic="f" * 64),
        source.image("v1.13.99"),
        source.image("v1.13.06"),
        source.image("1.13"),
        {**source.image(), "imageFactoryURL": "ftp://mirror.example"},
        {**source.image(), "storage": "6Gi", "storageClass": "replicated"},
    ]
    result = source.probe(*images).result
    found = result["images"]
    kinds = ["ok", "unknown_schematic", "unknown_version", "malformed", "malformed", "malformed", "ok"]
    assert [image["class"] for image in found] == kinds
    assert not result["ok"]
    assert not result["changed"]
    assert "not found" in found[1]["message"]
    assert "register it there" in found[1]["remedy"]
    assert "v1.13.9" in found[2]["remedy"]
    assert [image["status"] for image in found] == [200, 404, 404, 500, 0, 0, 200]
    assert [image["attempts"] for image in found[3:6]] == [2, 0, 0]
    path = f"/image/{SCHEMATIC}/v1.13.6/{FILE}"
    count = source.counts()[path]
    # The same image twice is asked for once; and nobody downloads an image to look at six bytes.
    assert (count["head"], count["get"]) == (1, 1)
    source.lab("mode", {"strict": True, "schematic_route": False})
    assert source.probe(source.image("v1.13.99")).result["images"][0]["class"] == "unknown_version"


def test_mirror(source: Source) -> None:
    source.lab("mode", {"kind": "mirror"})
    found = source.probe().result["images"][0]
    assert (found["class"], found["status"], found["type"]) == ("ok", 206, "application/octet-stream")
    assert found["length"] > 100_000
    assert source.counts()[f"/image/{SCHEMATIC}/v1.13.6/{FILE}"]["bytes"] == 512
    source.lab("mode", {"kind": "mirror", "strict": True})
    missing = source.probe(source.image("v1.13.99")).result["images"][0]
    assert (missing["class"], missing["status"]) == ("not_published", 404)
    assert "404: 404 Not Found" in missing["message"]


FAULTS: list[tuple[dict[str, Any], str, str]] = [
    ({"kind": "html"}, "not_an_image", "a web page (Not here)"),
    ({"kind": "status", "status": 402, "text": "enterprise\n"}, "payment", "402: enterprise"),
    ({"kind": "status", "status": 403, "text": "denied\nsecond line"}, "unauthorized", "403: denied"),
    ({"kind": "status", "status": 400, "text": "no extension x for v1.13.6\n"}, "malformed", "400: no extension x for v1.13.6"),
    ({"kind": "status", "status": 503}, "server_error", "503: scripted fault"),
    ({"kind": "status", "status": 500, "text": "internal server error\n"}, "server_error", "500: internal server error"),
    ({"kind": "headers", "headers": {"Content-Length": "1024"}}, "not_an_image", "1024 bytes are too small"),
    ({"kind": "headers", "headers": {"Content-Encoding": "gzip"}}, "not_an_image", "Content-Encoding gzip"),
    # Only the importer, which reads all of it, can notice these; that the probe costs nothing is the point here.
    ({"kind": "truncate"}, "ok", "an xz file"),
    ({"kind": "oversize"}, "ok", "an xz file"),
    ({"kind": "slow", "bytes_per_second": 20000}, "ok", "an xz file"),
    ({"kind": "drop"}, "ok", "an xz file"),
]  # fmt: skip


def test_each_fault(source: Source) -> None:
    names = [f"fault{index}" for index in range(len(FAULTS))]
    faults = [
        {**fault, "path": f"/{name}/", "methods": ["GET", "HEAD"]}
        for name, (fault, _, _) in zip(names, FAULTS, strict=True)
    ]
    source.lab("faults", faults)
    result = source.probe(*(source.image(schematic=name) for name in names), timeout=2).result
    for (fault, kind, words), found in zip(FAULTS, result["images"], strict=True):
        assert found["class"] == kind, (fault, found)
        assert words in found["message"], (fault, found)
        assert found["seconds"] < 10, fault
    counts = source.counts()
    final = [counts[f"/image/fault{index}/v1.13.6/{FILE}"]["head"] for index in range(4)]
    assert final == [1, 1, 1, 1], "a 4xx is asked for once"
    assert counts[f"/image/fault4/v1.13.6/{FILE}"]["head"] > 1


def test_fail_on_trouble_names_every_image(source: Source) -> None:
    source.lab("unknown", {"schematics": ["e" * 64]})
    result = source.probe(
        source.image("1.13"), source.image(schematic="e" * 64), source.image(), fail_on_trouble=True
    ).result
    assert result["failed"]
    assert result["msg"].startswith("2 of 3 images cannot be imported:")
    for word in ("'1.13' is not a Talos release", "e" * 64, "[unknown_schematic]", "What to do: register"):
        assert word in result["msg"]
    assert len(result["images"]) == 3


def test_overload_that_passes_within_the_budget(source: Source) -> None:
    fault = {"path": FILE, "kind": "status", "status": 503, "count": 2, "methods": ["HEAD"]}
    source.lab("faults", [fault, {"path": FILE, "kind": "status", "status": 502, "count": 1}])
    found = source.probe(timeout=30).result["images"][0]
    assert (found["class"], found["attempts"]) == ("ok", 5)
    assert 0.5 < found["seconds"] < 10


def test_prewarm_waits_for_the_build_and_shows_it(source: Source) -> None:
    source.lab("mode", {"build_seconds": 2.5})
    images = [source.image(schematic=f"built{index}") for index in range(2)]
    run = source.probe(*images, prewarm=True)
    assert [found["class"] for found in run.result["images"]] == ["ok", "ok"]
    # Both at once, and the HEAD that waited was the only one.
    assert 2 <= max(found["seconds"] for found in run.result["images"]) < 5
    assert [found["attempts"] for found in run.result["images"]] == [2, 2]
    assert "v1.13.6 of built0: asked for" in run.output
    source.lab("mode", {"build_seconds": 30})
    silent = source.probe(source.image(schematic="built2"), timeout=1).result["images"][0]
    assert silent["class"] == "not_reachable"
    assert "prewarm" in silent["remedy"]


def test_redirects_are_followed_and_their_signatures_not_shown(source: Source) -> None:
    source.lab("mode", {"redirect": True, "secret": "hunter2hunter2"})
    run = source.probe(token="hunter2hunter2", flags=("-vvv",))
    found = run.result["images"][0]
    assert found["class"] == "ok"
    assert found["redirects"] == [f"{source.url}/storage/{SCHEMATIC}/v1.13.6?..."]
    assert "presigned" not in run.output
    assert "hunter2hunter2" not in run.output


def test_tls_with_and_without_the_authority(source: Source, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")
    base = {"imageFactoryURL": source.tls}
    unknown, known, unverified, plain = source.probes(
        base, {**base, "ca_cert": source.ca}, {**base, "validate_certs": False},
        {"imageFactoryURL": source.url.replace("http:", "https:")},
    )  # fmt: skip
    assert unknown["class"] == "tls"
    assert "x509: certificate signed by unknown authority" in unknown["message"]
    assert [word for word in ("certConfigMap", "plain http", "ca_cert") if word not in unknown["remedy"]] == []
    assert known["class"] == "ok"
    assert (known["tls"]["verified"], known["tls"]["issuer"]) == (True, "commonName=lab-image-source-ca")
    assert (unverified["class"], unverified["tls"]["verified"]) == ("ok", False)
    assert plain["class"] == "tls"
    assert "write http://" in plain["remedy"]
    run = source.site.play(
        {f"{PRODUCT}.schematic": {**base, "customization": CUSTOM}},
        {f"{PRODUCT}.schematic": {**base, "customization": CUSTOM, "ca_cert": source.ca}},
        {f"{PRODUCT}.schematic": {**base, "ca_cert": "/no/such.pem"}},
        {f"{PRODUCT}.schematic": {**base, "ca_cert": str(tmp_path / "empty.pem")}},
    )
    refused, fine, missing, empty = run.results
    assert refused["class"] == "tls"
    assert not fine["failed"]
    assert "ca_cert: '/no/such.pem' does not exist" in missing["msg"]
    assert "holds no CA certificate" in empty["msg"]


def test_nobody_answers(source: Source) -> None:
    refused, unknown = source.probes(
        {"imageFactoryURL": "http://127.0.0.1:1"}, {"imageFactoryURL": "http://nowhere.invalid"}
    )
    assert (refused["class"], unknown["class"]) == ("not_reachable", "not_reachable")
    assert "Connection refused" in refused["message"]
    assert "does not resolve" in unknown["message"]


@pytest.mark.parametrize("credentials", [{"token": "hunter2hunter2"}, {"username": "u", "password": "hunter2hunter2"}])
def test_credentials_work_and_are_never_shown(site: Site, source: Source, credentials: dict[str, str]) -> None:
    source.lab("mode", {"secret": "hunter2hunter2"})
    register = {"imageFactoryURL": source.url, "customization": CUSTOM, **credentials}
    ask = {"imageFactoryURL": source.url, "images": source.image(), **credentials}
    elsewhere = {**ask, "imageFactoryURL": source.tls, "ca_cert": source.ca,
                 "images": {**source.image(), "imageFactoryURL": source.url}}  # fmt: skip
    run = site.play(
        {f"{PRODUCT}.schematic": register},
        {f"{PRODUCT}.image_probe_info": ask},
        {f"{PRODUCT}.image_probe_info": elsewhere},
        {f"{PRODUCT}.image_probe_info": {"imageFactoryURL": source.url, "images": source.image(), "token": "0ther"}},
        flags=("-vvv",),
    )
    registered, asked, other, wrong = run.results
    assert not registered["failed"]
    assert asked["ok"]
    # Credentials belong to the host of the option, not to another that an image names.
    assert other["images"][0]["class"] == "unauthorized"
    assert wrong["images"][0]["class"] == "unauthorized"
    assert "hunter2hunter2" not in run.output


def test_options_that_cannot_be_used(site: Site, source: Source) -> None:
    cases: list[tuple[str, dict[str, Any], list[str]]] = [
        ("schematic", {"imageFactoryURL": "mirror.example"}, ["imageFactoryURL", "mirror.example"]),
        ("schematic", {"imageFactoryURL": "https://user:hunter2@f.example"}, ["imageFactoryURL", "username and password"]),
        ("schematic", {"imageFactoryURL": "https://f.example/?x=1"}, ["query"]),
        ("schematic", {"imageFactoryURL": source.url, "version": "1.13"}, ["version: '1.13'"]),
        ("schematic", {"imageFactoryURL": source.url, "schematicID": "ABC"}, ["schematicID: 'ABC'"]),
        ("schematic", {"imageFactoryURL": source.url, "timeout": 0}, ["timeout: 0"]),
        ("schematic", {"username": "u"}, ["password"]),
        ("schematic", {"token": "t0ken", "username": "user", "password": "pa55word"}, ["mutually exclusive"]),
        ("schematic", {"kubeconfig": "/x"}, ["kubeconfig"]),
        ("image_probe_info", {"images": []}, ["images: the list is empty"]),
        ("image_probe_info", {"images": "some"}, ["images: a list is expected"]),
        ("image_probe_info", {"images": [{"schematicID": SCHEMATIC}]}, ["images[0].version"]),
        ("image_probe_info", {"images": [{"schematicID": SCHEMATIC, "version": 1.13}]}, ["images[0].version", "quotes"]),
        ("image_probe_info", {"images": [{"schematicId": SCHEMATIC}]}, ["images[0]", "'schematicID'"]),
    ]  # fmt: skip
    run = site.play(*({f"{PRODUCT}.{name}": options} for name, options, _ in cases))
    for (name, options, words), result in zip(cases, run.results, strict=True):
        message = result.get("msg", "")
        assert result.get("failed"), (name, options, result)
        assert [word for word in words if word not in message] == [], (options, message)
        assert "hunter2" not in message
    assert "Traceback" not in run.output
    assert source.posts() == 0


def test_defaults_of_a_cluster_do_not_reach_a_factory(site: Site, source: Source) -> None:
    defaults = {
        "group/cozystack.worker_image.all": {
            "host": "https://k8s.example",
            "username": "admin",
            "password": "hunter2hunter2",
        },
        "group/cozystack.worker_image.factory": {"imageFactoryURL": source.url, "token": "f4ctory-t0ken"},
    }
    source.lab("mode", {"secret": "f4ctory-t0ken"})
    run = site.play(
        {f"{PRODUCT}.image_probe_info": {"images": source.image()}, "module_defaults": defaults},
        {f"{PRODUCT}.schematic": {"customization": CUSTOM}, "module_defaults": defaults},
    )
    assert run.results[0]["ok"], run.output
    assert not run.results[1]["failed"], run.output
