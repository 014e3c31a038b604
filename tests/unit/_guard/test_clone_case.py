# SPDX-License-Identifier: Apache-2.0
"""What a pool in its cluster knows of the clones of its disks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.case import PoolCase
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.clone_case import question_of
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.judge import judge_catalog, judge_pools
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.state import ClusterState
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.catalog import Catalog
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool

from .build import (
    CLONE,
    GA,
    NAMESPACE,
    OTHER,
    SIZED,
    cdi,
    cdi_config,
    claim,
    csi_driver,
    golden,
    profile,
    snapshot_class,
    storage_class,
    volume,
)
from .catalogs import DEFAULT, default

GI = 1 << 30
FILES = profile("replicated", mode="Filesystem")


def case(*objects, spec=CLONE, **known):
    return PoolCase(Pool.named(NAMESPACE, "myk8s-md0", spec), ClusterState.from_objects(objects, **known))


def source(*objects, **known):
    return question_of(case(*objects, **known)).source


def test_a_claim_tells_all_of_the_golden():
    found = source(golden(), claim("fast", "7Gi", capacity="8Gi", mode="Block"), volume(OTHER))
    assert (found.class_name, found.size, found.request, found.capacity) == ("fast", 6 * GI, 7 * GI, 8 * GI)
    assert (found.mode, found.driver, found.ready) == ("Block", OTHER, True)
    assert found.class_from == found.facts_from == "its claim in cozy-public"
    blank = source(golden(), claim(None, None))
    assert (blank.class_name, blank.class_from) == ("replicated", "its DataVolume in cozy-public")
    assert (blank.request, blank.capacity, blank.mode, blank.driver) == (None, None, "", None)


@pytest.mark.parametrize(("phase", "ready"), [("Succeeded", True), ("ImportInProgress", False), (None, False)])
def test_a_golden_is_ready_when_its_volume_says_so(phase, ready):
    assert source(golden(phase)).ready is ready
    assert source(golden(phase), claim()).ready is ready


def test_a_golden_without_a_volume_is_its_claim():
    assert source(claim()).ready is True


def test_a_golden_that_is_not_there_is_waited_for_and_not_described():
    found = source()
    assert (found.ready, found.class_name, found.request) == (False, None, None)
    assert question_of(PoolCase(Pool.named(NAMESPACE, "myk8s-md0", CLONE), ClusterState())).source.ready is None


@pytest.mark.parametrize(
    ("objects", "request_bytes", "mode"),
    [
        ((), None, ""),
        ((profile("replicated"),), 6 * GI, "Block"),
        ((profile("replicated", minimum="8Gi"),), 8 * GI, "Block"),
        ((profile("replicated"), cdi_config()), 6 * GI, "Block"),
        ((FILES,), None, "Filesystem"),
        ((FILES, cdi_config()), 6828998001, "Filesystem"),
        ((FILES, cdi_config(replicated="0")), 6 * GI, "Filesystem"),
        ((profile("replicated", mode=""), cdi_config()), None, ""),
        ((profile("local"),), None, ""),
    ],
)
def test_a_golden_without_a_claim_is_what_its_class_will_make_of_it(objects, request_bytes, mode):
    found = source(golden(), *objects)
    assert (found.request, found.mode, found.capacity, found.size) == (request_bytes, mode, None, 6 * GI)
    assert found.facts_from == "its DataVolume in cozy-public"
    planned = Catalog.from_values({"images": [DEFAULT]}).by_golden()
    coming = source(*objects, planned_goldens=planned)
    assert (coming.request, coming.mode, coming.ready) == (request_bytes, mode, False)
    assert "catalog entry" in coming.facts_from


def test_nothing_is_made_of_a_golden_without_size_or_class():
    unsized = case(golden(size=None), claim(size=None), profile("replicated"))
    assert unsized.golden_size is None
    assert question_of(unsized).source.size is None
    assert source(golden(size=None), profile("replicated")).request is None
    assert source(golden(storage_class=None), storage_class("x"), profile("")).mode == ""


def test_the_question_carries_what_was_read_and_where_the_class_stands():
    objects = [golden(), storage_class("replicated", GA), profile("replicated"), cdi("copy"), cdi_config()]
    found = question_of(
        case(*objects, snapshot_class(), csi_driver(), spec={**CLONE, "storageClass": "", "diskSize": "9Gi"})
    )
    assert (found.class_name, found.disk_size) == ("replicated", 9 * GI)
    assert found.class_from.startswith("the cluster's default class")
    assert (set(found.classes), set(found.profiles)) == ({"replicated"}, {"replicated"})
    assert (found.drivers, len(found.snapshot_classes)) == ({"linstor.csi.linbit.com"}, 1)
    assert (found.cdi.override, found.config.overhead) == ("copy", "0.06")
    silent = question_of(PoolCase(Pool.named(NAMESPACE, "myk8s-md0", {**CLONE, "storageClass": ""}), ClusterState()))
    assert (silent.class_name, silent.classes, silent.profiles, silent.drivers) == (None, None, None, None)
    assert (silent.snapshot_classes, silent.cdi, silent.config, silent.class_from) == (None, None, None, "the pool")


def test_only_pools_that_clone_have_a_prediction():
    assert case(golden(), spec=SIZED).clone is None
    assert case(golden(), storage_class("replicated")).clone.method == "unknown"


NEEDS = {
    "class-not-expandable": "storage_classes",
    "clone-strategy-copy": "cdis",
    "volume-mode-differs": "storage_profiles",
    "drivers-differ": "storage_classes",
    "no-snapshot-class": "snapshot_classes",
    "csi-driver-missing": "csi_drivers",
    "profile-incomplete": "storage_profiles",
}


@pytest.mark.parametrize("rule_id", NEEDS)
def test_what_was_asked_for_and_not_given_is_not_judged(rule_id):
    pool = Pool.named(NAMESPACE, "myk8s-md0", CLONE)
    state = ClusterState.from_objects([golden()], denied=frozenset({NEEDS[rule_id]}))
    missing = {finding.id: finding.evidence["needs"] for finding in judge_pools([pool], state).not_judged}
    assert missing[rule_id] == NEEDS[rule_id]
    assert set(missing) == {other for other, need in NEEDS.items() if need == NEEDS[rule_id]}


def test_a_catalog_is_not_judged_by_settings_that_were_not_given():
    state = ClusterState.from_objects([], denied=frozenset({"cdis", "storage_profiles"}))
    verdict = judge_catalog({}, state)
    assert [finding.id for finding in verdict.not_judged] == ["profile-incomplete", "scratch-class-unresolved"]


def test_whether_a_golden_exists_has_to_be_known_for_a_refusal():
    values = default(storage="4Gi")
    known = ClusterState.from_objects([])
    assert [finding.id for finding in judge_catalog(values, known).refusals] == ["golden-too-small"]
    unread = replace(known, data_volumes=None)
    verdict = judge_catalog(values, unread)
    assert (verdict.refusals, [finding.id for finding in verdict.advice]) == ((), ["golden-too-small"])


def test_scratch_is_told_with_what_is_taken_instead():
    def told(*objects):
        values = {"storageClass": "", **default()}
        found = judge_catalog(values, ClusterState.from_objects([*objects, cdi("", scratch="fast")]))
        (finding,) = [item for item in found.advice if item.id == "scratch-class-unresolved"]
        return finding

    finding = told(storage_class("replicated", GA))
    assert finding.message == (
        "images[0] needs a scratch volume: CDI is configured for scratch class fast, which does not exist; replicated is taken "
        f'({GA} is "true" on it)'
    )
    assert finding.evidence["taken"] == "replicated"
    assert told(storage_class("x")).message.endswith("which does not exist; no class is found for it")
    unset = judge_catalog({"storageClass": "", **default()}, ClusterState.from_objects([storage_class("x"), cdi("")]))
    (finding,) = unset.advice
    assert finding.message == "images[0] needs a scratch volume: no class is found for it"
