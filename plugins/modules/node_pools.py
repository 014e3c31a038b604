#!/usr/bin/python
# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_pools
short_description: Create, change or delete worker pools of Cozystack clusters
version_added: 0.1.0
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Takes a whole list of pools at once. The site is read with one list request per kind, every pool is judged by the guards of
    the platform's chart, and only when none refuses is the first pool written.
  - Only declared fields are compared and written, by create and JSON merge patch.
  - C(osImage) is declared as a whole. The other form and what a form does not state are removed in the same patch.
extends_documentation_fragment:
  - cozystack.worker_image.connection
  - cozystack.worker_image.attributes
  - cozystack.worker_image.attributes.changing
  - cozystack.worker_image.policy
options:
  pools:
    description:
      - The pools. Each has C(namespace), the tenant namespace; C(cluster), the name of the Kubernetes application; C(pool), the
        name of the pool in it; and C(spec), the fields of KubernetesNodes in the platform's own words.
      - A field that is not given is not touched. A null asks for the field to be absent.
    type: list
    elements: raw
    required: true
  state:
    description:
      - V(present) creates or changes the pools.
      - V(absent) deletes them with their workers. Goldens stay.
    type: str
    choices: [present, absent]
    default: present
  planned_catalog:
    description:
      - The site's catalog as given to M(cozystack.worker_image.image_catalog).
      - In check mode, a golden that does not exist but stands in it counts as coming, since the real run imports it first.
        Without check mode the golden has to exist.
    type: dict
  talos_windows:
    description:
      - Rows for the table of Kubernetes minors that a Talos minor supports, laid over the one that comes with the collection.
      - A key is a Talos minor such as V(v1.14), its value a list of the first and the last minor of Kubernetes 1, such as
        V([32, 37]).
      - Judges releases that the platform's chart does not list (rule V(talos-window-unlisted), advice unless O(refuse_on) names it).
    type: dict
  wait:
    description:
      - V(release) waits until every pool's release is applied. A release that is refused is reported at once.
      - V(workers) waits in addition until the boot disks of the smallest number of workers are ready.
      - V(none) does not wait.
    type: str
    choices: [none, release, workers]
    default: release
  wait_timeout:
    description: Seconds to wait at most. The platform's own limit for a pool's release is 900 seconds.
    type: int
    default: 1200
seealso:
  - module: cozystack.worker_image.node_pools_info
  - module: cozystack.worker_image.image_catalog
"""

EXAMPLES = r"""
- name: Two pools that boot from the golden image
  cozystack.worker_image.node_pools:
    wait: workers
    pools:
      - namespace: tenant-acme
        cluster: shop
        pool: md0
        spec:
          minReplicas: 2
          maxReplicas: 5
          osImage:
            builtin: {}
      - namespace: tenant-acme
        cluster: shop
        pool: canary
        spec:
          minReplicas: 1
          maxReplicas: 2
          osImage:
            builtin:
              version: v1.13.7

- name: Delete a pool
  cozystack.worker_image.node_pools:
    state: absent
    pools:
      - namespace: tenant-acme
        cluster: shop
        pool: canary
"""

RETURN = r"""
plan:
  description: What the task did, or would do in check mode.
  returned: always
  type: dict
  contains:
    hash:
      description: Hash over all steps; the same plan has the same hash.
      type: str
    steps:
      description: The writes in order, each with C(action), C(kind), C(namespace), C(name), C(reason), C(rolls_workers), C(changes).
      type: list
      elements: dict
refusals:
  description: What the guards refuse. Empty when the task succeeds; with a refusal nothing has been written.
  returned: always
  type: list
  elements: dict
  contains: &finding
    id:
      description: Id of the rule.
      type: str
    subject:
      description: Object and field.
      type: str
    message:
      description: What is wrong.
      type: str
    remedy:
      description: A way out that works.
      type: str
    evidence:
      description: The compared values and where they come from.
      type: dict
advice:
  description: What is worth knowing, in the same shape as RV(refusals).
  returned: always
  type: list
  elements: dict
  contains: *finding
accepted:
  description: Refusals that O(accept) let pass, in the same shape as RV(refusals).
  returned: always
  type: list
  elements: dict
  contains: *finding
not_judged:
  description: Rules that could not be judged because something could not be read, in the same shape as RV(refusals).
  returned: always
  type: list
  elements: dict
  contains: *finding
pools:
  description: The pools of the task, in its order.
  returned: always
  type: list
  elements: dict
  contains:
    namespace:
      description: Tenant namespace.
      type: str
    name:
      description: Name of the KubernetesNodes object, C(<cluster>-<pool>).
      type: str
    source:
      description: What its workers boot from, with C(mode), C(schematicID), C(version), C(golden) or C(url).
      type: dict
    release:
      description: State of its release, with the platform's message.
      type: dict
    workers:
      description: Wanted number of workers, boot disks that are ready, and boot disks that are not yet.
      type: dict
    action:
      description: V(create), V(patch), V(delete) or V(none).
      type: str
    rolls_workers:
      description: Whether its workers are replaced; null when it cannot be told.
      type: bool
"""

from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import POLICY_SPEC, run_module
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.node_pools import node_pools


def main() -> None:
    spec = {
        "pools": {"type": "list", "elements": "raw", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "planned_catalog": {"type": "dict"},
        "talos_windows": {"type": "dict"},
        "wait": {"type": "str", "choices": ["none", "release", "workers"], "default": "release"},
        "wait_timeout": {"type": "int", "default": 1200},
    }
    run_module(node_pools, {**spec, **POLICY_SPEC})


if __name__ == "__main__":
    main()
