# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from fractions import Fraction

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.objects import Meta, StorageProfile
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.settings import (
    DEFAULT_OVERHEAD,
    Cdi,
    CdiConfig,
    SnapshotClass,
    StorageClass,
    Volume,
    claim_request,
    room_for_image,
    scratch_class,
    smallest_claim,
    smallest_request,
)
from hypothesis import given
from hypothesis import strategies as st

MI, GI = 1 << 20, 1 << 30
GA = "storageclass.kubernetes.io/is-default-class"
SIX = Fraction("0.06")
CDI_OBJECT = {
    "metadata": {"name": "cdi"},
    "spec": {"cloneStrategyOverride": "csi-clone", "config": {"scratchSpaceStorageClass": "fast"}},
    "status": {"observedVersion": "v1.64.0"},
}
CONFIG = {
    "metadata": {"name": "config"},
    "status": {
        "scratchSpaceStorageClass": "replicated",
        "filesystemOverhead": {"global": "0.1", "storageClass": {"local": "0.2", "odd": "much", "one": "1"}},
    },
}


def test_cdi_is_read():
    found = Cdi.from_api(CDI_OBJECT)
    assert (found.override, found.scratch_class, found.version) == ("csi-clone", "fast", "v1.64.0")
    empty = Cdi.from_api({})
    assert (empty.override, empty.scratch_class, empty.version) == ("", "", "")


@pytest.mark.parametrize(
    ("version", "prefers"),
    [("v1.64.0", True), ("1.64.3", True), ("v1.65.0", False), ("v2.0.0", False), ("v1.100.0", False), ("", True)],
)
def test_since_165_scratch_goes_to_the_goldens_class(version, prefers):
    assert Cdi(Meta("cdi"), version=version).scratch_prefers_default is prefers


def test_overhead_of_a_class_then_in_general_then_cdis_own():
    config = CdiConfig.from_api(CONFIG)
    assert config.scratch_class == "replicated"
    assert config.share("local") == Fraction("0.2")
    assert config.share("replicated") == Fraction("0.1")
    assert config.share("odd") == config.share("one") == Fraction("0.1")
    assert CdiConfig(Meta("config")).share("local") == DEFAULT_OVERHEAD
    assert CdiConfig(Meta("config"), "0").share("local") == 0


def test_snapshot_class_and_volume_are_read():
    assert SnapshotClass.from_api({"metadata": {"name": "s"}, "driver": "d"}).driver == "d"
    volume = {"spec": {"csi": {"driver": "d"}, "claimRef": {"namespace": "n", "name": "c"}}}
    assert (Volume.from_api(volume).driver, Volume.from_api(volume).claim) == ("d", ("n", "c"))
    assert Volume.from_api({"spec": {"nfs": {}}}).driver == ""


def classes(*names, default=()):
    return {name: StorageClass(Meta(name, annotations={GA: "true"} if name in default else {})) for name in names}


@pytest.mark.parametrize(
    ("configured", "version", "known", "golden", "name", "missing"),
    [
        ("fast", "v1.64.0", classes("fast", "a", default="a"), "a", "fast", ""),
        ("", "v1.64.0", classes("b", "a", "g", default=("a", "b")), "g", "a", ""),
        ("", "v1.65.0", classes("a", "g", default="a"), "g", "g", ""),
        ("", "v1.64.0", classes("a", "g"), "g", "g", ""),
        ("gone", "v1.64.0", classes("a", "g", default="a"), "g", "a", "gone"),
        ("", "v1.64.0", classes("a"), "g", "", ""),
        ("", "v1.64.0", classes("a"), "", "", ""),
    ],
)
def test_scratch_class(configured, version, known, golden, name, missing):
    found = scratch_class(Cdi(Meta("cdi"), scratch_class=configured, version=version), known, golden)
    assert (found.name, found.missing) == (name, missing)


def test_what_a_claim_asks_for():
    assert claim_request(6 * GI, "Block", SIX) == 6 * GI
    assert claim_request(5 * MI - 1, "Block", SIX) == 5 * MI - 1
    assert claim_request(6 * GI, "Filesystem", SIX) == 6828998001
    assert claim_request(100 * MI - 1, "Filesystem", SIX) == 106 * MI
    assert claim_request(6 * GI, "", SIX) == 6 * GI
    raised = StorageProfile(Meta("x", annotations={"cdi.kubevirt.io/minimumSupportedPvcSize": "10Gi"}))
    assert claim_request(6 * GI, "Block", SIX, raised) == 10 * GI
    assert claim_request(20 * GI, "Block", SIX, raised) == 20 * GI
    odd = StorageProfile(Meta("x", annotations={"cdi.kubevirt.io/minimumSupportedPvcSize": "some"}))
    assert smallest_claim(odd) == smallest_claim(None) == 0


def test_a_claim_as_large_as_the_image_has_no_room_for_it_on_files():
    """A claim of 4Gi leaves less than an image of 4Gi."""
    assert room_for_image(4 * GI, "Filesystem", Fraction("0.055")) == 3870 * MI
    assert room_for_image(4 * GI, "Block", Fraction("0.055")) == 4 * GI


@given(st.integers(1, 20 * GI), st.sampled_from(["Block", "Filesystem"]), st.integers(0, 99))
def test_the_smallest_request_is_the_smallest(image, mode, percent):
    share = Fraction(percent, 100)
    size = smallest_request(image, mode, share)
    assert room_for_image(claim_request(size, mode, share), mode, share) >= image
    less = size - (MI if mode == "Filesystem" else 1)
    assert less < image or room_for_image(claim_request(less, mode, share), mode, share) < image
