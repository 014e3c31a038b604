# SPDX-License-Identifier: Apache-2.0
"""Resolution of a catalog's values, and the spelling of what is written."""

from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.catalog import CATALOG_DEFAULTS, Catalog
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.keep import drift_of, keep_live_spelling
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.objects import DataVolume

PAIR = {"schematicID": "aaa", "version": "v1.13.6"}


def only(values):
    (entry,) = Catalog.from_values(values).entries
    return entry


def live(
    storage="6Gi", storage_class="replicated", url="https://factory.talos.dev/image/aaa/v1.13.6/openstack-amd64.raw.xz"
):
    spec = {
        "storage": {"resources": {"requests": {"storage": storage}}, "storageClassName": storage_class},
        "source": {"http": {"url": url}},
    }
    return DataVolume.from_api(
        {"metadata": {"name": "talos-worker-aaa-v1.13.6", "namespace": "cozy-public"}, "spec": spec}
    )


def test_defaults():
    entry = only({})
    assert (entry.storage, entry.storage_class, entry.image_factory_url) == (
        "6Gi",
        "replicated",
        "https://factory.talos.dev",
    )
    assert entry.origins == {
        "storage": "chart default of storage",
        "storageClass": "chart default of storageClass",
        "imageFactoryURL": "chart default of imageFactoryURL",
    }


@pytest.mark.parametrize(
    ("values", "storage", "storage_class", "origins"),
    [
        ({"images": [PAIR]}, "6Gi", "replicated", ("chart default of storage", "chart default of storageClass")),
        ({"storage": "9Gi", "storageClass": "x", "images": [PAIR]}, "9Gi", "x", ("storage", "storageClass")),
        (
            {"storage": "9Gi", "images": [{**PAIR, "storage": "8Gi", "storageClass": "y"}]},
            "8Gi",
            "y",
            ("images[0].storage", "images[0].storageClass"),
        ),
        (
            {"storage": "", "storageClass": "", "images": [{**PAIR, "storage": "", "storageClass": None}]},
            "6Gi",
            "",
            ("chart default of storage", "storageClass"),
        ),
        (
            {"storage": None, "images": [PAIR]},
            "6Gi",
            "replicated",
            ("chart default of storage", "chart default of storageClass"),
        ),
        (
            {"images": [{**PAIR, "storage": 6442450944}]},
            "6.442450944e+09",
            "replicated",
            ("images[0].storage", "chart default of storageClass"),
        ),
    ],
)
def test_fall_back(values, storage, storage_class, origins):
    entry = only(values)
    assert (entry.storage, entry.storage_class) == (storage, storage_class)
    assert (entry.origin("storage"), entry.origin("storageClass")) == origins


@pytest.mark.parametrize("images", [[], None, ()])
def test_no_entries(images):
    assert Catalog.from_values({"images": images}).entries == ()


@pytest.mark.parametrize(
    ("images", "malformed"),
    [("x", ("images",)), ({"a": 1}, ("images",)), ([PAIR, "x", None], ("images[1]", "images[2]"))],
)
def test_malformed(images, malformed):
    catalog = Catalog.from_values({"images": images})
    assert catalog.malformed == malformed
    assert all(entry.golden == "talos-worker-aaa-v1.13.6" for entry in catalog.entries)


def test_by_golden_takes_the_later_duplicate():
    catalog = Catalog.from_values({"images": [PAIR, {**PAIR, "storage": "8Gi"}]})
    assert catalog.by_golden()["talos-worker-aaa-v1.13.6"].index == 1


@pytest.mark.parametrize(
    ("entry", "golden", "fields"),
    [
        ({}, live(), []),
        ({"storage": "6144Mi"}, live(), []),
        ({"storage": "6442450944"}, live(), []),
        ({"storage": "6G"}, live(), ["storage"]),
        ({"storage": "10Gi"}, live(storage=None), []),
        ({"storageClass": "local"}, live(), ["storageClass"]),
        ({"storageClass": "local"}, live(storage_class=None), []),
        ({"storageClass": "local"}, live(storage_class=""), []),
        ({"imageFactoryURL": "https://factory.talos.dev//"}, live(), []),
        ({"imageFactoryURL": "https://mirror.example"}, live(), ["imageFactoryURL"]),
        ({"imageFactoryURL": "https://mirror.example"}, live(url=None), []),
        ({}, live(url="https://elsewhere.example/disk.raw"), ["imageFactoryURL"]),
        (
            {"storage": "10Gi", "storageClass": "local", "imageFactoryURL": "http://m"},
            live(),
            ["storage", "storageClass", "imageFactoryURL"],
        ),
    ],
)
def test_drift_of(entry, golden, fields):
    assert [drift.field for drift in drift_of(only({"images": [{**PAIR, **entry}]}), golden)] == fields


@pytest.mark.parametrize(
    ("values", "golden", "written"),
    [
        ({"images": [PAIR]}, live(), {"images": [PAIR]}),
        ({"images": [{**PAIR, "storage": "6144Mi"}]}, live(), {"images": [{**PAIR, "storage": "6Gi"}]}),
        (
            {"storage": "6144Mi", "images": [PAIR]},
            live(),
            {"storage": "6144Mi", "images": [{**PAIR, "storage": "6Gi"}]},
        ),
        (
            {"imageFactoryURL": "http://m//", "images": [{**PAIR, "imageFactoryURL": "http://n/"}]},
            None,
            {"imageFactoryURL": "http://m", "images": [{**PAIR, "imageFactoryURL": "http://n"}]},
        ),
        (
            {"images": [{**PAIR, "imageFactoryURL": "http://m/t"}]},
            live(url="http://m/t//image/aaa/v1.13.6/openstack-amd64.raw.xz"),
            {"images": [{**PAIR, "imageFactoryURL": "http://m/t//"}]},
        ),
        ({"images": "junk"}, live(), {"images": "junk"}),
        ({"storageClass": "local"}, None, {"storageClass": "local"}),
    ],
)
def test_keep_live_spelling(values, golden, written):
    goldens = {golden.name: golden} if golden else {}
    kept = keep_live_spelling(values, goldens)
    assert kept == written
    if golden and isinstance(written["images"], list):
        entry = only(kept)
        assert (entry.storage, entry.url) == (golden.storage_request, golden.http_url)


def test_keep_live_spelling_of_the_default_entry():
    (default,) = CATALOG_DEFAULTS["images"]
    golden = live()
    named = f"talos-worker-{default['schematicID']}-{default['version']}"
    kept = keep_live_spelling({"storage": "6144Mi"}, {named: golden})
    assert kept == {"storage": "6144Mi", "images": [{**default, "storage": "6Gi"}]}


SAME_ADDRESS = "http://m/t//image/aaa/v1.13.6/openstack-amd64.raw.xz"


@pytest.mark.parametrize(
    ("values", "golden", "written"),
    [
        # Only what is equal keeps the live spelling; a real difference is the guard's business and stays as declared.
        ({"images": [{**PAIR, "storage": "7Gi"}]}, live(), {"images": [{**PAIR, "storage": "7Gi"}]}),
        (
            {"images": [{**PAIR, "imageFactoryURL": "http://n"}]},
            live(url=SAME_ADDRESS),
            {"images": [{**PAIR, "imageFactoryURL": "http://n"}]},
        ),
        (
            {"images": [{**PAIR, "storage": "6Gi"}]},
            live(storage=None, url=None),
            {"images": [{**PAIR, "storage": "6Gi"}]},
        ),
        ({"images": [PAIR]}, live(url="http://elsewhere/disk"), {"images": [PAIR]}),
        ({"images": [PAIR, "x", None]}, live(storage="6144Mi"), {"images": [{**PAIR, "storage": "6144Mi"}, "x", None]}),
        (
            {"images": [{"version": "v1.13.6"}, {**PAIR, "imageFactoryURL": 5}]},
            None,
            {"images": [{"version": "v1.13.6"}, {**PAIR, "imageFactoryURL": 5}]},
        ),
        ({"images": []}, None, {"images": []}),
        ({}, None, {}),
        ({"imageFactoryURL": 5}, None, {"imageFactoryURL": 5}),
    ],
)
def test_keep_live_spelling_changes_nothing_else(values, golden, written):
    assert keep_live_spelling(values, {golden.name: golden} if golden else {}) == written


def test_drift_of_another_path_shows_both_addresses():
    (drift,) = drift_of(only({"images": [PAIR]}), live(url="http://m/x"))
    assert (drift.live, drift.wanted) == (
        "http://m/x",
        "https://factory.talos.dev/image/aaa/v1.13.6/openstack-amd64.raw.xz",
    )


def test_drift_of_another_path_on_a_blank_base():
    values = {"imageFactoryURL": "", "images": [PAIR]}
    assert [drift.field for drift in drift_of(only(values), live(url="http://m/x"))] == ["imageFactoryURL"]
