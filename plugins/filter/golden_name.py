# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Name of the golden image of a schematic and a Talos release."""

from __future__ import annotations

DOCUMENTATION = r"""
name: golden_name
short_description: Name of the golden image of a schematic and a Talos release
version_added: 0.1.0
positional: version
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Gives the name of the DataVolume in C(cozy-public) that worker disks are cloned from.
  - The name has 85 characters with a factory's schematic ID, so it does not fit a label value.
options:
  _input:
    description: ID of the schematic.
    type: str
    required: true
  version:
    description: Talos release, such as V(v1.13.6).
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show the name of the golden image
  ansible.builtin.debug:
    msg: "{{ schematic_id | cozystack.worker_image.golden_name('v1.13.6') }}"
"""

RETURN = r"""
_value:
  description: Name of the golden image.
  type: str
  sample: talos-worker-ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515-v1.13.6
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._image.golden import golden_name as compute
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.versions import checked_pair
from ansible_collections.cozystack.worker_image.plugins.plugin_utils._faces import face, text_of


def golden_name(schematic_id: Any, version: Any) -> str:
    """Face of the pure function; a malformed pair has no golden."""
    return compute(*checked_pair(text_of(schematic_id, "the schematic ID"), text_of(version, "version")))


class FilterModule:
    """The filter for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"golden_name": face("golden_name", golden_name)}
