# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.survey import typed_spec
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("given_spec", "expected"),
    [
        ({"minReplicas": "3"}, {"minReplicas": 3}),
        ({"minReplicas": " 3 "}, {"minReplicas": 3}),
        ({"minReplicas": ""}, {}),
        ({"minReplicas": "three"}, {"minReplicas": "three"}),
        ({"minReplicas": "3.0"}, {"minReplicas": "3.0"}),
        ({"logSerialConsole": "true"}, {"logSerialConsole": True}),
        ({"logSerialConsole": "No"}, {"logSerialConsole": False}),
        ({"logSerialConsole": "maybe"}, {"logSerialConsole": "maybe"}),
        ({"roles": '["a", "b"]'}, {"roles": ["a", "b"]}),
        ({"roles": ""}, {}),
        ({"roles": "a,b"}, {"roles": "a,b"}),
        ({"osImage": '{"builtin": {}}'}, {"osImage": {"builtin": {}}}),
        ({"osImage": {"builtin": {"version": ""}}}, {"osImage": {"builtin": {"version": ""}}}),
        ({"osImage": {"builtin": ""}}, {"osImage": {}}),
        ({"storageClass": ""}, {"storageClass": ""}),
        ({"diskSize": "20"}, {"diskSize": "20"}),
        ({"version": 1.35}, {"version": 1.35}),
        ({"unknown": "3"}, {"unknown": "3"}),
        ({"osImage": None}, {"osImage": None}),
    ],
)
def test_text_of_a_survey_gets_the_type_of_its_field(given_spec: Any, expected: Any) -> None:
    assert typed_spec(given_spec) == expected


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=5), inner, max_size=2)),
    max_leaves=4,
)


@given(
    st.dictionaries(
        st.sampled_from(["minReplicas", "roles", "osImage", "talos", "gpus", "logSerialConsole", "x"]), values
    )
)
def test_it_is_idempotent_and_never_fails(spec: dict[str, Any]) -> None:
    once = typed_spec(spec)
    assert typed_spec(once) == once
