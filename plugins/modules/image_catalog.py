#!/usr/bin/python
# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: image_catalog
short_description: Keep the catalog of golden worker images of a Cozystack site
version_added: 0.1.0
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Enables the package V(cozystack.kubernetes-worker-image) on the platform Package and keeps its catalog
    (C(kubernetesWorkerImage)), then waits until every golden image is imported.
  - Everything the platform's chart would refuse is refused before anything is written, all at once.
  - Only what is declared is compared and written. Other enabled packages, other values of the platform Package and keys
    of the catalog that are not declared stay as they are.
  - No golden is ever deleted by this module. A golden whose entry is taken out of the catalog stays, unmanaged.
extends_documentation_fragment:
  - cozystack.worker_image.connection
  - cozystack.worker_image.attributes
  - cozystack.worker_image.attributes.changing
  - cozystack.worker_image.policy
options:
  catalog:
    description:
      - The catalog in the platform's own words. Unknown keys are refused, with the nearest valid one.
      - C(imageFactoryURL), base address of the image factory or mirror. C(storageClass), class of the goldens. C(storage),
        size of a golden such as V(6Gi).
      - C(images), list of entries, each with C(schematicID) and C(version), and optionally C(storage), C(storageClass),
        C(imageFactoryURL) of its own.
      - A key that is not given is not touched. An empty text asks for the key to be absent.
      - Required with O(state=present).
    type: dict
  entries:
    description:
      - With V(merged), entries of the live catalog that are not declared stay.
      - With V(exact), the list becomes what is declared. The goldens of entries that go stay, unmanaged.
    type: str
    choices: [merged, exact]
    default: merged
  state:
    description:
      - V(present) enables the package and keeps the catalog.
      - V(absent) takes the package out of the enabled ones, so that nothing manages the catalog any more. The Package
        object and every golden stay.
    type: str
    choices: [present, absent]
    default: present
  wait:
    description:
      - Whether to wait until the releases are applied and every declared golden is ready.
      - The wait ends early when the platform refuses, or when an import has no future (three failed attempts, an image that
        does not fit, a lost volume).
    type: bool
    default: true
  wait_timeout:
    description: Seconds to wait at most.
    type: int
    default: 1800
seealso:
  - module: cozystack.worker_image.golden_image_info
  - module: cozystack.worker_image.node_pools
"""

EXAMPLES = r"""
- name: Import the default worker image once per site
  cozystack.worker_image.image_catalog:
    catalog:
      imageFactoryURL: https://factory.talos.dev
      storageClass: replicated
      storage: 6Gi
      images:
        - schematicID: ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515
          version: v1.13.6

- name: Stop managing the catalog, keep every golden
  cozystack.worker_image.image_catalog:
    state: absent
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
catalog:
  description: The catalog (C(kubernetesWorkerImage)) after the task.
  returned: always
  type: dict
goldens:
  description: The goldens of the declared entries, or of the whole catalog when no entry is declared.
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
          V(not_progressing), V(deleting), V(absent), V(unknown), or V(planned) for one that this task brings.
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
      description: Schematic ID of the entry.
      type: str
    version:
      description: Talos version of the entry.
      type: str
"""

from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import POLICY_SPEC, run_module
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.image_catalog import image_catalog


def main() -> None:
    spec = {
        "catalog": {"type": "dict"},
        "entries": {"type": "str", "choices": ["merged", "exact"], "default": "merged"},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "wait": {"type": "bool", "default": True},
        "wait_timeout": {"type": "int", "default": 1800},
    }
    run_module(image_catalog, {**spec, **POLICY_SPEC}, required_if=[("state", "present", ["catalog"])])


if __name__ == "__main__":
    main()
