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
  - Lists the golden images in C(cozy-public) with state, progress, trouble in words, size, class and users.
  - Entries of the catalog whose golden does not exist are listed with state V(absent).
  - Costs four list requests whatever the number of goldens, pools and disks.
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
seealso:
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
    state:
      description:
        - One of V(ready), V(importing), V(waiting), V(retrying), V(failing), V(failed), V(lost), V(will_not_finish),
          V(not_progressing), V(deleting), V(absent), V(unknown).
      type: str
    reason:
      description: The state in words, with the importer's own message where there is one.
      type: str
    phase:
      description: Phase of the DataVolume.
      type: str
    progress:
      description: Per cent of the download, or null when CDI does not know it.
      type: float
    restarts:
      description: How often the importer was started anew.
      type: int
    size:
      description: Requested size, as written.
      type: raw
    capacity:
      description: Real capacity of the volume.
      type: raw
    storageClass:
      description: Storage class.
      type: str
    schematicID:
      description: Schematic ID, from the catalog or from the golden's annotation.
      type: str
    version:
      description: Talos version, from the catalog or from the golden's annotation.
      type: str
    url:
      description: Address it is imported from.
      type: str
    created:
      description: Creation time.
      type: str
    users:
      description: Pools that declare it (C(how) is V(declared), at zero workers too) and disks (V(cloning), V(cloned)).
      type: list
      elements: dict
    orphan:
      description: Whether no catalog entry stands for it; null when the catalog cannot be read.
      type: bool
unread:
  description: Kinds that could not be read, with the cause. Users may be missing then.
  returned: always
  type: dict
"""

from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import run_module
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.golden_image_info import golden_image_info


def main() -> None:
    run_module(golden_image_info, {"names": {"type": "list", "elements": "str", "default": []}})


if __name__ == "__main__":
    main()
