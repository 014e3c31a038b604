# SPDX-License-Identifier: Apache-2.0
"""Talos releases, both support tables, image sizes."""

from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.versions import (
    CHART_MATRIX,
    TALOS_WINDOWS,
    TalosVersion,
    chart_row,
    checked_base,
    checked_pair,
    kubernetes_minor,
    minor_of,
    smallest_golden,
    supported_pair,
    talos_window,
)


@pytest.mark.parametrize("written", ["v1.13.6", "v1.14.0-beta.1", "v1.14.0-alpha.2", "v1.13.0-rc.1"])
def test_parse_round_trip(written):
    assert str(TalosVersion.parse(written)) == written


@pytest.mark.parametrize(
    "written", ["1.13.6", "v1.13", "V1.13.6", "v1.13.6/..", "v1.13.6\n", "", 1.13, None, "v1.13.6-", "v1.13.6-RC.1"]
)
def test_parse_refuses(written):
    with pytest.raises(ValueError, match="is not a Talos release"):
        TalosVersion.parse(written)


def test_order():
    ordered = [
        "v1.9.6",
        "v1.10.0",
        "v1.13.0-alpha.2",
        "v1.13.0-alpha.10",
        "v1.13.0-beta.0",
        "v1.13.0-rc.1",
        "v1.13.0",
        "v1.13.9",
        "v2.0.0",
    ]
    assert [str(item) for item in sorted(TalosVersion.parse(item) for item in reversed(ordered))] == ordered
    assert TalosVersion.parse("v1.13.6").family == "v1.13"


@pytest.mark.parametrize(
    ("written", "minor"),
    [("v1.13.6", "v1.13"), ("v1.13", "v1.13"), ("1.13.6", ""), (1.13, ""), ("x v1.13", ""), (None, "")],
)
def test_minor_of(written, minor):
    assert minor_of(written) == minor


@pytest.mark.parametrize(
    ("written", "minor"),
    [("v1.35.6", (1, 35)), ("1.34.0", (1, 34)), ("v1.35", (1, 35)), ("", None), (None, None), ("one", None)],
)
def test_kubernetes_minor(written, minor):
    assert kubernetes_minor(written) == minor


@pytest.mark.parametrize(
    ("kubernetes", "talos", "fits"),
    [
        ("1.36.0", "1.12.4", False),
        ("1.31.0", "1.7.0", False),
        ("1.36.0-alpha.1", "1.12.5", False),
        ("1.37.0", "1.13.9", False),
        ("1.30", "1.13.0", False),
        ("v1.31", "v1.13.6", True),
        ("v1.36", "v1.13.6", True),
        ("v1.35", "v1.12.11", True),
        ("v1.31", "v1.14.0", False),
        ("v1.35", "v1.99.0", False),
        ("v2.35", "v1.13.6", False),
        ("junk", "v1.13.6", False),
    ],
)
def test_supported_pair(kubernetes, talos, fits):
    assert supported_pair(talos, kubernetes) is fits


def test_tables_can_be_replaced():
    assert supported_pair("v1.13.6", "v1.31", {"v1.13": (32, 34)}) is False
    assert chart_row("v1.13.6", {"v1.13": ("v1.34",)}) == ("v1.34",)
    assert talos_window("v1.13.6", {}) is None


def test_tables_agree_where_both_know():
    for family, row in CHART_MATRIX.items():
        first, last = TALOS_WINDOWS[family]
        assert row == tuple(f"v1.{minor}" for minor in range(first, last + 1))


def test_every_window_has_six_minors():
    assert {last - first for first, last in TALOS_WINDOWS.values()} == {5}


@pytest.mark.parametrize(
    ("talos", "size"),
    [
        ("v1.13.6", 4453302272),
        ("v1.11.0", 4453302272),
        ("v1.10.9", 2247 << 20),
        ("v1.9.6", 1246 << 20),
        ("x", None),
        ("v2.0.0", None),
    ],
)
def test_smallest_golden(talos, size):
    assert smallest_golden(talos) == size


@pytest.mark.parametrize(
    ("talos", "bootloader", "mebibytes"),
    [
        ("v1.13.6", "sd-boot", 2246),
        ("v1.13.6", "grub", 2246),
        ("v1.13.6", "dual-boot", 4247),
        ("v1.10.9", "grub", 1246),
        ("v1.9.6", "grub", 1246),
    ],
)
def test_a_bootloader_of_its_own_needs_less(talos, bootloader, mebibytes):
    assert smallest_golden(talos, bootloader) == mebibytes << 20


def test_checked_pair_and_base():
    assert checked_pair("abc", "v1.13.6") == ("abc", "v1.13.6")
    assert checked_base("http://m:8080/t") == "http://m:8080/t"
    with pytest.raises(ValueError, match="is not a schematic ID"):
        checked_pair("ABC", "v1.13.6")
    with pytest.raises(ValueError, match="is not a Talos release"):
        checked_pair("abc", "v1.13")
    with pytest.raises(ValueError, match="is not a plain http"):
        checked_base("ftp://m")
