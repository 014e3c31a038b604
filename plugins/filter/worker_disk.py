# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Boot disk of the workers of a pool."""

from __future__ import annotations

DOCUMENTATION = r"""
name: worker_disk
short_description: Boot disk of the workers of a pool
version_added: 0.1.0
positional: storage_class, objects
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Gives annotations, source and storage of the boot disk as the machine template of the pool states them.
options:
  _input:
    description:
      - A pool, as C(namespace), C(cluster), C(pool) and C(spec), or a whole C(KubernetesNodes) object.
    type: dict
    required: true
  storage_class:
    description: The class that the disk is on, for a pool that clones and declares none.
    type: str
  objects:
    description:
      - Objects of the cluster of any kinds, as read from the API, for example the results of M(kubernetes.core.k8s_info).
      - Left out, nothing counts as read, and rules that need the cluster are listed as not judged.
    type: list
    elements: dict
"""

EXAMPLES = r"""
- name: Show what the boot disk is made from
  ansible.builtin.debug:
    msg: "{{ (pool | cozystack.worker_image.worker_disk).source }}"
"""

RETURN = r"""
_value:
  description: C(annotations), C(source) and C(storage).
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.template import boot_disk
from ansible_collections.cozystack.worker_image.plugins.plugin_utils._faces import class_of, face, pool_of


def worker_disk(pool: Any, storage_class: Any = None, objects: Any = None) -> dict[str, Any]:
    """Face of the pure function."""
    known = pool_of(pool)
    return boot_disk(known, class_of(known, storage_class, objects))


class FilterModule:
    """The filter for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"worker_disk": face("worker_disk", worker_disk)}
