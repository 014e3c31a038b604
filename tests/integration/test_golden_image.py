# SPDX-License-Identifier: Apache-2.0
"""One golden without the catalog: import, adoption, refusals, recreation, retirement."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.site import PRODUCT, SCHEMATIC, Site, golden
from tests.integration.test_modules import twelve

SCENARIO = "demo"
pytestmark = pytest.mark.lab
POOL = {"namespace": "tenant-acme", "cluster": "shop", "pool": "md0"}


def pair(version: str) -> dict[str, str]:
    return {"schematicID": SCHEMATIC, "version": version}


def source(site: Site) -> dict[str, str]:
    return {"imageFactoryURL": site.lab["image_source"]}


def ids(result: dict[str, Any], key: str = "refusals") -> list[str]:
    return [found["id"] for found in result[key]]


def test_a_golden_comes_and_goes(site: Site) -> None:
    before = site.downloads()
    created, deleted = twelve(
        site,
        "golden_image",
        {**pair("v1.13.7"), **source(site), "storage": "6Gi"},
        {**pair("v1.13.7"), "state": "absent"},
    )
    assert created[0]["golden"]["state"] == "planned"
    assert created[2]["golden"]["state"] == "ready"
    assert created[3]["golden"]["state"] == "ready"
    assert deleted[2]["golden"]["state"] == "absent"
    assert site.downloads() == before + 1
    assert site.get("DataVolume", golden("v1.13.7"), "cozy-public") is None
    assert site.get("PersistentVolumeClaim", golden("v1.13.7"), "cozy-public") is None


def test_a_golden_is_adopted_or_refused_with_every_field(site: Site) -> None:
    made = site.module("golden_image", **pair("v1.13.8"), **source(site))
    assert made["golden"]["state"] == "ready"
    mark = site.mark()
    same = site.module(
        "golden_image", **pair("v1.13.8"), imageFactoryURL=source(site)["imageFactoryURL"] + "/", storage="6144Mi"
    )
    assert same["changed"] is False
    other = site.module(
        "golden_image",
        **pair("v1.13.8"),
        imageFactoryURL="http://other.example.net",
        storage="8Gi",
        storageClass="local",
    )
    assert other["failed"] is True
    assert ids(other) == ["golden-immutable"]
    assert other["refusals"][0]["evidence"]["fields"] == ["storage", "storageClass", "imageFactoryURL"]
    assert site.since(mark).writes().count() == 0


def test_a_golden_of_nobody_gets_the_marks_of_the_catalog(site: Site) -> None:
    name = golden("v1.13.8")
    gone = {"meta.helm.sh/release-name": None, "kubernetes-worker-image.cozystack.io/talos-version": None}
    site.patch(
        "DataVolume",
        name,
        {"metadata": {"annotations": gone, "labels": {"app.kubernetes.io/managed-by": None}}},
        "cozy-public",
    )
    foreign = site.module("golden_image", **pair("v1.13.8"), state="absent")
    assert ids(foreign) == ["golden-foreign"]
    adopted = site.module("golden_image", **pair("v1.13.8"))
    assert adopted["changed"] is True
    assert [step["action"] for step in adopted["plan"]["steps"]] == ["patch"]
    found = site.get("DataVolume", name, "cozy-public")
    assert found is not None
    assert found["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"
    assert site.module("golden_image", **pair("v1.13.8"))["changed"] is False


def test_the_catalog_takes_a_golden_over_without_a_second_import(site: Site) -> None:
    before = site.downloads()
    taken = site.module("image_catalog", catalog={**source(site), "images": [pair("v1.13.8")]})
    assert [item["state"] for item in taken["goldens"]] == ["ready"]
    assert site.downloads() == before


def test_all_refusals_at_once_and_nothing_written(site: Site) -> None:
    mark = site.mark()
    wrong = site.module(
        "golden_image",
        schematicID="ABC",
        version="1.13",
        storage="6 Gi",
        storageClass="none",
        imageFactoryURL="ftp://m",
        checksum="sha256:12",
        certConfigMap="no-such",
        secretRef="no-such",
    )
    assert ids(wrong) == [
        "schematic-format",
        "version-format",
        "factory-url-format",
        "storage-format",
        "storage-class-unknown",
        "checksum-format",
        "checksum-unsupported",
        "ca-config-map-missing",
        "source-secret-missing",
    ]
    assert site.since(mark).writes().count() == 0


def test_a_used_golden_stays(site: Site) -> None:
    spec = {"minReplicas": 0, "maxReplicas": 2, "osImage": {"builtin": {"version": "v1.13.8"}}}
    assert site.module("node_pools", pools=[{**POOL, "spec": spec}])["changed"] is True
    mark = site.mark()
    kept = site.module("golden_image", **pair("v1.13.8"), state="absent")
    assert kept["failed"] is True
    assert "golden-declared" in ids(kept)
    assert "tenant-acme/shop-md0" in kept["msg"]
    later = site.module("golden_image", **pair("v1.13.8"), state="absent", when_free=True)
    assert (later["changed"], later["pending"]) == (False, True)
    assert later["golden"]["state"] == "pending"
    assert "golden-declared" in ids(later, "advice")
    forced = site.module("golden_image", **pair("v1.13.8"), state="absent", accept=["golden-declared"])
    assert "cannot be accepted" in forced["msg"]
    assert site.since(mark).writes().count() == 0


def test_a_freed_golden_goes_and_the_catalog_is_named(site: Site) -> None:
    site.module("node_pools", pools=[{**POOL, "spec": {"osImage": {"factory": source(site)}}}])
    assert site.wait_for("KubevirtMachineTemplate", lambda one: "http" in json.dumps(one["spec"]))
    done = site.module(
        "golden_image", **pair("v1.13.8"), state="absent", accept=["golden-in-idle-template"], force_render=True
    )
    assert done["changed"] is True
    assert ids(done, "advice") == ["golden-still-listed"]
    assert [step["kind"] for step in done["plan"]["steps"]] == ["DataVolume", "HelmRelease"]
    # The catalog still lists it, and was forced: it comes back.
    back = site.module("image_catalog", catalog={"images": [pair("v1.13.8")]})
    assert [item["state"] for item in back["goldens"]] == ["ready"]


def test_a_stuck_golden_is_recreated_with_consent_only(site: Site) -> None:
    name = golden("v1.13.5")
    site.misbehave({"action": "evict", "match": name, "times": 1})
    stuck = site.module("golden_image", **pair("v1.13.5"), **source(site))
    assert stuck["failed"] is True
    assert "stuck, importer pod" in stuck["msg"]
    assert stuck["goldens"][0]["trouble"] == "importer-pod-failed"
    uid = site.get("DataVolume", name, "cozy-public")["metadata"]["uid"]  # type: ignore[index]
    again = site.module("golden_image", **pair("v1.13.5"), wait=False)
    assert (again["changed"], ids(again, "advice")) == (False, ["golden-in-trouble"])
    mark = site.mark()
    check = site.module("golden_image", check=True, **pair("v1.13.5"), **source(site), recreate="stuck")
    assert [step["action"] for step in check["plan"]["steps"]] == ["delete", "create"]
    assert site.since(mark).writes().count() == 0
    anew = site.module("golden_image", **pair("v1.13.5"), **source(site), recreate="stuck")
    assert anew["plan"] == check["plan"]
    assert anew["golden"]["state"] == "ready"
    assert site.get("DataVolume", name, "cozy-public")["metadata"]["uid"] != uid  # type: ignore[index]
    assert site.module("golden_image", **pair("v1.13.5"), recreate="stuck")["changed"] is False


def test_a_stuck_golden_that_is_being_cloned_stays(site: Site) -> None:
    name = golden("v1.13.4")
    site.misbehave({"action": "evict", "match": name, "times": 1})
    site.module("golden_image", **pair("v1.13.4"), **source(site))
    spec = {
        "source": {"pvc": {"namespace": "cozy-public", "name": name}},
        "storage": {"resources": {"requests": {"storage": "6Gi"}}},
    }
    disk = {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": {"name": "d", "namespace": "tenant-acme"},
        "spec": spec,
    }
    site.api(lambda api: api.create(disk))
    mark = site.mark()
    kept = site.module("golden_image", **pair("v1.13.4"), **source(site), recreate="stuck")
    assert ids(kept) == ["golden-being-cloned"]
    assert "tenant-acme/d" in kept["msg"]
    assert site.since(mark).writes().count() == 0
    site.api(lambda api: api.delete("DataVolume", "d", "tenant-acme"))


def test_retiring_what_is_not_there_costs_two_reads(site: Site) -> None:
    mark = site.mark()
    gone = site.module("golden_image", **pair("v1.2.3"), state="absent")
    assert (gone["changed"], gone["golden"]["state"]) == (False, "absent")
    assert site.since(mark).count() == 2


def test_unknown_option_values_are_refused_by_name(site: Site) -> None:
    run = site.play({f"{PRODUCT}.golden_image": {**pair("v1.13.6"), "src": "/nonexistent/image.xz"}})
    assert ids(run.result) == ["upload-file-unusable"]
    assert "/nonexistent/image.xz" in run.result["msg"]
