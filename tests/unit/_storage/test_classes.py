# SPDX-License-Identifier: Apache-2.0
"""Which class is the default one."""

from __future__ import annotations

import itertools

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.classes import default_class
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.objects import (
    BETA_DEFAULT,
    GA_DEFAULT,
    VIRT_DEFAULT,
    StorageClass,
)

OLD, NEW = "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"


def storage_class(name, created=OLD, **marks):
    keys = {"ga": GA_DEFAULT, "beta": BETA_DEFAULT, "virt": VIRT_DEFAULT}
    annotations = {keys[key]: value for key, value in marks.items()}
    return StorageClass.from_api({"metadata": {"name": name, "creationTimestamp": created, "annotations": annotations}})


@pytest.mark.parametrize(
    ("classes", "name", "ambiguous"),
    [
        ([], "", False),
        ([storage_class("a")], "", False),
        ([storage_class("a", ga="true")], "a", False),
        ([storage_class("a", ga="True")], "", False),
        ([storage_class("a", ga="false", beta="true")], "a", False),
        ([storage_class("a", OLD, ga="true"), storage_class("b", NEW, ga="true")], "b", True),
        ([storage_class("a", NEW, ga="true"), storage_class("b", OLD, beta="true")], "a", True),
        ([storage_class("a", OLD, virt="true"), storage_class("b", NEW, ga="true")], "a", False),
        ([storage_class("a", OLD, virt="false"), storage_class("b", NEW, ga="true")], "b", False),
        ([storage_class("a", NEW, virt="true"), storage_class("b", OLD, virt="true")], "a", True),
        ([storage_class("a", OLD, ga="true"), storage_class("b", OLD, ga="true")], "b", True),
    ],
)
def test_default_class(classes, name, ambiguous):
    for order in itertools.permutations(classes):
        found = default_class(order)
        assert (found.name, found.ambiguous) == (name, ambiguous)


def test_default_class_says_why():
    found = default_class([storage_class("a", OLD, ga="true"), storage_class("b", NEW, beta="true")])
    assert found.why == f'{BETA_DEFAULT} is "true" on it, as on a; it is the newest of them'
    assert found.beta_only
    assert found.candidates == ("b", "a")


def test_default_class_says_that_there_is_none():
    assert default_class([]).why == "no class is marked as the default"
