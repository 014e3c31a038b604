# SPDX-License-Identifier: Apache-2.0
"""What messages and remedies must name, and what they must never say."""

from __future__ import annotations

import re

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.judge import judge_catalog, judge_pools
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.state import ClusterState
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.table import ALL_RULES
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool

from .build import CLONE, GOLDEN, NAMESPACE, SCHEMATIC, SIZED, claim, golden, parent, profile, storage_class
from .catalogs import CATALOG_ROWS, DEFAULT, PAIR, entry, live
from .table import FAILING, POOL_ROWS


def only(rule_id, spec, *objects, **known):
    verdict = judge_pools([Pool.named(NAMESPACE, "myk8s-md0", spec)], ClusterState.from_objects(objects, **known))
    (finding,) = [item for item in (*verdict.refusals, *verdict.advice) if item.id == rule_id]
    return finding


def every_text():
    for item in ALL_RULES:
        yield item.id, f"{item.cause} {item.remedy}"
    for row in POOL_ROWS:
        verdict = judge_pools([Pool.named(NAMESPACE, row.name, row.spec)], row.state())
        for finding in (*verdict.refusals, *verdict.advice):
            yield f"{row.id} {finding.id}", f"{finding.message} {finding.remedy}"
    for row in CATALOG_ROWS:
        verdict = judge_catalog(row.values, ClusterState.from_objects(row.objects))
        for finding in (*verdict.refusals, *verdict.advice):
            yield f"{row.id} {finding.id}", f"{finding.message} {finding.remedy}"


FORBIDDEN = {
    "promises a copy": r"(?i)fall[s]? back to a|host-assisted|falls? back.*copy",
    "edits the class of an entry": r"(?i)(set|change|edit)[^.;]*entry's storageClass|set the catalog entry's",
    "says that removal deletes": r"(?i)remov\w+ (the|an|this) (entry|package|pool)[^.;]*delet",
    "leaks a python value": r"\bNone\b|\bFraction\(|<[a-z_]+ object",
}


@pytest.mark.parametrize("why", FORBIDDEN)
def test_no_text_says_what_must_not_be_said(why):
    for where, text in every_text():
        assert not re.search(FORBIDDEN[why], text), f"{where} {why}: {text}"


def test_every_remedy_that_deletes_a_golden_forces_the_catalog():
    for where, text in every_text():
        if re.search(r"delete (the )?(DataVolume|golden)", text):
            assert "forceAt" in text, where
            assert "requestedAt" in text, where


def test_absent_golden_names_the_way_out():
    finding = only("golden-absent", {**CLONE, "osImage": {"builtin": {"version": "v1.13.9"}}})
    name = f"talos-worker-{SCHEMATIC}-v1.13.9"
    assert name in finding.message
    assert "version v1.13.9 from osImage.builtin.version" in finding.message
    assert "schematicID " + SCHEMATIC + " from talos.schematicID" in finding.message
    for word in (
        "cozystack.kubernetes-worker-image",
        "bundles.enabledPackages",
        "kubernetesWorkerImage.images",
        "osImage.factory",
        "v1.13.9",
    ):
        assert word in finding.remedy
    assert finding.evidence["golden"] == f"cozy-public/{name}"


def test_failed_golden_names_the_importer():
    finding = only("golden-failed", CLONE, golden("Failed"))
    assert "importer pod in cozy-public" in finding.remedy
    assert f"delete DataVolume cozy-public/{GOLDEN}" in finding.remedy


def test_failing_import_names_count_error_and_that_it_lifts_by_itself():
    finding = only("golden-import-failing", CLONE, golden(**FAILING))
    assert "3 restarts, last error: Error: 404" in finding.message
    assert "lifts by itself" in finding.remedy
    assert finding.evidence["restarts"] == 3


def test_failing_import_of_a_too_large_image_never_heals():
    finding = only(
        "golden-import-failing", CLONE, golden(**{**FAILING, "message": "DataVolume too small to contain image"})
    )
    assert "no attempt can succeed" in finding.remedy
    assert "larger storage" in finding.remedy


def test_failing_import_without_a_message():
    finding = only("golden-import-failing", CLONE, golden(**{**FAILING, "message": ""}))
    assert "last error: Error" in finding.message


def test_class_mismatch_names_the_default_only_when_it_was_used():
    declared = only(
        "storage-class-mismatch",
        {**CLONE, "storageClass": "local"},
        golden(),
        storage_class("replicated", "storageclass.kubernetes.io/is-default-class"),
    )
    assert "default" not in declared.message
    assert declared.evidence["pool_class_from"] == "storageClass"
    chart = only("storage-class-mismatch", CLONE, golden(storage_class="local"))
    assert "replicated (from storageClass (the chart's default))" in chart.message
    asked = only(
        "storage-class-mismatch",
        {**CLONE, "storageClass": ""},
        golden(),
        storage_class("local", "storageclass.kubernetes.io/is-default-class"),
    )
    assert (
        'local (from the cluster\'s default class (storageclass.kubernetes.io/is-default-class is "true" on it))'
        in asked.message
    )
    for word in ("NEW catalog entry", "osImage.factory", "forceAt", GOLDEN):
        assert word in asked.remedy


def test_class_of_a_claim_is_said_to_be_so():
    finding = only("storage-class-mismatch", CLONE, golden(storage_class=None), claim(storage_class="local"))
    assert finding.evidence["golden_class_from"] == "its claim in cozy-public"


def test_size_shows_both_as_written_and_in_bytes():
    finding = only("disk-smaller-than-golden", {**CLONE, "diskSize": "6G"}, golden())
    assert "diskSize 6G (6000000000 bytes)" in finding.message
    assert "6Gi (6442450944 bytes, from its DataVolume in cozy-public)" in finding.message
    assert finding.remedy == "Raise diskSize to 6Gi or more."
    assert (finding.evidence["diskSize_bytes"], finding.evidence["golden_size_bytes"]) == (6000000000, 6442450944)


def test_unreadable_size_is_said_to_be_so():
    finding = only("disk-smaller-than-golden", {**CLONE, "diskSize": "1e1.5"}, golden())
    assert "diskSize 1e1.5 (not a size)" in finding.message
    assert finding.evidence["diskSize_bytes"] is None


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"talos": {"version": "v1.13"}}, "talos.version"),
        ({"osImage": {"factory": {"version": "v1.13"}}}, "osImage.factory.version"),
    ],
)
def test_version_format_names_the_field_and_the_patch(spec, field):
    finding = only("version-format", {**SIZED, **spec})
    assert finding.subject == f"{NAMESPACE}/myk8s-md0 {field}"
    assert finding.message.startswith(f'{field} is "v1.13"')
    assert "the patch number is needed" in finding.message


@pytest.mark.parametrize(("value", "hint"), [("1.13.6", 'a release starts with "v"'), ("v1.13.6\n", '"v1.13.6\\n"')])
def test_version_format_hints(value, hint):
    assert hint in only("version-format", {**SIZED, "talos": {"version": value}}).message


def test_window_names_both_versions_and_where_the_release_came_from():
    finding = only(
        "talos-kubernetes-window",
        {**SIZED, "talos": {"version": "v1.14.0"}, "osImage": {"factory": {"version": "v1.13.0"}}, "version": "v1.30"},
    )
    assert finding.message == (
        'Kubernetes "v1.30" (version) is not supported by Talos "v1.13.0" (osImage.factory.version); it supports v1.31 to v1.36'
    )
    assert "v1.31, v1.32" in finding.remedy


@pytest.mark.parametrize(
    ("spec", "near"),
    [
        ({"osImage": {"builtIn": {}}}, "osImage.builtin"),
        ({"osimage": {}}, "osImage"),
        ({"image": {}}, "osImage"),
        ({"osImage": {"builtin": {"schematicId": "x"}}}, "osImage.builtin.schematicID"),
        ({"instancetype": "x"}, "instanceType"),
        ({"zzzzzz": 1}, ""),
    ],
)
def test_unknown_field_names_the_nearest(spec, near):
    finding = only("unknown-field", {**SIZED, **spec}, golden())
    assert finding.evidence["nearest"] == near
    assert (f"did you mean {near}?" in finding.message) is bool(near)


def test_blank_url_reads_as_blank():
    assert (
        "talos.imageFactoryURL is blank"
        in only("factory-url-format", {**SIZED, "talos": {"imageFactoryURL": ""}}).message
    )


def catalog_only(rule_id, values, *objects):
    verdict = judge_catalog(values, ClusterState.from_objects(objects))
    (finding,) = [item for item in (*verdict.refusals, *verdict.advice) if item.id == rule_id]
    return finding


def test_one_drifted_field_is_the_subject():
    assert (
        catalog_only("golden-immutable", entry(storage="10Gi"), live()).subject
        == "kubernetesWorkerImage images[0].storage"
    )


@pytest.mark.parametrize(
    ("images", "message"), [("x", "images has to be a list"), ([PAIR, "x", DEFAULT], "images[1] has to be a mapping")]
)
def test_catalog_shape_says_what_it_has_to_be(images, message):
    assert catalog_only("values-schema", {"images": images}).message == message


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (entry(storageClass="local"), "images[0]: storage class local does not exist; there are replicated"),
        (
            {"storageClass": "", **entry()},
            "images[0]: no storage class is declared and there is no default; there are replicated",
        ),
    ],
)
def test_unknown_class_of_a_golden(values, message):
    assert catalog_only("storage-class-unknown", values, storage_class("replicated")).message == message


@pytest.mark.parametrize(
    ("key", "end"),
    [
        ("storageclass", "did you mean storageClass?"),
        ("imageFactoryUrl", "did you mean imageFactoryURL?"),
        ("zzz", "known are imageFactoryURL, storageClass, storage, images"),
    ],
)
def test_unknown_key_of_a_catalog(key, end):
    assert catalog_only("unknown-field", {key: 1}).message.endswith(
        f"is not a field of the catalog, so it has no effect; {end}"
    )


@pytest.mark.parametrize(
    ("parents", "end"),
    [
        (
            [parent("b"), parent("a"), parent("c", namespace="x")],
            f"there is no Kubernetes resource {NAMESPACE}/myk8s; there are a, b",
        ),
        ([parent("c", namespace="x")], f"there is no Kubernetes resource {NAMESPACE}/myk8s"),
    ],
)
def test_absent_parent_names_those_of_its_namespace(parents, end):
    assert only("parent-absent", SIZED, *parents).message == end


@pytest.mark.parametrize(
    ("kubelet", "message"),
    [
        (
            {"systemReservedMemory": "128mb"},
            'kubelet.systemReservedMemory is "128mb", which is not a plain memory quantity',
        ),
        ({"systemReservedCpu": "x"}, 'kubelet.systemReservedCpu is "x", which is not a plain CPU quantity'),
    ],
)
def test_reservation_format_names_the_kind(kubelet, message):
    assert only("reservation-format", {**SIZED, "kubelet": kubelet}).message == message


def test_exceeding_reservations_are_added_up_in_their_unit():
    memory = only("reservation-exceeds-node", {**SIZED, "kubelet": {"systemReservedMemory": "4Gi"}})
    assert memory.message == (
        "the reserved memory (systemReservedMemory 4294967296 + kubeReservedMemory 268435456 + evictionHardMemory 300647710 bytes) "
        "takes all of a worker that has 4Gi"
    )
    cpu = only("reservation-exceeds-node", {**SIZED, "kubelet": {"systemReservedCpu": "2"}})
    assert "(systemReservedCpu 2000 + kubeReservedCpu 100 millicores)" in cpu.message


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ({"cpu": 2}, "resources.cpu is given without resources.memory, beside instanceType u1.medium"),
        ({"memory": "4Gi"}, "resources.memory is given without resources.cpu, beside instanceType u1.medium"),
    ],
)
def test_incomplete_resources_name_what_is_missing(resources, message):
    assert only("resources-incomplete", {"cluster": "myk8s", "resources": resources}).message == message


def test_schema_breach_shows_the_value_only_where_there_is_one():
    assert (
        only("values-schema", {**SIZED, "minReplicas": "3"}).message
        == 'minReplicas is "3" and has to be of type integer'
    )
    assert only("values-schema", {**SIZED, "gpus": [{}]}).message == "gpus[0].name is missing"


def test_unknown_field_says_who_knows():
    assert "by the fields known to this collection" in only("unknown-field", {**SIZED, "zzzzzz": 1}).message
    published = only("unknown-field", {**SIZED, "zzzzzz": 1}, pool_schema={key: {} for key in SIZED})
    assert "by the schema that this platform publishes" in published.message
    assert published.remedy == "Correct the key, or remove it."
    assert only("unknown-field", {**SIZED, "osimage": {}}).remedy == "Write osImage instead."


def test_minor_only_version_and_missing_v_are_told_apart():
    assert "a release starts with" not in only("version-format", {**SIZED, "talos": {"version": "v1.13"}}).message
    assert (
        "the patch number is needed" not in only("version-format", {**SIZED, "talos": {"version": "v1.13.6.1"}}).message
    )
    assert (
        'talos.imageFactoryURL is "ftp://m"'
        in only("factory-url-format", {**SIZED, "talos": {"imageFactoryURL": "ftp://m"}}).message
    )


def test_a_small_golden_is_told_in_bytes_with_the_least_that_works():
    values = {"images": [{**DEFAULT, "storage": "4247Mi"}]}
    files = ClusterState.from_objects([profile("replicated", mode="Filesystem")])
    (finding,) = judge_catalog(values, files).advice
    assert finding.message == (
        "images[0] has storage 4247Mi (4453302272 bytes, from images[0].storage), which on a file system leaves 4436525056 bytes, but "
        "the image of Talos v1.13.6 has 4453302272 bytes"
    )
    assert finding.remedy.startswith(f"Give the golden at least {4263 << 20} bytes")
    assert (finding.evidence["volume_mode"], finding.evidence["overhead"]) == ("Filesystem", "0.06")
    values = {"images": [{**DEFAULT, "storage": "4Gi"}]}
    (finding,) = judge_catalog(values, ClusterState.from_objects([])).refusals
    assert finding.message.startswith(
        "images[0] has storage 4Gi (4294967296 bytes, from images[0].storage), but the image"
    )
    assert (finding.evidence["volume_mode"], finding.evidence["overhead"]) == (None, None)


def test_a_copy_is_told_with_cdis_own_words_and_where_each_input_stands():
    finding = only("class-not-expandable", CLONE, golden(), storage_class("replicated", expandable=False))
    assert finding.evidence["fallback_reason"] == "No volume expansion is possible"
    assert finding.evidence["sure"] is False
    assert finding.evidence["disk_class"] == {"value": "replicated", "from": "storageClass (the chart's default)"}
    assert "diskSize 20Gi is larger than golden image " + GOLDEN in finding.message
