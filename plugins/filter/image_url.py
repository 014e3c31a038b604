# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Address of a worker image below a factory or mirror."""

from __future__ import annotations

DOCUMENTATION = r"""
name: image_url
short_description: Address of a worker image below a factory or mirror
version_added: 0.1.0
positional: schematic_id, version
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Gives the address that the importer fetches. Trailing slashes of the base are dropped.
options:
  _input:
    description: Base address of the factory or mirror.
    type: str
    required: true
  schematic_id:
    description: ID of the schematic.
    type: str
    required: true
  version:
    description: Talos release, such as V(v1.13.6).
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show where the image is fetched from
  ansible.builtin.debug:
    msg: "{{ 'https://factory.talos.dev' | cozystack.worker_image.image_url(schematic_id, 'v1.13.6') }}"
"""

RETURN = r"""
_value:
  description: Address of the raw image.
  type: str
  sample: https://factory.talos.dev/image/ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515/v1.13.6/openstack-amd64.raw.xz
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._image.golden import image_url as compute
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.versions import checked_base, checked_pair
from ansible_collections.cozystack.worker_image.plugins.plugin_utils._faces import face, text_of


def image_url(base: Any, schematic_id: Any, version: Any) -> str:
    """Face of the pure function; base and pair are checked as the charts check them."""
    pair = checked_pair(text_of(schematic_id, "the schematic ID"), text_of(version, "version"))
    return compute(checked_base(text_of(base, "the base address")), *pair)


class FilterModule:
    """The filter for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"image_url": face("image_url", image_url)}
