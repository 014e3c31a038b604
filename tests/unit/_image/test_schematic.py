# SPDX-License-Identifier: Apache-2.0
"""Schematic IDs: the factory's own vectors, order, and what is refused."""

from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.schematic import (
    InvalidSchematic,
    canonical_schematic,
    schematic_id,
)

VECTORS = [
    ({}, "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"),
    (
        {"systemExtensions": {"officialExtensions": ["siderolabs/qemu-guest-agent"]}},
        "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515",
    ),
    ({"extraKernelArgs": ["noapic", "nolapic"]}, "9cba8e32753f91a16c1837ab8abf356af021706ef284aef07380780177d9a06c"),
    ({"meta": [{"key": 10, "value": "foo"}]}, "d308a2a5ee2277bed5fbaa104fcbc8d59122abfa737df987a95b4ca763459a7f"),
    (
        {"secureboot": {"includeWellKnownCertificates": True}},
        "fa8e05f142a851d3ee568eb0a8e5841eaf6b0ebc8df9a63df16ac5ed2c04f3e6",
    ),
    ({"diskImage": {"sectorSize": 4096}}, "92833e9ddd9bb9e11b2464fa5525429f01866306d52ebd882ee08d7918f6d1ea"),
    (
        {"overlay": {"image": "siderolabs/sbc-raspberrypi", "name": "rpi_generic"}},
        "ee21ef4a5ef808a9b7484cc0dda0f25075021691c8c09a276591eedb638ea1f9",
    ),
    (
        {"systemExtensions": {"officialExtensions": ["siderolabs/qemu-guest-agent", "siderolabs/drbd"]}},
        "9994bbd63cb127e263b1957d85575054f9fceaa6d08c0609c5813134284f147d",
    ),
    (
        {"systemExtensions": {"officialExtensions": ["siderolabs/amd-ucode"]}},
        "96f8c146a67c80daad900d3fc1a6976fe11062321eee9ab6ae2a6aea88b2d26e",
    ),
]


@pytest.mark.parametrize(("schematic", "expected"), VECTORS)
def test_schematic_id(schematic, expected):
    assert schematic_id(schematic) == expected
    if "overlay" not in schematic:
        assert schematic_id({"customization": schematic}) == expected


def test_order_of_extensions_counts():
    one, two = (
        schematic_id({"systemExtensions": {"officialExtensions": order}})
        for order in (
            ["siderolabs/drbd", "siderolabs/qemu-guest-agent"],
            ["siderolabs/qemu-guest-agent", "siderolabs/drbd"],
        )
    )
    assert one != two


def test_empty_members_are_left_out():
    empty = {
        "extraKernelArgs": [],
        "meta": [],
        "systemExtensions": {"officialExtensions": []},
        "secureboot": {"enrollKeys": False},
    }
    assert canonical_schematic(empty) == "customization: {}\n"


def test_canonical_order_and_indentation():
    whole = {
        "customization": {
            "bootloader": "sd-boot",
            "systemExtensions": {"officialExtensions": ["a/b"]},
            "extraKernelArgs": ["-console", "a=b c"],
        },
        "owner": "me",
        "overlay": {"image": "a/b", "name": "c", "options": {"z": 1, "a": True}},
    }
    assert canonical_schematic(whole) == (
        "owner: me\noverlay:\n    image: a/b\n    name: c\n    options:\n        a: true\n        z: 1\n"
        "customization:\n    extraKernelArgs:\n        - -console\n        - a=b c\n"
        "    systemExtensions:\n        officialExtensions:\n            - a/b\n    bootloader: sd-boot\n"
    )


@pytest.mark.parametrize(
    ("schematic", "message"),
    [
        ({"systemExtension": {}}, "did you mean systemExtensions?"),
        ({"systemExtensions": {"officialExtension": []}}, "did you mean officialExtensions?"),
        ({"extraKernelArgs": "noapic"}, "extraKernelArgs is a list"),
        ({"extraKernelArgs": ["true"]}, "cannot be computed offline"),
        ({"extraKernelArgs": ["10"]}, "cannot be computed offline"),
        ({"extraKernelArgs": ["a: b"]}, "cannot be computed offline"),
        ({"extraKernelArgs": ["a:"]}, "cannot be computed offline"),
        ({"extraKernelArgs": ["a #b"]}, "cannot be computed offline"),
        ({"extraKernelArgs": [""]}, "cannot be computed offline"),
        ({"extraKernelArgs": ["2001-01-01"]}, "cannot be computed offline"),
        ({"extraKernelArgs": ["1:20"]}, "cannot be computed offline"),
        ({"extraKernelArgs": ["- x"]}, "cannot be computed offline"),
        ({"extraKernelArgs": [1]}, r"extraKernelArgs\[0\] is a text, not int"),
        ({"embeddedMachineConfiguration": "a\nb"}, "cannot be computed offline"),
        ({"meta": [{"key": "10", "value": "x"}]}, r"meta\[0\].key is a number from 0 to 255"),
        ({"meta": [{"key": 256, "value": "x"}]}, r"meta\[0\].key is a number from 0 to 255"),
        ({"meta": {}, "secureboot": []}, None),
        ({"secureboot": ["x"]}, "secureboot is a mapping"),
        ([], "a schematic is a mapping, not list"),
    ],
)
def test_schematic_refused(schematic, message):
    if message is None:
        assert canonical_schematic(schematic) == "customization: {}\n"
        return
    with pytest.raises(InvalidSchematic, match=message):
        schematic_id(schematic)
