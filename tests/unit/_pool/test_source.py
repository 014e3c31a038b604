# SPDX-License-Identifier: Apache-2.0
"""Resolution of the boot source: presence decides, blanks fall back, and it never fails."""

from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.golden import DEFAULT_SCHEMATIC
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.source import resolve_source
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.template import render_machine_template
from hypothesis import given
from hypothesis import strategies as st

FACTORY_URL = f"https://factory.talos.dev/image/{DEFAULT_SCHEMATIC}/v1.13.6/openstack-amd64.raw.xz"
GOLDEN = f"talos-worker-{DEFAULT_SCHEMATIC}-v1.13.6"


def resolve(**spec):
    return resolve_source(Pool("t", "c", "p", spec).values)


@pytest.mark.parametrize(
    ("spec", "mode", "url"),
    [
        ({}, "omitted", FACTORY_URL),
        ({"osImage": None}, "omitted", FACTORY_URL),
        ({"osImage": {}}, "omitted", FACTORY_URL),
        ({"osImage": {"factory": {}}}, "factory", FACTORY_URL),
        ({"osImage": {"factory": {"version": ""}}}, "factory", FACTORY_URL),
        ({"osImage": {"builtin": {}}}, "builtin", ""),
        ({"osImage": {"builtin": None}}, "builtin", ""),
        ({"osImage": {"builtin": {"schematicID": ""}}}, "builtin", ""),
        ({"osImage": {"builtin": {}, "factory": {}}}, "ambiguous", ""),
        ({"osImage": "junk"}, "omitted", FACTORY_URL),
    ],
)
def test_mode_by_presence(spec, mode, url):
    source = resolve(**spec)
    assert (source.mode, source.golden, source.clones) == (mode, GOLDEN, mode == "builtin")
    if mode != "ambiguous":
        assert source.url == url


@pytest.mark.parametrize("blank", [None, "", 0, False, {}, []])
def test_an_override_counts_only_when_set(blank):
    source = resolve(osImage={"factory": {"version": blank, "schematicID": blank, "imageFactoryURL": blank}})
    assert source.url == FACTORY_URL
    assert set(source.origins.values()) == {"talos.schematicID", "talos.version", "talos.imageFactoryURL"}


def test_overrides_and_their_origins():
    source = resolve(
        osImage={"factory": {"version": "v1.14.0", "imageFactoryURL": "http://m/"}}, talos={"schematicID": "abc"}
    )
    assert source.url == "http://m/image/abc/v1.14.0/openstack-amd64.raw.xz"
    assert source.origins == {
        "schematicID": "talos.schematicID",
        "version": "osImage.factory.version",
        "imageFactoryURL": "osImage.factory.imageFactoryURL",
    }


def test_builtin_ignores_the_factory_url():
    source = resolve(osImage={"builtin": {"version": "v1.13.9"}}, talos={"imageFactoryURL": "junk"})
    assert (source.image_factory_url, source.url, source.golden) == (
        "",
        "",
        f"talos-worker-{DEFAULT_SCHEMATIC}-v1.13.9",
    )
    assert source.origins == {"schematicID": "talos.schematicID", "version": "osImage.builtin.version"}


def test_as_dict_speaks_the_platform_words():
    assert resolve().as_dict() | {"origins": {}} == {
        "mode": "omitted",
        "schematicID": DEFAULT_SCHEMATIC,
        "version": "v1.13.6",
        "imageFactoryURL": "https://factory.talos.dev",
        "url": FACTORY_URL,
        "golden": GOLDEN,
        "origins": {},
    }


scalars = (
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "abc", "v1.13.6", "v1.14.0", "http://m/", "junk"])
)
forms = (
    st.none()
    | st.just("junk")
    | st.dictionaries(st.sampled_from(["schematicID", "version", "imageFactoryURL", "other"]), scalars)
)
images = st.none() | st.just([]) | st.dictionaries(st.sampled_from(["builtin", "factory", "other"]), forms)


@given(images, forms)
def test_resolution_is_total_and_idempotent(image, talos):
    pool = Pool("t", "c", "p", {"osImage": image, "talos": talos})
    first = resolve_source(pool.values)
    assert first == resolve_source(pool.values)
    if first.mode != "ambiguous" and isinstance(talos, dict):
        form = "factory" if first.mode == "omitted" else first.mode
        pair = {"schematicID": first.schematic_id, "version": first.version}
        again = resolve(osImage={form: {**pair, "imageFactoryURL": first.image_factory_url}}, talos=talos)
        assert (again.schematic_id, again.version, again.url) == (first.schematic_id, first.version, first.url)


@given(
    st.dictionaries(
        st.sampled_from(["version", "schematicID", "imageFactoryURL"]), st.sampled_from(["v1.14.0", "abc", "http://m"])
    )
)
def test_omitted_empty_and_empty_factory_give_the_same_template(talos):
    texts = {
        render_machine_template(Pool("t", "c", "p", {"talos": talos, **image}), {}, "replicated")
        for image in ({}, {"osImage": None}, {"osImage": {}}, {"osImage": {"factory": {}}})
    }
    assert len(texts) == 1
