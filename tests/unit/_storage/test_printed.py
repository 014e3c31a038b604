# SPDX-License-Identifier: Apache-2.0
"""How the charts print and layer values."""

from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.printed import (
    go_quoted,
    helm_merge,
    printed,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2, "2"),
        (0, "0"),
        (2000, "2000"),
        (123456, "123456"),
        (1000000, "1e+06"),
        (1234567, "1.234567e+06"),
        (21474836480, "2.147483648e+10"),
        (4294967296, "4.294967296e+09"),
        (-21474836480, "-2.147483648e+10"),
        (0.5, "0.5"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (2.0, "2"),
        (1.13, "1.13"),
        (10**400, "1" + "0" * 400),
        (True, "true"),
        (False, "false"),
        (None, ""),
        ("20Gi", "20Gi"),
        ("", ""),
        ([1, "a"], '[1, "a"]'),
    ],
)
def test_printed(value, text):
    assert printed(value) == text


@pytest.mark.parametrize(("value", "text"), [("a", '"a"'), ('a"b', '"a\\"b"'), (20, '"20"'), (None, "")])
def test_go_quoted(value, text):
    assert go_quoted(value) == text


@pytest.mark.parametrize(
    ("defaults", "declared", "merged"),
    [
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": 4}, "e": 5}, {"a": 1, "b": {"c": 4, "d": 3}, "e": 5}),
        ({"a": 1}, {"a": None}, {}),
        ({"b": {"c": 2, "d": 3}}, {"b": {"c": None}}, {"b": {"d": 3}}),
        ({"l": [1, 2]}, {"l": []}, {"l": []}),
        # A null without a default stays, and the schema rejects it.
        ({"b": {}}, {"b": {"c": None}, "d": None}, {"b": {"c": None}, "d": None}),
        ({"b": {"c": 1}}, {"b": "text"}, {"b": "text"}),
        ({"b": "text"}, {"b": {"c": 1}}, {"b": {"c": 1}}),
    ],
)
def test_helm_merge(defaults, declared, merged):
    assert helm_merge(defaults, declared) == merged
