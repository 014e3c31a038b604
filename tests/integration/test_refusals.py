# SPDX-License-Identifier: Apache-2.0
"""Dangerous or impossible wishes are refused before the first write, all together, each with a way out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.site import CATALOG, PLATFORM, PRODUCT, SCHEMATIC, Site, golden

SCENARIO = "demo"
pytestmark = pytest.mark.lab
ENTRY = {"schematicID": SCHEMATIC, "version": "v1.13.6"}


def package_with(site: Site, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator[None]:
    """Lay a merge patch over the platform Package, and put the old spec back afterwards."""
    before = site.get("Package", PLATFORM)
    assert before is not None
    site.patch("Package", PLATFORM, change(before))
    try:
        yield
    finally:
        site.api(lambda api: restore(api, before))


async def restore(api: Any, before: dict[str, Any]) -> None:
    live = await api.get("Package", before["metadata"]["name"])
    await api.replace(
        {**before, "metadata": {**before["metadata"], "resourceVersion": live["metadata"]["resourceVersion"]}}
    )


platform_with = contextmanager(package_with)


def both(site: Site, module: str, **options: Any) -> list[dict[str, Any]]:
    """Results of one task for real and in check mode."""
    task = {f"{PRODUCT}.{module}": options}
    return site.play(task, {**task, "check_mode": True}).results


def values(inner: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"components": {"platform": {"values": inner}}}}


@pytest.mark.parametrize(
    ("change", "rule", "words"),
    [
        (lambda _: {"spec": {"variant": "isp-hosted"}}, "platform-variant-without-iaas", "isp-hosted"),
        (
            lambda _: values({"bundles": {"disabledPackages": [CATALOG]}}),
            "package-disabled",
            "wins over enabledPackages",
        ),
        (lambda _: values({"bundles": {"iaas": {"enabled": False}}}), "platform-iaas-disabled", "bundles.iaas.enabled"),
    ],
)
def test_a_platform_that_would_ignore_the_catalog_is_refused(site: Site, change: Any, rule: str, words: str) -> None:
    with platform_with(site, change):
        mark = site.mark()
        for result in both(site, "image_catalog", catalog={"images": [ENTRY]}):
            assert result["failed"]
            assert [finding["id"] for finding in result["refusals"]] == [rule]
            assert words in result["msg"]
            assert "What to do:" in result["msg"]
        assert not site.since(mark).writes()


def test_all_refusals_of_a_catalog_come_at_once(site: Site) -> None:
    mark = site.mark()
    images = [{"version": "v1.13"}, ENTRY, ENTRY, {"schematicID": "UPPER", "version": "v1.13.6"}]
    result = site.module("image_catalog", catalog={"imageFactoryURL": "ftp://mirror", "images": images})
    found = {finding["id"] for finding in result["refusals"]}
    assert found == {
        "entry-schematic-required",
        "version-format",
        "entry-duplicate",
        "schematic-format",
        "factory-url-format",
    }
    assert all(finding["remedy"] and finding["subject"] for finding in result["refusals"])
    assert not site.since(mark).writes()


def test_all_refusals_of_all_pools_come_at_once(site: Site) -> None:
    pools = [
        {"namespace": "tenant-acme", "cluster": "shop", "pool": "a", "spec": {"osImage": {"builtin": {}}}},
        {
            "namespace": "tenant-acme",
            "cluster": "shop",
            "pool": "b",
            "spec": {"osImage": {"builtin": {}, "factory": {}}},
        },
        {"namespace": "tenant-globex", "cluster": "web", "pool": "c", "spec": {"talos": {"version": "v1.13"}}},
        {"namespace": "tenant-globex", "cluster": "nowhere", "pool": "d", "spec": {"maxReplicas": 2}},
        {"namespace": "tenant-globex", "cluster": "web", "pool": "e", "spec": {"osimage": {"builtin": {}}}},
    ]
    mark = site.mark()
    real, result = both(site, "node_pools", pools=pools)
    assert real["refusals"] == result["refusals"]
    found = {(finding["subject"].split(" ")[0], finding["id"]) for finding in result["refusals"]}
    assert found >= {
        ("tenant-acme/shop-a", "golden-absent"),
        ("tenant-acme/shop-b", "source-ambiguous"),
        ("tenant-globex/web-c", "version-format"),
        ("tenant-globex/nowhere-d", "parent-absent"),
        ("tenant-globex/web-e", "unknown-field"),
    }
    assert "osImage" in result["msg"]
    assert not site.since(mark).writes()
    assert site.list("KubernetesNodes") == []


def test_a_golden_that_only_a_planned_catalog_names_counts_in_check_mode_only(site: Site) -> None:
    pool = {"namespace": "tenant-acme", "cluster": "shop", "pool": "a", "spec": {"osImage": {"builtin": {}}}}
    options = {"pools": [pool], "planned_catalog": {"images": [ENTRY]}}
    task, strict = ({f"{PRODUCT}.node_pools": {**options, **more}} for more in ({}, {"refuse_on": ["golden-planned"]}))
    planned, real, refused = site.play({**task, "check_mode": True}, task, {**strict, "check_mode": True}).results
    assert not planned.get("failed")
    assert "golden-absent" in str(real["refusals"])
    assert [finding["id"] for finding in refused["refusals"]] == ["golden-planned"]


def test_a_platform_without_os_image_refuses_builtin_pools(site: Site) -> None:
    options = site.home / "apps-api.options.json"
    options.write_text(json.dumps({"without_os_image": True}))
    try:
        mark = site.mark()
        pool = {"namespace": "tenant-acme", "cluster": "shop", "pool": "a", "spec": {"osImage": {"factory": {}}}}
        result = site.module("node_pools", pools=[pool])
        assert "feature-missing" in [finding["id"] for finding in result["refusals"]]
        assert not site.since(mark).writes()
    finally:
        options.unlink()


def test_a_catalog_that_the_platform_does_not_ship_is_refused(site: Site) -> None:
    source = site.get("PackageSource", CATALOG)
    assert source is not None
    site.api(lambda api: api.delete("PackageSource", CATALOG))
    try:
        result = site.module("image_catalog", catalog={"images": [ENTRY]}, check=True)
        assert [finding["id"] for finding in result["refusals"]] == ["package-unknown"]
    finally:
        clean = {key: source["metadata"][key] for key in ("name", "labels", "annotations") if key in source["metadata"]}
        site.api(lambda api: api.create({**source, "metadata": clean}))


def test_editing_the_storage_of_an_imported_golden_is_refused_with_every_drifted_field(site: Site) -> None:
    catalog = {"imageFactoryURL": site.lab["image_source"], "storage": "6Gi", "images": [ENTRY]}
    assert not site.module("image_catalog", catalog=catalog).get("failed")
    mark = site.mark()
    drifted = {**catalog, "storage": "8Gi", "imageFactoryURL": "http://other.example", "storageClass": "local"}
    result = site.module("image_catalog", catalog=drifted)
    assert {finding["id"] for finding in result["refusals"]} == {"golden-immutable"}
    for text in (golden(), "8Gi", "6Gi", "http://other.example", "local"):
        assert text in result["msg"]
    assert not site.since(mark).writes()
    same = site.module(
        "image_catalog", catalog={**catalog, "storage": "6144Mi", "imageFactoryURL": site.lab["image_source"] + "//"}
    )
    assert not same.get("failed"), same
    assert same["changed"] is False


UNBOOTABLE = [
    ({"storageClass": "local"}, "storage-class-mismatch"),
    ({"diskSize": "6G"}, "disk-smaller-than-golden"),
    ({"instanceType": "u9.huge"}, "instance-type-missing"),
    ({"version": "v9.9"}, "values-schema"),
]


def test_a_pool_that_could_not_boot_from_the_golden_is_refused(site: Site) -> None:
    pool = {"namespace": "tenant-acme", "cluster": "shop", "pool": "a"}
    specs = [{"osImage": {"builtin": {}}, **spec} for spec, _ in UNBOOTABLE]
    run = site.play(*({f"{PRODUCT}.node_pools": {"pools": [{**pool, "spec": spec}]}} for spec in specs))
    for (spec, rule), result in zip(UNBOOTABLE, run.results, strict=True):
        assert rule in [finding["id"] for finding in result["refusals"]], (spec, result)


def test_an_accepted_rule_lets_the_write_pass_and_says_so(site: Site) -> None:
    """The platform refuses it then: the release's own message is told at once, not at the time-out."""
    pool = {
        "namespace": "tenant-acme",
        "cluster": "shop",
        "pool": "zz",
        "spec": {"osImage": {"builtin": {}}, "diskSize": "6G"},
    }
    result = site.module("node_pools", pools=[pool], accept=["disk-smaller-than-golden"], wait_timeout=60)
    assert result["failed"]
    assert "The platform refused or could not apply 1 of 1 pools: tenant-acme/shop-zz" in result["msg"]
    assert not result.get("timed_out")
    gone = site.module(
        "node_pools", pools=[{key: pool[key] for key in ("namespace", "cluster", "pool")}], state="absent"
    )
    assert gone["changed"] is True
    assert site.get("KubernetesNodes", "shop-zz", "tenant-acme") is None


def test_an_import_without_a_future_ends_the_wait_early(site: Site) -> None:
    version = "v1.13.404"
    url = site.lab["image_source"]
    fault(site, {"path": version, "kind": "status", "status": 404, "count": 100})
    catalog = {"imageFactoryURL": url, "images": [{"schematicID": SCHEMATIC, "version": version}]}
    result = site.module("image_catalog", catalog=catalog, wait_timeout=120)
    assert result["failed"]
    assert "404" in result["msg"]
    assert "failing" in result["msg"]


def fault(site: Site, body: dict[str, Any]) -> None:
    import urllib.request

    request = urllib.request.Request(
        site.lab["image_source"] + "/_lab/faults", json.dumps(body).encode(), method="POST"
    )
    with urllib.request.urlopen(request, timeout=10):
        pass


def test_a_missing_platform_package_is_refused(site: Site) -> None:
    """Last in this file: the platform's releases go with its Package."""
    site.api(lambda api: api.delete("Package", PLATFORM))
    result = site.module("image_catalog", catalog={"images": [ENTRY]}, check=True)
    assert [finding["id"] for finding in result["refusals"]] == ["platform-package-missing"]
    assert not Path(site.home / "nothing").exists()
