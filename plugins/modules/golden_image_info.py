#!/usr/bin/python
# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: golden_image_info
short_description: Every golden worker image of a site, with its state and its users
version_added: 0.1.0
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Lists the golden images in C(cozy-public) with state, progress, cause of trouble and remedy, size, class, age and users, and what
    CDI has left behind there.
  - Entries of the catalog whose golden does not exist are listed with state V(absent).
  - One list request per kind, whatever the number of goldens, pools and disks; large lists are read in pages.
  - What may not be read is null, never "none".
extends_documentation_fragment:
  - cozystack.worker_image.connection
  - cozystack.worker_image.attributes
  - cozystack.worker_image.attributes.reading
options:
  names:
    description: Names of goldens to return. All of them when empty; a name that does not exist is returned as V(absent).
    type: list
    elements: str
    default: []
  states:
    description: States to return. All of them when empty.
    type: list
    elements: str
    choices:
      - ready
      - importing
      - waiting
      - retrying
      - failing
      - stuck
      - failed
      - lost
      - will_not_finish
      - not_progressing
      - absent
      - deleting
      - unknown
      - api_missing
      - forbidden
    default: []
  finished_clones:
    description: Whether disks that have finished cloning are listed among the users. They are counted either way.
    type: bool
    default: false
  max_restarts:
    description: Number of failed attempts after which an import counts as V(failing).
    type: int
    default: 3
seealso:
  - module: cozystack.worker_image.golden_image
  - module: cozystack.worker_image.image_catalog
"""

EXAMPLES = r"""
- name: What is imported, and who uses it
  cozystack.worker_image.golden_image_info:
  register: site_goldens

- name: Show goldens in trouble
  ansible.builtin.debug:
    msg: "{{ item.name }}: {{ item.reason }}"
  loop: "{{ site_goldens.goldens | rejectattr('state', 'equalto', 'ready') }}"
  loop_control:
    label: "{{ item.name }}"
"""

RETURN = r"""
goldens:
  description: The goldens, those of the catalog first.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Name of the golden in namespace C(cozy-public).
      type: str
    schematicID:
      description: Schematic ID, from the catalog's entry or the golden's annotation.
      type: str
    version:
      description: Talos release, from the catalog's entry or the golden's annotation.
      type: str
    url:
      description: Address it was imported from.
      type: str
    state:
      description:
        - One of V(ready), V(importing), V(waiting), V(retrying), V(failing), V(stuck), V(failed), V(lost), V(will_not_finish),
          V(not_progressing), V(deleting), V(absent), V(unknown).
        - V(api_missing) and V(forbidden) when DataVolumes cannot be read at all.
      type: str
    reason:
      description: The state in words, with the importer's own message where there is one.
      type: str
    trouble:
      description: Id of what is wrong, from the table of CDI's messages; blank when nothing is or the message is unknown.
      type: str
    cause:
      description: The cause in words.
      type: str
    remedy:
      description: What to do.
      type: str
    evidence:
      description: What the state was told from, such as conditions, pods, the last error and the last warning event.
      type: dict
    phase:
      description: Phase of the DataVolume.
      type: str
    progress:
      description: Per cent of the transfer, or null when CDI does not know it.
      type: float
    restarts:
      description: How often the importer was started anew.
      type: int
    size:
      description: Requested size, as written.
      type: raw
    size_bytes:
      description: Requested size in bytes.
      type: int
    capacity:
      description: Real capacity of the volume.
      type: raw
    capacity_bytes:
      description: Real capacity in bytes.
      type: int
    storageClass:
      description: Storage class.
      type: str
    created:
      description: When it was created.
      type: str
    age:
      description: Seconds since then.
      type: float
    import_seconds:
      description: Seconds from its creation until it was ready, or null when it is not or CDI does not say.
      type: float
    users:
      description:
        - Who uses it, each with C(how), C(namespace), C(name) and sometimes C(detail).
        - C(how) is V(declared) for a pool that declares it, V(cloning) for a clone that has not finished, V(template) and
          V(idle_template) for a machine template of MachineSets with and without machines, V(mounted) for a pod that mounts it, and
          V(cloned) for a finished clone (with O(finished_clones)).
      type: list
      elements: dict
    user_counts:
      description: Number of users by kind; null for a kind that could not be read.
      type: dict
    blocked:
      description: Whether somebody needs it, so that it cannot be retired; null when that could not be read.
      type: bool
    orphan:
      description: Whether no entry of the catalog names it; null when the catalog could not be read.
      type: bool
    managed_by:
      description: The Helm release that it belongs to, or null.
      type: str
    finalizers:
      description: Finalizers of the DataVolume and its claim, which hold it when it is deleted.
      type: list
      elements: str
leftovers:
  description:
    - Temporary claims, prime claims, scratch space and pods of CDI in C(cozy-public), or null when they may not be listed.
    - Those whose C(owner_state) is V(finished) or V(gone) should not be there any more; V(working) ones do their work.
  returned: always
  type: list
  elements: dict
  contains:
    kind:
      description: V(PersistentVolumeClaim) or V(Pod).
      type: str
    name:
      description: Name.
      type: str
    what:
      description: What it is for.
      type: str
    owner:
      description: The disk it works for as C(namespace/name), or the uid of its claim when nobody knows it.
      type: str
    owner_state:
      description: V(working), V(finished), V(gone), or V(unknown).
      type: str
    size:
      description: Requested size of a claim.
      type: raw
    storageClass:
      description: Storage class of a claim.
      type: str
    phase:
      description: Phase.
      type: str
    age:
      description: Seconds since it was created.
      type: float
totals:
  description:
    - Over the goldens returned. Number of C(goldens) and of C(orphans), C(by_state), C(bytes) and C(orphan_bytes) as requested,
      and the number of finished C(clones), or null when that could not be read.
  returned: always
  type: dict
unread:
  description: What could not be read, by kind, and why.
  returned: always
  type: dict
"""

from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import run_module
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.golden_image_info import (
    INFO_SPEC,
    golden_image_info,
)


def main() -> None:
    run_module(golden_image_info, INFO_SPEC)


if __name__ == "__main__":
    main()
