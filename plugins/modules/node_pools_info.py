#!/usr/bin/python
# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_pools_info
short_description: Worker pools of a site, what they boot from and what the guards say
version_added: 0.1.0
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Lists worker pools with the resolved source of their boot disks, the state of their release and disks, and every refusal that
    their next change or platform upgrade would meet, however healthy they look today.
  - Predicts how the disks of every pool would be cloned, from the settings of CDI and of the storage classes, and reports how those
    that exist were cloned, which of them are stuck, and which are smaller than declared.
  - Costs one list request per kind whatever the number of pools. What depends on something unreadable (RV(unread)) is not known.
extends_documentation_fragment:
  - cozystack.worker_image.connection
  - cozystack.worker_image.attributes
  - cozystack.worker_image.attributes.reading
options:
  namespaces:
    description: Only pools of these tenant namespaces. All when empty.
    type: list
    elements: str
    default: []
  clusters:
    description: Only pools of clusters with these names. All when empty.
    type: list
    elements: str
    default: []
  names:
    description: Only pools with these object names, C(<cluster>-<pool>). All when empty.
    type: list
    elements: str
    default: []
  where:
    description:
      - Only pools for which this JMESPath expression holds. It sees a pool as RV(pools) has it.
      - Needs the Python library jmespath.
    type: str
  talos_windows:
    description:
      - Rows for the table of Kubernetes minors that a Talos minor supports, laid over the one that comes with the collection.
      - A key is a Talos minor such as V(v1.14), its value a list of the first and the last minor of Kubernetes 1, such as
        V([32, 37]).
      - Judges releases that the platform's chart does not list (rule V(talos-window-unlisted)).
    type: dict
  stalled_after:
    description: Seconds after which a boot disk that is neither ready nor failed counts as stalled.
    type: int
    default: 900
seealso:
  - module: cozystack.worker_image.node_pools
"""

EXAMPLES = r"""
- name: What boots from what
  cozystack.worker_image.node_pools_info:
    namespaces: [tenant-acme]
  register: site_pools

- name: Pools whose next change would be refused
  ansible.builtin.debug:
    msg: "{{ site_pools.pools | rejectattr('would_be_refused', 'equalto', []) | map(attribute='name') }}"

- name: Pools whose workers get network copies instead of clones inside the storage
  ansible.builtin.debug:
    msg: "{{ site_pools.pools | selectattr('clone') | selectattr('clone.method', 'equalto', 'copy') | map(attribute='name') }}"

- name: Pools of one wave that still boot from an old release
  cozystack.worker_image.node_pools_info:
    where: labels.wave == '1' && source.mode == 'builtin' && source.version != 'v1.13.7'

- name: Pools that would roll if the platform moved its default Talos release
  cozystack.worker_image.node_pools_info:
    where: follows_defaults."talos.version"

- name: Stop when boot disks are stuck
  ansible.builtin.assert:
    that: site_pools.disk_summary.stalled + site_pools.disk_summary.failed == []
"""

RETURN = r"""
refusals:
  description: What the guards refuse. Of live pools; this module never fails because of them.
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
  description: Always empty here, in the same shape as RV(refusals).
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
  description: The pools found, by namespace and name.
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
    labels:
      description: Labels of the KubernetesNodes object.
      type: dict
    rollout:
      description: How far its machines are; values are null when nothing is known of them.
      type: dict
      contains:
        replicas:
          description: Machines there are.
          type: int
        updated:
          description: Machines of the present machine template.
          type: int
        ready:
          description: Machines that are ready.
          type: int
        rolling:
          description: Whether machines are being replaced.
          type: bool
        complete:
          description: Whether the release is applied, every machine is of the present template and ready, and there are enough.
          type: bool
        template:
          description:
            - C(live), the machine template that the MachineDeployment names; C(predicted), the one that the chart would render now;
              C(differs), null when one of them is not known.
            - Settings of the whole site that are part of the name are not read; where they are not the platform's own, names differ.
          type: dict
    follows_defaults:
      description:
        - Fields that its workers are made from and that it does not store, with what they resolve to today. A platform upgrade that
          moves such a default replaces the workers. Null when the release could not be read.
      type: dict
    storage_class:
      description: Class of its disks, the cluster's default included; null when it cannot be told. C(storage_class_from) says why.
      type: str
    worker_disk:
      description: Annotations, source and storage of a boot disk, as the platform's chart states them.
      type: dict
    machine_template:
      description: Name of the machine template that the chart would render; C(machine_template_unknown) says why it is blank.
      type: str
    would_be_refused:
      description: Ids of the rules that the next change or platform upgrade would meet.
      type: list
      elements: str
    clone:
      description: How a new boot disk of this pool would be filled; null for pools that clone nothing.
      type: dict
      contains:
        method:
          description:
            - V(csi-clone) or V(snapshot) are done inside the storage, V(copy) goes over the network for every worker, V(refused) means
              that CDI makes no clone at all.
            - V(unknown) when too little could be read; C(unknown) says what is missing.
          type: str
        reason:
          description: What decides.
          type: str
        fallback_reason:
          description: In CDI's words, why it copies although it is set to clone; blank when it does not, or when that cannot be told.
          type: str
        risks:
          description:
            - Each with C(id) and C(message). Ids are V(hang) (may never finish, and reports no error), V(waits) (the golden is not
              ready), V(never_starts) (nothing happens before something else does).
          type: list
          elements: dict
        unknown:
          description: What could not be told.
          type: list
          elements: str
        evidence:
          description: Every input with its C(value) and where it comes from (C(from)).
          type: dict
    disks:
      description: Boot disks that carry the annotation of this pool, those of an earlier golden included.
      type: list
      elements: dict
      contains:
        namespace:
          description: Namespace.
          type: str
        name:
          description: Name of the DataVolume.
          type: str
        golden:
          description: Name of the golden it was cloned from.
          type: str
        state:
          description: V(ready), V(running), V(stalled), V(failed) or V(lost).
          type: str
        phase:
          description: Phase of the DataVolume.
          type: str
        clone_type:
          description: The way CDI took, V(csi-clone), V(snapshot) or V(copy); blank while it has not decided.
          type: str
        fallback_reason:
          description: In CDI's words, why it copied.
          type: str
        size:
          description: Declared size.
          type: raw
        capacity:
          description: What the volume has.
          type: raw
        undersized:
          description: Whether the volume has less than was declared; null while it is not bound.
          type: bool
        age:
          description: Seconds since the DataVolume was created.
          type: int
        stalled:
          description: Whether it is neither ready nor failed after O(stalled_after) seconds.
          type: bool
        clone_phase:
          description: Step of the clone, from the claim's annotation C(cdi.kubevirt.io/clonePhase).
          type: str
        clone_error:
          description: Error of the clone, from the claim's annotation C(cdi.kubevirt.io/cloneError).
          type: str
        message:
          description: What a disk that is not ready last said of itself.
          type: str
    disk_summary:
      description: The disks of this pool, counted.
      type: dict
      contains: &disk_summary
        total:
          description: Number of boot disks.
          type: int
        phases:
          description: Number of disks by phase of their DataVolume; C(none) for a blank one.
          type: dict
        clone_types:
          description: Number of disks by the way CDI took, V(csi-clone), V(snapshot) or V(copy); C(none) while CDI has not decided.
          type: dict
        failed:
          description: Disks that failed or whose claim is lost, as C(namespace/name).
          type: list
          elements: str
        stalled:
          description: Disks that are neither ready nor failed after O(stalled_after) seconds, as C(namespace/name).
          type: list
          elements: str
        undersized:
          description: Disks whose volume has less than was declared, as C(namespace/name).
          type: list
          elements: str
disk_summary:
  description: All boot disks of all pools found, counted.
  returned: always
  type: dict
  contains: *disk_summary
unread:
  description: Kinds that could not be read, with the cause.
  returned: always
  type: dict
"""

from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import run_module
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.node_pools_info import (
    INFO_SPEC,
    node_pools_info,
)


def main() -> None:
    run_module(node_pools_info, INFO_SPEC)


if __name__ == "__main__":
    main()
