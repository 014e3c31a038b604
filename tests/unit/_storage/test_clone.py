# SPDX-License-Identifier: Apache-2.0
"""The prediction of clones: one row per line of CDI's decision."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.clone import (
    HANG,
    NEVER_STARTS,
    WAITS,
    predict_clone,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.clone_facts import (
    COPY,
    CSI_CLONE,
    FALLBACK_WORDS,
    NO_EXPANSION,
    REFUSED,
    SNAPSHOT,
    UNKNOWN,
    CloneQuestion,
    CloneSource,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.objects import (
    Meta,
    StorageClass,
    StorageProfile,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.settings import (
    Cdi,
    CdiConfig,
    SnapshotClass,
)

GI = 1 << 30
LINSTOR, OTHER = "linstor.csi.linbit.com", "ebs.csi.aws.com"
ON_FILES = 6828998001  # 6Gi and six per cent
SOURCE = CloneSource("replicated", 6 * GI, 6 * GI, 6 * GI, "Block", None, True)


def storage_class(name="replicated", driver=LINSTOR, expandable=True, binding="Immediate", version="1"):
    return StorageClass(Meta(name, resource_version=version), driver, binding, expandable)


def profile(name="replicated", mode="Block", strategy="copy", access=True, snapshots="", minimum=""):
    notes = {"cdi.kubevirt.io/minimumSupportedPvcSize": minimum} if minimum else {}
    return StorageProfile(Meta(name, annotations=notes), strategy, (mode,) if mode else (), access, snapshots)


def named(*items):
    return {item.name: item for item in items}


CLASSES = named(storage_class(), storage_class("local", binding="WaitForFirstConsumer"), storage_class("ebs", OTHER))
PROFILES = named(profile(), profile("local"), profile("ebs"), profile("files", "Filesystem"))
BASE = CloneQuestion(
    SOURCE,
    20 * GI,
    "replicated",
    CLASSES,
    PROFILES,
    (SnapshotClass(Meta("snaps"), LINSTOR),),
    frozenset({LINSTOR, OTHER}),
    Cdi(Meta("cdi"), CSI_CLONE),
    CdiConfig(Meta("config")),
)


def ask(source=None, **change):
    return replace(BASE, source=replace(SOURCE, **(source or {})), **change)


def override(value):
    return Cdi(Meta("cdi"), value)


STIFF = {**CLASSES, **named(storage_class(expandable=False))}
SILENT = {**CLASSES, **named(storage_class(expandable=None))}
BY_HAND = {**CLASSES, **named(storage_class(expandable=None, version=""))}
FILES = {**PROFILES, **named(profile(mode="Filesystem"))}

OF_GONE = {"class_name": "gone"}
MODELESS = {**PROFILES, **named(profile(mode=""))}
OF_FILES = {"mode": "Filesystem", "request": ON_FILES}

# id, question, method, reason of CDI's event (blank: none)
ROWS = [
    ("shipped", BASE, CSI_CLONE, ""),
    ("snapshot", ask(cdi=override(SNAPSHOT)), SNAPSHOT, ""),
    ("set to copy", ask(cdi=override(COPY)), COPY, ""),
    ("no CSIDriver", ask(drivers=frozenset()), COPY, "NoPopulator"),
    ("no CSIDriver and set to copy", ask(drivers=frozenset(), cdi=override(COPY)), COPY, "NoPopulator"),
    ("annotation says no populator", ask(use_populator="false"), COPY, "NoPopulator"),
    ("annotation beats a missing CSIDriver", ask(use_populator="true", drivers=frozenset()), CSI_CLONE, ""),
    ("annotation of another word", ask(use_populator="no"), REFUSED, ""),
    ("no snapshot class", ask(cdi=override(SNAPSHOT), snapshot_classes=()), COPY, "NoVolumeSnapshotClass"),
    (
        "snapshot class of another driver",
        ask(cdi=override(SNAPSHOT), snapshot_classes=(SnapshotClass(Meta("s"), OTHER),)),
        COPY,
        "NoVolumeSnapshotClass",
    ),
    ("csi-clone needs no snapshot class", ask(snapshot_classes=()), CSI_CLONE, ""),
    (
        "named snapshot class",
        ask(cdi=override(SNAPSHOT), profiles=named(profile(snapshots="snaps"))),
        SNAPSHOT,
        "",
    ),
    (
        "named snapshot class is missing",
        ask(cdi=override(SNAPSHOT), profiles=named(profile(snapshots="gone"))),
        COPY,
        "NoVolumeSnapshotClass",
    ),
    (
        "snapshot class named on one side only",
        ask({"class_name": "local"}, cdi=override(SNAPSHOT), profiles={**PROFILES, **named(profile(snapshots="gone"))}),
        SNAPSHOT,
        "",
    ),
    ("drivers differ", ask(class_name="ebs"), COPY, "IncompatibleProvisioners"),
    ("driver of the volume differs", ask({"driver": OTHER}), COPY, "IncompatibleProvisioners"),
    ("snapshots of two drivers", ask(class_name="ebs", cdi=override(SNAPSHOT)), COPY, "NoVolumeSnapshotClass"),
    ("modes differ", ask({"mode": "Filesystem"}), COPY, "IncompatibleVolumeModes"),
    ("file systems both", ask({"mode": "Filesystem"}, profiles=FILES), CSI_CLONE, ""),
    ("cannot grow", ask(classes=STIFF), COPY, "NoVolumeExpansion"),
    ("cannot grow, not stated", ask(classes=SILENT), COPY, "NoVolumeExpansion"),
    ("cannot grow and need not", ask(classes=STIFF, disk_size=6 * GI), CSI_CLONE, ""),
    ("capacity rounded up is enough", ask({"capacity": 20 * GI}, classes=STIFF), CSI_CLONE, ""),
    ("capacity one byte short", ask({"capacity": 20 * GI - 1}, classes=STIFF), COPY, "NoVolumeExpansion"),
    (
        "the first reason counts",
        ask({"driver": OTHER, "mode": "Filesystem"}, classes=STIFF),
        COPY,
        "IncompatibleProvisioners",
    ),
    ("second reason", ask({"mode": "Filesystem"}, classes=STIFF), COPY, "IncompatibleVolumeModes"),
    ("another class is no reason", ask(class_name="local"), CSI_CLONE, ""),
    ("smaller than the golden", ask(disk_size=6 * GI - 1), REFUSED, ""),
    ("equal to the golden", ask(disk_size=6 * GI), CSI_CLONE, ""),
    ("smaller, but raised to the minimum", ask(disk_size=GI, profiles=named(profile(minimum="8Gi"))), CSI_CLONE, ""),
    ("file systems: the claim counts", ask(OF_FILES, disk_size=6 * GI, profiles=FILES), CSI_CLONE, ""),
    ("file systems: a byte more", ask({**OF_FILES, "request": ON_FILES + 1}, disk_size=6 * GI, profiles=FILES), REFUSED, ""),
    ("no class", ask(class_name=""), REFUSED, ""),
    ("class does not exist", ask(class_name="gone"), REFUSED, ""),
    ("profile without access modes", ask(profiles=named(profile(access=False))), REFUSED, ""),
    ("override nobody knows", ask(cdi=override("magic")), UNKNOWN, ""),
    ("may grow, written by hand", ask(classes=BY_HAND), UNKNOWN, ""),
    ("CDI not read", ask(cdi=None), UNKNOWN, ""),
    ("CDI not read, drivers differ", ask(cdi=None, class_name="ebs"), COPY, ""),
    ("classes not read", ask(classes=None), UNKNOWN, ""),
    ("profiles not read", ask(profiles=None), UNKNOWN, ""),
    ("snapshot classes not read", ask(cdi=override(SNAPSHOT), snapshot_classes=None), UNKNOWN, ""),
    ("snapshot classes not needed", ask(snapshot_classes=None), CSI_CLONE, ""),
    ("drivers not read", ask(drivers=None), UNKNOWN, ""),
    ("drivers not read, modes differ", ask({"mode": "Filesystem"}, drivers=None), COPY, ""),
    ("drivers not read, set to copy", ask(drivers=None, cdi=override(COPY)), COPY, ""),
    ("overhead not read", ask({"mode": "Filesystem"}, profiles=FILES, config=None), CSI_CLONE, ""),
    ("overhead not read and decisive", ask(OF_FILES, profiles=FILES, config=None, disk_size=6 * GI), UNKNOWN, ""),
    ("golden's mode not known", ask({"mode": None}), UNKNOWN, ""),
    ("golden's size not known", ask({"request": None}), UNKNOWN, ""),
    ("golden's capacity not known", ask({"capacity": None}, classes=STIFF), UNKNOWN, ""),
    ("golden's capacity not needed", ask({"capacity": None}), CSI_CLONE, ""),
    ("disk size not known", ask(disk_size=None), UNKNOWN, ""),
    ("CDI not read, no CSIDriver", ask(cdi=None, drivers=frozenset()), COPY, "NoPopulator"),
    ("mode of the disk not known and decisive", ask({"request": ON_FILES}, disk_size=6 * GI, profiles=MODELESS), UNKNOWN, ""),
    ("no snapshot class for any", ask(OF_GONE, cdi=override(SNAPSHOT), snapshot_classes=()), COPY, "NoVolumeSnapshotClass"),
    ("golden's class not known", ask({"class_name": None, "driver": LINSTOR}, cdi=override(SNAPSHOT)), UNKNOWN, ""),
    ("golden's class not needed", ask({"class_name": None, "driver": LINSTOR}), CSI_CLONE, ""),
    ("class not known", ask(class_name=None), UNKNOWN, ""),
]  # fmt: skip


@pytest.mark.parametrize(("question", "method", "reason"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_method_and_fallback(question, method, reason):
    found = predict_clone(question)
    assert (found.method, found.fallback) == (method, FALLBACK_WORDS.get(reason, ""))
    assert found.reason
    if method == UNKNOWN:
        assert found.unknown
        assert found.reason == f"not known: {', '.join(found.unknown)}"


@pytest.mark.parametrize("given_profile", ["", COPY, SNAPSHOT, CSI_CLONE])
@pytest.mark.parametrize("given_override", ["", COPY, SNAPSHOT, CSI_CLONE])
def test_the_override_beats_the_profile_and_silence_means_snapshot(given_override, given_profile):
    found = predict_clone(ask(cdi=override(given_override), profiles=named(profile(strategy=given_profile))))
    expected = given_override or given_profile or SNAPSHOT
    assert (found.method, found.strategy) == (expected, expected)
    origin = found.evidence["strategy"]["from"]
    assert ("Override" in origin) == bool(given_override)
    assert ("StorageProfile replicated" in origin) == (not given_override and bool(given_profile))


def test_only_the_profile_of_the_target_class_counts():
    profiles = named(profile(strategy=COPY), profile("local", strategy=CSI_CLONE))
    assert predict_clone(ask(cdi=override(""), profiles=profiles, class_name="local")).method == CSI_CLONE


def test_two_classes_of_one_driver_may_hang_and_nothing_says_so():
    found = predict_clone(ask(class_name="local"))
    assert found.method == CSI_CLONE
    assert "class replicated" in found.risks[HANG]
    assert NEVER_STARTS in found.risks
    assert not predict_clone(BASE).risks


def test_a_golden_that_is_not_ready_is_waited_for():
    assert WAITS in predict_clone(ask({"ready": False})).risks
    assert WAITS not in predict_clone(ask({"ready": None})).risks
    assert NEVER_STARTS in predict_clone(ask(class_name="")).risks


def test_a_declared_size_makes_a_likely_obstacle_only():
    found = predict_clone(ask({"capacity": None}, classes=STIFF)).obstacle(NO_EXPANSION)
    assert found is not None
    assert not found.sure
    assert predict_clone(ask({"capacity": None}, classes=STIFF, disk_size=6 * GI)).obstacle(NO_EXPANSION) is None
    assert predict_clone(ask(classes=STIFF)).obstacle(NO_EXPANSION).sure


def test_evidence_says_where_each_input_stands():
    found = predict_clone(replace(BASE, class_from="storageClass")).as_dict()
    assert found["evidence"]["disk_class"] == {"value": "replicated", "from": "storageClass"}
    assert found["evidence"]["strategy"] == {"value": "csi-clone", "from": "CDI spec.cloneStrategyOverride"}
    assert found["evidence"]["disk_mode"] == {"value": "Block", "from": "StorageProfile replicated"}
    assert all(set(item) == {"value", "from"} and item["from"] for item in found["evidence"].values())


def test_evidence_of_nothing_is_nothing():
    assert {item["value"] for item in predict_clone(CloneQuestion()).evidence.values()} == {None}
    assert predict_clone(ask({"mode": ""}, profiles=MODELESS)).evidence["golden_mode"]["value"] is None


def test_evidence_on_drivers_and_sizes():
    assert predict_clone(ask({"driver": OTHER})).evidence["golden_driver"] == {
        "value": OTHER,
        "from": "the golden's volume",
    }
    assert predict_clone(BASE).evidence["golden_driver"] == {"value": LINSTOR, "from": "StorageClass replicated"}
    assert predict_clone(ask(OF_FILES, disk_size=6 * GI, profiles=FILES)).evidence["disk_request"]["value"] == ON_FILES
    assert predict_clone(ask(profiles=None)).evidence["disk_request"]["value"] == 20 * GI


def test_a_copy_for_a_reason_that_cdi_does_not_get_to_say_is_still_explained():
    found = predict_clone(ask({"mode": "Filesystem"}, cdi=None))
    assert (
        found.reason
        == "it cannot be cloned inside the storage (The volume modes of source and target are incompatible)"
    )


def test_the_strategy_needs_a_profile_to_look_at():
    assert predict_clone(ask(cdi=override(""), profiles=None)).strategy == ""
    assert (
        predict_clone(ask(cdi=override(""), class_name="", profiles=named(profile("", strategy=COPY)))).strategy == ""
    )
    assert predict_clone(ask(cdi=override(""), profiles={})).strategy == SNAPSHOT


def test_no_hang_is_told_for_a_golden_of_no_known_class():
    assert HANG not in predict_clone(ask({"class_name": None, "driver": LINSTOR})).risks


def test_what_might_just_fit_is_no_obstacle():
    assert predict_clone(ask({"capacity": 20 * GI}, classes=STIFF, profiles=MODELESS)).obstacles == ()
    assert predict_clone(ask({"capacity": None}, classes=STIFF, disk_size=None)).obstacles == ()


def test_snapshots_of_a_golden_of_an_unknown_driver_are_not_judged():
    found = predict_clone(ask({"class_name": "gone"}, cdi=override(SNAPSHOT)))
    assert found.method == UNKNOWN
    assert "the VolumeSnapshotClasses or the drivers" in found.unknown
    assert predict_clone(ask(classes=None, cdi=override(SNAPSHOT))).obstacles == ()
