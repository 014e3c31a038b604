# SPDX-License-Identifier: Apache-2.0
"""Names and addresses."""

from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.golden import (
    DEFAULT_SCHEMATIC,
    DEFAULT_TALOS,
    chart_image_url,
    golden_name,
    image_url,
    installer_image,
)


def test_golden_name_is_the_contract_and_too_long_for_a_label():
    assert golden_name(DEFAULT_SCHEMATIC, DEFAULT_TALOS) == f"talos-worker-{DEFAULT_SCHEMATIC}-v1.13.6"
    assert len(golden_name(DEFAULT_SCHEMATIC, DEFAULT_TALOS)) == 85


@pytest.mark.parametrize(
    "base", ["https://mirror.example/base", "https://mirror.example/base/", "https://mirror.example/base//"]
)
def test_image_url_drops_every_trailing_slash(base):
    assert image_url(base, "abc", "v1.13.6") == "https://mirror.example/base/image/abc/v1.13.6/openstack-amd64.raw.xz"


def test_chart_image_url_drops_one_slash():
    assert chart_image_url("http://m/t//", "abc", "v1.13.6") == "http://m/t//image/abc/v1.13.6/openstack-amd64.raw.xz"


@pytest.mark.parametrize("repository", ["factory.talos.dev/installer", "factory.talos.dev/installer/"])
def test_installer_image(repository):
    assert installer_image(repository, "abc", "v1.13.6") == "factory.talos.dev/installer/abc:v1.13.6"
