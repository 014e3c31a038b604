# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pools at another Talos release."""

from __future__ import annotations

DOCUMENTATION = r"""
name: upgrade_pools
short_description: Pools at another Talos release, and the catalog entries they need
version_added: 0.2.0
positional: version
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Takes pools as M(cozystack.worker_image.node_pools_info) returns them, and says what to hand to
    M(cozystack.worker_image.node_pools) and M(cozystack.worker_image.image_catalog) so that they boot from another release.
  - A pool keeps its schematic, unless O(schematicID) is given, and everything it states beside the version.
  - A pool whose resolved pair is the new one already declares nothing, so it is not written.
options:
  _input:
    description: RV(cozystack.worker_image.node_pools_info#module:pools).
    type: list
    elements: dict
    required: true
  version:
    description: The Talos release to move to, such as V(v1.13.7).
    type: str
    required: true
  schematicID:
    description: A schematic for all of them.
    type: str
  http_pools:
    description: Whether pools that boot over HTTP move, too, by C(osImage.factory.version). They are left alone otherwise.
    type: bool
    default: false
  frozen:
    description: Pools that are not going to be written, as C(namespace/name). No catalog entry is needed for them.
    type: list
    elements: str
    default: []
  images:
    description: Entries of the site's catalog. A new entry takes over storage, class and address of the one that it replaces.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Which pools there are
  cozystack.worker_image.node_pools_info:
    namespaces: [tenant-acme]
  register: site_pools

- name: What would happen if they moved
  cozystack.worker_image.node_pools:
    pools: "{{ (site_pools.pools | cozystack.worker_image.upgrade_pools('v1.13.7')).pools }}"
    planned_catalog:
      images: "{{ (site_pools.pools | cozystack.worker_image.upgrade_pools('v1.13.7')).images }}"
  check_mode: true
"""

RETURN = r"""
_value:
  description:
    - C(pools), for O(cozystack.worker_image.node_pools#module:pools), in the given order.
    - C(images), catalog entries, one for each schematic in use.
    - C(moving), C(there) (at the release already) and C(frozen), names as C(namespace/name).
    - C(left), pools that are left alone, each with C(namespace), C(name) and C(reason).
    - C(before), goldens that pools move away from, each with C(schematicID), C(version), C(golden) and C(pools).
  type: dict
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._image.versions import TalosVersion
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.upgrade import Target, upgrade_of
from ansible_collections.cozystack.worker_image.plugins.plugin_utils._faces import face, mapping_of, text_of


def upgrade_pools(
    pools: Any,
    version: Any,
    schematicID: Any = "",
    http_pools: Any = False,
    frozen: Any = (),
    images: Any = (),
) -> dict[str, Any]:
    """Face of the pure function."""
    if isinstance(pools, (str, bytes)) or not isinstance(pools, Sequence):
        raise TypeError(f"a list of pools is expected, not {type(pools).__name__}")
    reports = [mapping_of(pool, "a pool") for pool in pools]
    for report in reports:
        if not isinstance(report.get("source"), Mapping):
            raise TypeError("pools as module node_pools_info returns them are expected")
    TalosVersion.parse(text_of(version, "version"))
    schematic = text_of(schematicID, "schematicID") if schematicID else ""
    target = Target(version, schematic, bool(http_pools))
    return upgrade_of(reports, target, list(frozen or ()), [mapping_of(image, "an image") for image in images or ()])


class FilterModule:
    """The filter for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"upgrade_pools": face("upgrade_pools", upgrade_pools)}
