# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resolve the boot source of a pool."""

from __future__ import annotations

DOCUMENTATION = r"""
name: resolve_os_image
short_description: Resolve the boot source of a pool
version_added: 0.1.0
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Resolves C(osImage) of a pool over its C(talos) block and the defaults of the chart.
  - C(osImage) absent, null or empty, C(builtin) empty, and C(factory) empty mean different things; the key decides, not its value.
options:
  _input:
    description: The C(spec) of a pool.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show which golden image a pool boots from
  ansible.builtin.debug:
    msg: "{{ (pool.spec | cozystack.worker_image.resolve_os_image).golden }}"
"""

RETURN = r"""
_value:
  description:
    - The resolved source with C(mode) (V(omitted), V(factory), V(builtin) or V(ambiguous)), C(schematicID), C(version), C(imageFactoryURL),
      C(url) (blank for V(builtin)), C(golden), and C(origins), the field that each value came from.
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.source import resolve_source
from ansible_collections.cozystack.worker_image.plugins.plugin_utils._faces import face, mapping_of


def resolve_os_image(spec: Any) -> dict[str, Any]:
    """Face of the pure function."""
    return resolve_source(Pool("", "", "", mapping_of(spec, "the spec of a pool")).values).as_dict()


class FilterModule:
    """The filter for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"resolve_os_image": face("resolve_os_image", resolve_os_image)}
