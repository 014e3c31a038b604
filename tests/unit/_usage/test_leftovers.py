# SPDX-License-Identifier: Apache-2.0
"""What CDI left behind, and whose it is."""

from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.objects import Claim, DataVolume
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.pods import Pod
from ansible_collections.cozystack.worker_image.plugins.module_utils._usage.leftovers import (
    helpers,
    leftovers,
    unresolved,
)

APP = {"app": "containerized-data-importer"}
OWNED = "cdi.kubevirt.io/OwnedByUID"


def meta(name, uid, labels=None, owner=None, namespace="cozy-public"):
    owners = [{"kind": owner[0], "name": "o", "uid": owner[1]}] if owner else []
    return {
        "name": name,
        "namespace": namespace,
        "uid": uid,
        "labels": APP if labels is None else labels,
        "ownerReferences": owners,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }


def claim(name, uid, labels=None, owner=None, source=""):
    spec = {"resources": {"requests": {"storage": "6Gi"}}, "storageClassName": "replicated"}
    spec |= {"dataSource": {"kind": "PersistentVolumeClaim", "name": source}} if source else {}
    return Claim.from_api({"metadata": meta(name, uid, labels, owner), "spec": spec, "status": {"phase": "Bound"}})


def pod(name, uid, kind, owner=None, labels=None):
    marks = {**APP, "cdi.kubevirt.io": kind, **(labels or {})}
    return Pod.from_api({"metadata": meta(name, uid, marks, owner), "status": {"phase": "Running"}})


def volume(name, uid, phase="Succeeded", namespace="cozy-public"):
    return DataVolume.from_api(
        {"metadata": {"name": name, "namespace": namespace, "uid": uid}, "status": {"phase": phase}}
    )


GOLDEN = volume("g", "dv-g", "ImportInProgress")
TARGET = claim("g", "pvc-g", owner=("DataVolume", "dv-g"))
PRIME = claim("prime-pvc-g", "pvc-prime", owner=("PersistentVolumeClaim", "pvc-g"))
IMPORTER = pod("importer-prime-pvc-g", "pod-1", "importer", owner=("PersistentVolumeClaim", "pvc-prime"))
SCRATCH = claim("prime-pvc-g-scratch", "pvc-scratch", owner=("Pod", "pod-1"))
TEMPORARY = claim("tmp-pvc-u", "pvc-tmp", labels={**APP, OWNED: "u"}, source="g")
PREP = pod("prep-u", "pod-2", "cdi-populator-prep", labels={OWNED: "u"})
FOREIGN = claim("mine", "pvc-mine", labels={"app": "other"})
DISK = ("tenant-a", "disk")


def listed(volumes, places, claims=(TARGET, PRIME, SCRATCH, TEMPORARY, FOREIGN), pods=(IMPORTER, PREP)):
    found = helpers(claims, pods)
    by_place = {(one.namespace, one.name): one for one in volumes} if volumes is not None else None
    return {one.name: one for one in leftovers(found, claims, by_place, places, 1767225660.0)}


def test_goldens_and_foreign_claims_are_no_leftovers():
    assert sorted(listed([GOLDEN], {})) == [
        "importer-prime-pvc-g",
        "prep-u",
        "prime-pvc-g",
        "prime-pvc-g-scratch",
        "tmp-pvc-u",
    ]


def test_each_is_called_what_it_is():
    assert {name: one.what for name, one in listed([GOLDEN], {}).items()} == {
        "importer-prime-pvc-g": "importer",
        "prep-u": "cdi-populator-prep",
        "prime-pvc-g": "prime claim",
        "prime-pvc-g-scratch": "scratch space",
        "tmp-pvc-u": "temporary claim of a clone",
    }


@pytest.mark.parametrize(
    ("volumes", "places", "owner", "state"),
    [
        ([GOLDEN, volume("disk", "d", "CSICloneInProgress", "tenant-a")], {"u": DISK}, "tenant-a/disk", "working"),
        ([GOLDEN, volume("disk", "d", "Succeeded", "tenant-a")], {"u": DISK}, "tenant-a/disk", "finished"),
        ([GOLDEN], {"u": DISK}, "tenant-a/disk", "unknown"),
        ([GOLDEN], {}, "u", "gone"),
        ([GOLDEN], None, "u", "unknown"),
        (None, {"u": DISK}, "tenant-a/disk", "unknown"),
    ],
)
def test_the_owner_of_a_temporary_claim(volumes, places, owner, state):
    found = listed(volumes, places)
    for name in ("tmp-pvc-u", "prep-u"):
        assert (found[name].owner, found[name].owner_state) == (owner, state)


@pytest.mark.parametrize(("phase", "state"), [("ImportInProgress", "working"), ("Succeeded", "finished")])
def test_helpers_of_an_import_belong_to_the_golden(phase, state):
    found = listed([volume("g", "dv-g", phase)], {})
    for name in ("prime-pvc-g", "importer-prime-pvc-g", "prime-pvc-g-scratch"):
        assert (found[name].owner, found[name].owner_state) == ("cozy-public/g", state)


def test_a_volume_of_its_own_is_no_leftover():
    collected = claim("talos-worker-aa-v1.13.6", "pvc-c")
    fresh = claim("new", "pvc-n", owner=("DataVolume", "dv-that-was-not-listed-yet"))
    assert listed([GOLDEN], {}, (collected, fresh), ()) == {}


def test_an_owner_that_only_the_last_list_knows_is_not_gone():
    prime = claim("prime-x", "pvc-x", owner=("PersistentVolumeClaim", "pvc-late"))
    assert unresolved([prime], [prime]) == {"pvc-late"}
    assert listed([GOLDEN], {"pvc-late": ("cozy-public", "late")}, (prime,), ())["prime-x"].owner_state == "unknown"
    assert listed([GOLDEN], {}, (prime,), ())["prime-x"].owner_state == "gone"
    assert listed([GOLDEN], None, (prime,), ())["prime-x"].owner_state == "unknown"


def test_references_in_a_circle_end():
    one, two = claim("a", "1", owner=("Pod", "2")), pod("b", "2", "importer", owner=("Pod", "1"))
    assert set(listed([GOLDEN], {}, (one,), (two,))) == {"a", "b"}


def test_only_owners_elsewhere_need_a_list_over_all_namespaces():
    here = [TARGET, PRIME, SCRATCH]
    assert unresolved(helpers(here, [IMPORTER]), here) == set()
    assert unresolved(helpers([TEMPORARY], [PREP]), here) == {"u"}


def test_size_class_and_age_are_told():
    shown = listed([GOLDEN], {})["tmp-pvc-u"].as_dict()
    assert (shown["size"], shown["storageClass"], shown["phase"], shown["age"]) == ("6Gi", "replicated", "Bound", 60.0)
