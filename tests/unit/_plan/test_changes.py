# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.changes import (
    ABSENT,
    compare,
    merge_patch,
    path_text,
    sides,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.pools import merge
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("declared", "live", "patch"),
    [
        ({}, {"a": 1}, {}),
        ({"a": 1}, {"a": 1, "b": 2}, {}),
        ({"a": 2}, {"a": 1}, {"a": 2}),
        ({"a": None}, {"a": 1}, {"a": None}),
        ({"a": None}, {}, {}),
        ({"a": None}, {"a": None}, {}),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, {}),
        ({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1}}),
        ({"a": {"b": 1, "c": None}}, {}, {"a": {"b": 1}}),
        ({"a": {}}, {}, {"a": {}}),
        ({"a": {}}, {"a": {}}, {}),
        ({"a": {}}, {"a": {"b": 1}}, {}),
        ({"a": [1]}, {"a": [1, 2]}, {"a": [1]}),
        ({"a": True}, {"a": 1}, {"a": True}),
        ({"a": 1}, {"a": None}, {"a": 1}),
        ({"a": {"x.y": 1}}, {"a": {"x.y": 2, "z": 3}}, {"a": {"x.y": 1}}),
    ],
)
def test_compare_gives_the_least_patch(declared: Any, live: Any, patch: Any) -> None:
    assert merge_patch(compare(declared, live)) == patch


scalars = st.one_of(st.integers(-3, 3), st.booleans(), st.sampled_from(["", "x", "6Gi"]))
trees = st.recursive(
    st.one_of(scalars, st.lists(scalars, max_size=2)),
    lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abcd"), trees, max_size=4)
declarations = st.dictionaries(st.sampled_from("abcd"), st.one_of(st.none(), trees), max_size=4)


@given(declarations, objects)
def test_after_the_patch_nothing_is_left_to_change(declared: dict[str, Any], live: dict[str, Any]) -> None:
    assert compare(declared, merge(live, merge_patch(compare(declared, live)))) == ()


@given(declarations, objects)
def test_undeclared_fields_survive_the_patch(declared: dict[str, Any], live: dict[str, Any]) -> None:
    after = merge(live, merge_patch(compare(declared, live)))
    assert {key: value for key, value in after.items() if key not in declared} == {
        key: value for key, value in live.items() if key not in declared
    }


def test_sides_hold_the_changed_fields_only() -> None:
    changes = compare({"a": {"b": 2, "gone": None}, "c": 3}, {"a": {"b": 1, "gone": 0}, "d": 4})
    assert sides(changes) == ({"a": {"b": 1, "gone": 0}}, {"a": {"b": 2}, "c": 3})


def test_path_text_quotes_keys_with_dots() -> None:
    assert path_text(("spec", "talos", "registryMirrors", "ghcr.io")) == 'spec.talos.registryMirrors."ghcr.io"'


def test_absent_reads_as_a_word() -> None:
    assert repr(ABSENT) == "absent"
