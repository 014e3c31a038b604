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
  - cozystack.worker_image.policy.approved
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
      - V(release) waits until every pool's release is applied.
      - V(workers) waits in addition until every worker of a pool is of its present machine template and ready, there are at least
        C(minReplicas) of them, and no boot disk is unfinished.
      - A release that is refused or fails, a boot disk in trouble or a failed machine ends the wait at once, with its message.
      - V(none) does not wait.
      - With O(state=absent), V(release) waits until releases and MachineDeployments are gone, V(workers) until the machines are, too.
    type: str
    choices: [none, release, workers]
    default: release
  wait_timeout:
    description: Seconds to wait at most, for each batch. The platform's own limit for a pool's release is 900 seconds.
    type: int
    default: 1200
  parallel:
    description: How many pools are written at the same time, 1 to 32.
    type: int
    default: 4
  batch_size:
    description:
      - Write at most so many pools, wait until their workers are replaced, then write the next ones. Needs O(wait=workers). 0 is all
        at once.
      - The site is read and judged anew before each batch. Pools of the task whose workers are still being replaced by an earlier run
        are waited for first, so a run that was killed goes on with the next one, and no more pools roll than allowed.
    type: int
    default: 0
  max_rolling_pools:
    description:
      - At most so many pools of a batch may have their workers replaced; those that keep their workers fill the rest. V(0) is no
        limit.
    type: int
    default: 0
  canary:
    description:
      - Pools that are written first, and alone. A number (the first of O(pools)), or a list of C(namespace/name).
      - A canary in trouble ends the run whatever O(max_failures) says.
    type: raw
  pause:
    description: Seconds between two batches.
    type: float
    default: 0.0
  max_failures:
    description:
      - So many pools may be in trouble before the run stops. The task fails all the same, once the others are done.
      - With 0 it stops at the first one.
    type: int
    default: 0
  frozen:
    description:
      - Pools that are never written, as C(namespace/name) with the object's name, C(<cluster>-<pool>). They are reported.
      - Names that are not among O(pools) are fine, so that one list serves a whole site.
    type: list
    elements: str
    default: []
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

- name: Move pools to a new release, one first, then five at a time
  cozystack.worker_image.node_pools:
    wait: workers
    canary: [tenant-acme/shop-canary]
    batch_size: 5
    pause: 60
    frozen: "{{ freeze_list }}"
    pools: "{{ pools_with_the_new_version }}"

- name: What would happen, to be approved
  cozystack.worker_image.node_pools:
    pools: "{{ site_pools }}"
  check_mode: true
  register: proposal

- name: Exactly that, or nothing
  cozystack.worker_image.node_pools:
    pools: "{{ site_pools }}"
    expected_plan: "{{ proposal.plan.hash }}"

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
      description:
        - The writes in order, each with C(action), C(kind), C(namespace), C(name), C(reason), C(risk), C(rolls_workers), C(digest) and
          C(changes); with C(roll_reasons), C(effect) and C(concerned) (workers, disks, bytes) where there is something to tell.
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
    rollout:
      description:
        - Counts of its machines, C(replicas), C(updated) and C(ready); C(rolling), whether they are being replaced; C(complete),
          whether every worker runs what the pool says. Null when nothing is known of machines.
      type: dict
    action:
      description: V(create), V(patch), V(delete), V(frozen) (it differs and is in O(frozen)) or V(none).
      type: str
    reason:
      description: Why, blank when nothing is to be done.
      type: str
    rolls_workers:
      description: Whether its workers are replaced; null when it cannot be told.
      type: bool
    roll:
      description:
        - Of a live pool that changes, C(old_template) and C(new_template), the names of the machine templates; C(moves), which of the
          references C(template), C(version) and C(config) of its MachineDeployment move (null cannot be told); C(fields), the declared
          fields that cause it; C(reasons) in words and C(notes). Null for others.
      type: dict
    freezes_defaults:
      description: Fields that this first change of the pool stores with today's default, so that they follow the platform no more.
      type: list
      elements: str
    concerned:
      description: Its C(workers) now, their C(disks), and the C(bytes) of these; null is unknown.
      type: dict
written:
  description: Pools that were written, as C(namespace/name), in order. Also in the result of a failed task.
  returned: when not in check mode
  type: list
  elements: str
batches:
  description: The pools of each batch, as C(namespace/name).
  returned: when not in check mode and O(state=present)
  type: list
  elements: list
unhealthy:
  description: Pools in trouble, by C(namespace/name), with the message.
  returned: when the task fails because of them
  type: dict
moved:
  description: What differs from the plan in O(expected_plan), a line each.
  returned: when the task fails because of it
  type: list
  elements: str
"""

from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import run_module
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.node_pools import POOLS_SPEC, node_pools


def main() -> None:
    run_module(node_pools, POOLS_SPEC)


if __name__ == "__main__":
    main()
