# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Kubernetes quantity in bytes."""

from __future__ import annotations

DOCUMENTATION = r"""
name: quantity_bytes
short_description: A Kubernetes quantity in bytes
version_added: 0.1.0
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Converts a quantity exactly, rounding up to whole bytes. What Kubernetes refuses is refused.
options:
  _input:
    description: A quantity such as V(20Gi) or V(6G), or a whole number.
    type: raw
    required: true
"""

EXAMPLES = r"""
- name: Compare two sizes
  ansible.builtin.assert:
    that: "'6G' | cozystack.worker_image.quantity_bytes < '6Gi' | cozystack.worker_image.quantity_bytes"
"""

RETURN = r"""
_value:
  description: The number of bytes.
  type: int
  sample: 6442450944
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.quantity import to_bytes
from ansible_collections.cozystack.worker_image.plugins.plugin_utils._faces import face


def quantity_bytes(quantity: Any) -> int:
    """Face of the pure function."""
    return to_bytes(quantity)


class FilterModule:
    """The filter for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"quantity_bytes": face("quantity_bytes", quantity_bytes)}
