# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reference of the Talos installer image that workers upgrade with."""

from __future__ import annotations

DOCUMENTATION = r"""
name: installer_image
short_description: Reference of the Talos installer image that workers upgrade with
version_added: 0.1.0
positional: schematic_id, version
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Gives the image reference that the platform writes into the configuration of workers.
options:
  _input:
    description: Repository prefix, as C(talos.installerRepository) of a pool.
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
- name: Show the installer image to mirror
  ansible.builtin.debug:
    msg: "{{ 'factory.talos.dev/installer' | cozystack.worker_image.installer_image(schematic_id, 'v1.13.6') }}"
"""

RETURN = r"""
_value:
  description: Image reference.
  type: str
  sample: factory.talos.dev/installer/ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515:v1.13.6
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._image.golden import installer_image as compute
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.versions import checked_pair
from ansible_collections.cozystack.worker_image.plugins.plugin_utils._faces import face, text_of


def installer_image(repository: Any, schematic_id: Any, version: Any) -> str:
    """Face of the pure function."""
    pair = checked_pair(text_of(schematic_id, "the schematic ID"), text_of(version, "version"))
    return compute(text_of(repository, "the repository"), *pair)


class FilterModule:
    """The filter for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"installer_image": face("installer_image", installer_image)}
