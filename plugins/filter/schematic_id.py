# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ID of a Talos schematic, computed without a factory."""

from __future__ import annotations

DOCUMENTATION = r"""
name: schematic_id
short_description: ID of a Talos schematic, computed without a factory
version_added: 0.1.0
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Computes the ID that an image factory gives a schematic. The order of extensions counts.
  - Text whose quoting by the factory is not certain is refused; register such a schematic at the factory instead.
  - The ID alone does not make a factory know the schematic.
options:
  _input:
    description: A schematic, or its C(customization) alone.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the ID of the platform's default schematic
  ansible.builtin.debug:
    msg: "{{ {'systemExtensions': {'officialExtensions': ['siderolabs/qemu-guest-agent']}} | cozystack.worker_image.schematic_id }}"
"""

RETURN = r"""
_value:
  description: The ID, 64 hexadecimal digits.
  type: str
  sample: ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._image.schematic import schematic_id as compute
from ansible_collections.cozystack.worker_image.plugins.plugin_utils._faces import face, mapping_of


def schematic_id(schematic: Any) -> str:
    """Face of the pure function."""
    return compute(mapping_of(schematic, "a schematic"))


class FilterModule:
    """The filter for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"schematic_id": face("schematic_id", schematic_id)}
