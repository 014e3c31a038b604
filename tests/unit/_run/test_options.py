# SPDX-License-Identifier: Apache-2.0
"""Options in the platform's own words: what is wrong is named with field, value and the nearest valid key."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.failures import OptionFailure
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.options import (
    catalog_option,
    pool_options,
    windows_option,
)
from hypothesis import given
from hypothesis import strategies as st

ENTRY = {"schematicID": "abc", "version": "v1.13.6"}
POOL = {"namespace": "tenant-acme", "cluster": "shop", "pool": "a"}


@pytest.mark.parametrize(
    ("catalog", "message"),
    [
        ({"image": [ENTRY]}, "catalog: unknown key 'image' (value [{"),
        ({"image": [ENTRY]}, "did you mean 'images'?"),
        (
            {"imageFactoryUrl": "http://m"},
            "unknown key 'imageFactoryUrl' (value \"http://m\"); did you mean 'imageFactoryURL'?",
        ),
        ({"zzz": 1}, "valid keys are imageFactoryURL, storageClass, storage, images"),
        (
            {"images": [{**ENTRY, "schematicId": "x"}]},
            "catalog.images[0]: unknown key 'schematicId' (value \"x\"); did you mean 'schematicID'?",
        ),
        ({"images": []}, "catalog.images: the list is empty"),
        ({"images": "abc"}, 'catalog.images: a list is expected, not "abc"'),
        ({"images": ["abc"]}, 'catalog.images[0]: a mapping is expected, not "abc"'),
        ({"images": "[1"}, "catalog.images: not valid JSON"),
        (
            {"images": [{**ENTRY, "version": 1.13}]},
            "catalog.images[0].version: text is expected, not 1.13; put it in quotes",
        ),
        ({"images": [{**ENTRY, "schematicID": 12}]}, "catalog.images[0].schematicID: text is expected, not 12"),
        ({"storage": "6 gigs"}, 'catalog.storage: "6 gigs" is not a Kubernetes quantity'),
        ({"storage": True}, "catalog.storage: a size such as 6Gi is expected, not true"),
        ("abc", 'catalog: a mapping is expected, not "abc"'),
        ([], "catalog: a mapping is expected, not []"),
    ],
)
def test_a_catalog_that_cannot_be_read_is_named(catalog: Any, message: str) -> None:
    with pytest.raises(OptionFailure) as caught:
        catalog_option(catalog)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("pools", "message"),
    [
        ([], "pools: the list is empty"),
        ({}, "pools: a list is expected, not {}"),
        (["md0"], 'pools[0]: a mapping is expected, not "md0"'),
        ([{"cluster": "shop", "pool": "a"}], "pools[0].namespace: required, and missing"),
        ([{**POOL, "specs": {}}], "pools[0]: unknown key 'specs' (value {}); did you mean 'spec'?"),
        ([{**POOL, "spec": [1]}], "pools[0].spec: a mapping is expected, not [1]"),
        ([{**POOL, "pool": 7}], "pools[0].pool: a name is expected, not 7"),
        ([{**POOL, "pool": ""}], 'pools[0].pool: a name is expected, not ""'),
        (
            [{**POOL, "spec": {"cluster": "other"}}],
            "pools[0].spec.cluster: \"other\" contradicts pools[0].cluster 'shop'",
        ),
        ([POOL, POOL], "pools[1]: tenant-acme/shop-a stands at pools[0] already"),
    ],
)
def test_pools_that_cannot_be_read_are_named(pools: Any, message: str) -> None:
    with pytest.raises(OptionFailure) as caught:
        pool_options(pools, with_spec=True)
    assert message in str(caught.value)


def test_blank_means_not_set_and_json_text_is_taken_as_what_it_says() -> None:
    assert catalog_option({"storageClass": "", "storage": ""}) == {"storageClass": None, "storage": None}
    assert catalog_option('{"images": [{"schematicID": "abc", "version": "v1.13.6"}]}') == {"images": [ENTRY]}
    (pool,) = pool_options(
        '[{"namespace": "n", "cluster": "c", "pool": "p", "spec": {"minReplicas": "2"}}]', with_spec=True
    )
    assert pool.spec == {"cluster": "c", "minReplicas": 2}


def test_windows_are_laid_over_the_table() -> None:
    windows = windows_option({"v1.20": [40, 45]})
    assert windows is not None
    assert windows["v1.20"] == (40, 45)
    assert windows["v1.14"] == (32, 37)
    assert windows_option({}) is None


@pytest.mark.parametrize(
    "windows", [{"v1.14": [32]}, {"1.14": [32, 37]}, {"v1.14.1": [32, 37]}, {"v1.14": ["32", 37]}, {"v1.14": 7}]
)
def test_a_window_that_is_none_is_named(windows: Any) -> None:
    with pytest.raises(
        OptionFailure, match=f"talos_windows: windows: {next(iter(windows))} needs the first and the last"
    ):
        windows_option(windows)


anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["images", "storage", "schematicID", "version", "namespace", "cluster", "pool", "spec", "x"]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@given(anything)
def test_no_value_whatever_ends_in_anything_but_a_named_failure(value: Any) -> None:
    for read in (catalog_option, lambda given_value: pool_options(given_value, with_spec=True)):
        with contextlib.suppress(OptionFailure):
            read(value)
