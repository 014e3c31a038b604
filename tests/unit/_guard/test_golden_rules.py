# SPDX-License-Identifier: Apache-2.0
"""Rules on importing, adopting and retiring one golden."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard import judge
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.retire import (
    NEVER_ACCEPTED,
    PENDING,
    RETIRE_RULES,
    named,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.render import (
    SCHEMATIC_ANNOTATION,
    VERSION_ANNOTATION,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._usage.users import User

from .checks import import_row, retirement_row
from .goldens import FAILING, IMPORTS, RETIREMENTS, SHA, URL, http, importing, live, retiring, wanted


@pytest.mark.parametrize("row", IMPORTS, ids=[row[0] for row in IMPORTS])
def test_import(row):
    assert not import_row(row)
    verdict = judge.judge_import(row[1])
    for found in (*verdict.refusals, *verdict.advice):
        assert found.subject.startswith("golden image cozy-public/talos-worker-")
        assert found.remedy
        assert found.evidence


@pytest.mark.parametrize("row", RETIREMENTS, ids=[row[0] for row in RETIREMENTS])
def test_retirement(row):
    assert not retirement_row(row)


@pytest.mark.parametrize(
    ("case", "rule"),
    [
        (importing(classes=None), "storage-class-unknown"),
        (importing(http(checksum=SHA)), "checksum-unsupported"),
        (importing(http(certConfigMap="ca")), "ca-config-map-missing"),
        (importing(http(secretRef="s")), "source-secret-missing"),
    ],
)
def test_what_was_not_read_is_not_judged(case, rule):
    assert [found.id for found in judge.judge_import(case).not_judged] == [rule]
    assert judge.judge_import(replace(case, making=False)).not_judged == ()


def test_every_drifted_field_is_named():
    case = importing(wanted(storage="8Gi", storage_class="local", image_factory_url="http://other"), live())
    (found,) = judge.judge_import(case).refusals
    assert found.evidence["fields"] == ["storage", "storageClass", "imageFactoryURL"]
    for text in ("6Gi", "8Gi", "replicated", "local", URL, "http://other"):
        assert text in found.message


def test_an_undeclared_class_is_the_charts():
    assert "replicated" in judge.judge_import(importing(classes=("local",))).refusals[0].message
    assert (
        "no storage class is named"
        in judge.judge_import(importing(wanted(storage_class=""), default_class="")).refusals[0].message
    )


@pytest.mark.parametrize(
    ("checksum", "says"),
    [("crc32:aa", "the algorithms are md5, sha1, sha256, sha512"), ("md5:aa", "md5 has 32 hexadecimal digits")],
)
def test_a_wrong_checksum_is_told_what_is_right(checksum, says):
    found = judge.judge_import(importing(http(checksum=checksum), checksum_known=True)).refusals[0]
    assert says in found.message


def test_the_size_is_told_with_its_origin():
    declared = judge.judge_import(importing(wanted(storage="4Gi"))).refusals[0].message
    assert (
        "storage 4Gi (4294967296 bytes, from storage), but the image of Talos v1.13.6 has 4453302272 bytes" in declared
    )
    default = judge.judge_import(importing(wanted(upload=True), raw_size=7 * 1024**3)).refusals[0].message
    assert (
        "storage 6Gi (6442450944 bytes, from the default of storage) is smaller than the disk in the file to upload"
        in default
    )


def test_trouble_is_told_with_its_cause():
    known = judge.judge_import(
        importing(wanted(), live(**{**FAILING, "message": "expected status code 200, got 404"}))
    ).advice[0]
    assert known.message.endswith(
        "got 404 (the server has no such image: the schematic is not registered there, or this version is not published)"
    )
    unknown = judge.judge_import(importing(wanted(), live(**FAILING))).advice[0]
    assert unknown.message.endswith("Error: 404")


def test_one_drifted_field_is_the_subject_and_what_is_not_set_is_said():
    (found,) = judge.judge_import(importing(http(certConfigMap="ca"), live())).refusals
    assert found.subject.endswith(" certConfigMap")
    assert "certConfigMap is not set and would become ca" in found.message


def test_known_classes_are_named():
    assert (
        judge.judge_import(importing(wanted(storage_class="x")))
        .refusals[0]
        .message.endswith("there are replicated, local")
    )
    assert (
        judge.judge_import(importing(wanted(storage_class="x"), classes=()))
        .refusals[0]
        .message.endswith("there are none")
    )


@pytest.mark.parametrize(
    ("annotations", "says"),
    [
        ({}, "its annotations are missing"),
        ({SCHEMATIC_ANNOTATION: "x"}, "its annotations say x and no version"),
        ({VERSION_ANNOTATION: "y"}, "its annotations say no schematic and y"),
    ],
)
def test_a_foreign_golden_is_told_apart(annotations, says):
    assert judge.judge_retirement(retiring(live(annotations=annotations))).refusals[0].message.endswith(says)


def test_only_few_users_are_named_and_the_rest_counted():
    users = [User("cloned", "a", f"d{index}") for index in range(7)]
    assert named(users[:5]) == "a/d0, a/d1, a/d2, a/d3, a/d4"
    assert named(users) == "a/d0, a/d1, a/d2, a/d3, a/d4 and 2 more"
    assert named([User("template", "a", "t", "of MachineSet m")]) == "a/t (of MachineSet m)"


def test_what_cannot_be_accepted_are_rules_of_retirement():
    ids = {item.id for item in RETIRE_RULES if item.refuses}
    assert set(NEVER_ACCEPTED) | set(PENDING) | {"golden-foreign"} == ids
