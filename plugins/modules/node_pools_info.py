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
  - Costs one list request per kind whatever the number of pools.
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
  talos_windows:
    description:
      - Rows for the table of Kubernetes minors that a Talos minor supports, laid over the one that comes with the collection.
      - A key is a Talos minor such as V(v1.14), its value a list of the first and the last minor of Kubernetes 1, such as
        V([32, 37]).
      - Judges releases that the platform's chart does not list (rule V(talos-window-unlisted)).
    type: dict
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
unread:
  description: Kinds that could not be read, with the cause.
  returned: always
  type: dict
"""

from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import run_module
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.node_pools_info import node_pools_info


def main() -> None:
    names = {"type": "list", "elements": "str", "default": []}
    windows = {"type": "dict"}
    run_module(node_pools_info, {"namespaces": names, "clusters": names, "names": names, "talos_windows": windows})


if __name__ == "__main__":
    main()
