# SPDX-License-Identifier: Apache-2.0
"""Tolerant reading of API objects."""

from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.objects import (
    Claim,
    DataVolume,
    StorageClass,
    StorageProfile,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.reading import is_set
from hypothesis import given
from hypothesis import strategies as st

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["", "a", "True", "6Gi"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["metadata", "spec", "status", "name", "storage", "annotations", "conditions", "source"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(st.dictionaries(st.sampled_from(["metadata", "spec", "status", "kind"]), json_values))
def test_from_api_never_fails(obj):
    for kind in (DataVolume, Claim, StorageClass, StorageProfile):
        kind.from_api(obj)


def test_data_volume_reads_what_is_there():
    volume = DataVolume.from_api(
        {
            "metadata": {
                "name": "g",
                "namespace": "cozy-public",
                "annotations": {"a": "b", "c": 1},
                "resourceVersion": "7",
            },
            "spec": {
                "source": {"http": {"url": "http://x"}},
                "storage": {"resources": {"requests": {"storage": "6Gi"}}, "storageClassName": "replicated"},
            },
            "status": {
                "phase": "ImportInProgress",
                "restartCount": 3,
                "conditions": [{"type": "Running", "status": "False"}, "junk"],
            },
        }
    )
    assert (volume.name, volume.namespace, volume.storage_class, volume.storage_request) == (
        "g",
        "cozy-public",
        "replicated",
        "6Gi",
    )
    assert (volume.http_url, volume.phase, volume.restarts, len(volume.conditions)) == (
        "http://x",
        "ImportInProgress",
        3,
        1,
    )
    assert (volume.meta.annotations, volume.meta.resource_version, volume.source_kinds) == ({"a": "b"}, "7", ("http",))


@pytest.mark.parametrize(
    ("written", "read"), [("6Gi", "6Gi"), (6, 6), ("", None), (None, None), (True, None), ({}, None)]
)
def test_storage_request(written, read):
    obj = {"spec": {"storage": {"resources": {"requests": {"storage": written}}}}}
    assert DataVolume.from_api(obj).storage_request == read


@pytest.mark.parametrize("value", [None, "", 0, 0.0, False, {}, []])
def test_is_set_false(value):
    assert not is_set(value)


@pytest.mark.parametrize("value", ["0", " ", 1, True, {"a": None}, [None]])
def test_is_set_true(value):
    assert is_set(value)
