# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Name of the machine template of a pool."""

from __future__ import annotations

DOCUMENTATION = r"""
name: machine_template_name
short_description: Name of the machine template of a pool
version_added: 0.1.0
positional: cluster_values, storage_class, objects
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Computes the name of the C(KubevirtMachineTemplate), which ends in a hash of its text. Another name rolls the workers.
options:
  _input:
    description:
      - A pool, as C(namespace), C(cluster), C(pool) and C(spec), or a whole C(KubernetesNodes) object.
    type: dict
    required: true
  cluster_values:
    description: The C(_cluster) values that the platform gives to charts; they are part of the name.
    type: dict
    default: {}
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
- name: Show the name of the machine template
  ansible.builtin.debug:
    msg: "{{ pool | cozystack.worker_image.machine_template_name }}"
"""

RETURN = r"""
_value:
  description: Name of the machine template.
  type: str
  sample: kubernetes-shop-md0-4f12f8
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.template import (
    machine_template_name as compute,
)
from ansible_collections.cozystack.worker_image.plugins.plugin_utils._faces import class_of, face, mapping_of, pool_of


def machine_template_name(pool: Any, cluster_values: Any = None, storage_class: Any = None, objects: Any = None) -> str:
    """Face of the pure function."""
    known = pool_of(pool)
    values = {} if cluster_values is None else mapping_of(cluster_values, "cluster_values")
    return compute(known, values, class_of(known, storage_class, objects))


class FilterModule:
    """The filter for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"machine_template_name": face("machine_template_name", machine_template_name)}
