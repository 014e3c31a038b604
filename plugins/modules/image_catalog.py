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
  - cozystack.worker_image.policy.approved
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
      - With V(exact), the list becomes what is declared. The goldens of entries that go stay, unmanaged; advice
        C(golden-orphaned) names them.
    type: str
    choices: [merged, exact]
    default: merged
  state:
    description:
      - V(present) enables the package and keeps the catalog.
      - V(absent) takes the package out of the enabled ones, so that nothing manages the catalog any more. The Package
        object, its release and every golden stay; RV(remains) names them.
    type: str
    choices: [present, absent]
    default: present
  force_render:
    description:
      - Whether the catalog's release is forced to render once more when a declared golden is gone although the catalog and both
        releases are settled. Nothing else brings a deleted golden back.
      - Without it that is advice C(golden-not-rendered), and O(wait) fails at once.
      - While every declared golden is there, nothing is forced.
    type: bool
    default: false
  wait:
    description:
      - Whether to wait until the releases are applied and every declared golden is ready.
      - The wait ends early, with cause and remedy, when the platform refuses, or when waiting cannot help (failed attempts up to
        O(max_restarts), an image that does not fit, a lost volume, an import that CDI does not try again).
      - What changes meanwhile is shown, on any connection but for tasks with C(async).
      - A run that was killed is taken up by the next one; nothing is imported twice.
    type: bool
    default: true
  wait_timeout:
    description:
      - Seconds to wait at most.
      - By default 10 minutes and 2 minutes for each GiB of the largest declared golden, and at least a minute more than the time
        limit of the catalog's release, which would not say before what is wrong.
    type: int
  max_restarts:
    description: Number of failed attempts after which an import counts as failing. The platform's own guard takes V(3).
    type: int
    default: 3
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

- name: Bring back a golden that was deleted by hand
  cozystack.worker_image.image_catalog:
    catalog:
      images:
        - schematicID: ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515
          version: v1.13.6
    force_render: true

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
        - One of V(ready), V(importing), V(waiting), V(retrying), V(failing), V(stuck), V(failed), V(lost), V(will_not_finish),
          V(not_progressing), V(deleting), V(absent), V(unknown), V(api_missing), V(forbidden), or V(planned) for one that this
          task brings.
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
    drift:
      description:
        - Every field in which the live golden differs from the declared entry, with C(field), C(live), C(wanted) and C(from), the
          place in the catalog that the wanted value comes from. Such an entry is refused, since a golden cannot be changed.
        - With a refusal, goldens of entries that are not declared are listed, too, when they would differ.
      type: list
      elements: dict
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
remains:
  description: What nothing manages any more, and nothing deletes.
  returned: with O(state=absent)
  type: dict
  contains:
    package:
      description: Name of the catalog's Package, or null when there is none.
      type: str
    release:
      description: Namespace and name of the catalog's HelmRelease, or null when there is none.
      type: str
    goldens:
      description:
        - Each golden with C(name), C(state), C(size) and C(users), the number of pools that declare it (null when this run had nothing
          to do, or pools could not be read). Null when goldens could not be read.
      type: list
      elements: dict
"""

from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import run_module
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.image_catalog import (
    CATALOG_SPEC,
    image_catalog,
)


def main() -> None:
    run_module(image_catalog, CATALOG_SPEC, required_if=[("state", "present", ["catalog"])])


if __name__ == "__main__":
    main()
