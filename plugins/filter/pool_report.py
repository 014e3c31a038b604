# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge worker pools."""

from __future__ import annotations

DOCUMENTATION = r"""
name: pool_report
short_description: Judge worker pools
version_added: 0.1.0
positional: objects
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Says what the platform's chart would do with pools. Gives every refusal of all pools at once, advice, and what each pool boots from.
  - Runs without a cluster; rules that need one are then listed as not judged.
options:
  _input:
    description:
      - A pool, as C(namespace), C(cluster), C(pool) and C(spec), or a whole C(KubernetesNodes) object.
      - Or a list of them.
    type: raw
    required: true
  objects:
    description:
      - Objects of the cluster of any kinds, as read from the API, for example the results of M(kubernetes.core.k8s_info).
      - Left out, nothing counts as read, and rules that need the cluster are listed as not judged.
    type: list
    elements: dict
  cluster_values:
    description: The C(_cluster) values that the platform gives to charts; they are part of the name of machine templates.
    type: dict
  pool_schema:
    description: The C(spec) properties that the cluster publishes for C(KubernetesNodes); they decide which fields a pool has.
    type: dict
  refuse_on:
    description: IDs of advice to raise to a refusal.
    type: list
    elements: str
    default: []
  accept:
    description: IDs of refusals to let pass; they are listed under C(accepted).
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Show what is wrong with the pools
  ansible.builtin.debug:
    msg: "{{ (pools | cozystack.worker_image.pool_report(objects=everything)).refusals }}"
"""

RETURN = r"""
_value:
  description:
    - C(refusals), C(advice), C(not_judged) and C(accepted), each a list of findings with C(id), C(subject), C(message), C(remedy)
      and C(evidence).
    - C(pools) has an entry for each pool, with its resolved C(source), C(storage_class), C(worker_disk) and C(machine_template).
    - For a single pool these keys are at the top as well.
  type: dict
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.report import report_pools
from ansible_collections.cozystack.worker_image.plugins.plugin_utils._faces import face, pools_of, state_of


def pool_report(
    pools: Any,
    objects: Any = None,
    cluster_values: Any = None,
    pool_schema: Any = None,
    refuse_on: Any = (),
    accept: Any = (),
) -> dict[str, Any]:
    """Face of the pure function."""
    known = pools_of(pools)
    state = state_of(objects, known, cluster_values, pool_schema)
    report = report_pools(known, state, list(refuse_on), list(accept))
    return {**report["pools"][0], **report} if isinstance(pools, Mapping) else report


class FilterModule:
    """The filter for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"pool_report": face("pool_report", pool_report)}
