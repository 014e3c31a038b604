#!/usr/bin/python
# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: golden_image
short_description: Import, upload, adopt or retire one golden worker image
version_added: 0.1.0
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Brings one golden image into C(cozy-public) without the catalog, from an address or from a local file, and waits until it is
    ready; or takes one away that nobody uses.
  - A golden that is there already and matches what is declared is adopted, never imported twice. One that does not match is
    refused with every field that differs, since nothing of an existing golden can be changed.
  - Goldens made here carry the marks with which the catalog's release takes them over once the catalog lists them.
  - Nothing is deleted with O(state=present), unless O(recreate=stuck) asks for it.
  - To keep the images of a site as a list, use M(cozystack.worker_image.image_catalog).
extends_documentation_fragment:
  - cozystack.worker_image.connection
  - cozystack.worker_image.attributes
  - cozystack.worker_image.attributes.changing
  - cozystack.worker_image.policy
  - cozystack.worker_image.policy.approved
options:
  schematicID:
    description: Schematic ID of the image.
    type: str
    required: true
  version:
    description: Talos release, such as V(v1.13.6).
    type: str
    required: true
  state:
    description:
      - V(present) imports or adopts the golden.
      - V(absent) retires it. Refused while a pool declares it (its defaults resolved, pools at zero workers included), while it is
        being cloned, while a machine template that a MachineSet refers to names it, or while a pod mounts it. Finished clones are
        volumes of their own and do not hold it.
      - All of that is judged again right before the deletion, and exactly the object that was judged is deleted.
    type: str
    choices: [present, absent]
    default: present
  imageFactoryURL:
    description:
      - Base address of the image factory or mirror. V(https://factory.talos.dev) when the golden has to be imported.
      - Like all settings, compared with a live golden only when it is given.
    type: str
  storage:
    description: Size of the golden, V(6Gi) when it has to be made.
    type: raw
  storageClass:
    description: Storage class, V(replicated) when the golden has to be made. An empty text asks for the cluster's default class.
    type: str
  certConfigMap:
    description: ConfigMap in C(cozy-public) with the CA of the mirror, for an address with https.
    type: str
  secretRef:
    description: Secret in C(cozy-public) with the credentials of the mirror, in the keys C(accessKeyId) and C(secretKey).
    type: str
  checksum:
    description:
      - Checksum of the file as it is downloaded or uploaded (the C(.xz) file), as V(sha256:...).
      - For an import from an address CDI checks it, from v1.65.0 on; on older ones it is refused rather than silently dropped.
      - For O(src) it is compared before anything is written.
    type: str
  src:
    description:
      - Local file to upload through CDI's upload proxy, for sites without a mirror. It is looked at before anything is written; a file
        that is no disk image, is damaged or does not fit is refused.
      - An upload that breaks is begun anew. A run that was killed is continued by the next one. The file is not read any more once
        the golden is ready.
    type: path
  upload_proxy_url:
    description: Address of CDI's upload proxy. The one that CDIConfig states, when not given.
    type: str
  upload_ca_cert:
    description: File with the CA of the upload proxy. The one that CDIConfig states, when not given.
    type: path
  upload_validate_certs:
    description: Whether to verify the certificate of the upload proxy.
    type: bool
    default: true
  recreate:
    description:
      - V(stuck) deletes a golden that is in trouble (states V(failing), V(stuck), V(failed), V(lost), V(will_not_finish),
        V(not_progressing)) and has it imported anew, if nothing clones it.
      - A golden in any other state is left alone.
    type: str
    choices: [never, stuck]
    default: never
  when_free:
    description:
      - With O(state=absent), whether a golden that is still used is no failure. RV(pending) then says so, and a later run takes it.
    type: bool
    default: false
  force_render:
    description:
      - With O(state=absent), whether the catalog's release is forced to render after the deletion, so that a golden which the
        catalog still lists is imported anew. Without an entry in the catalog nothing is forced.
    type: bool
    default: false
  wait:
    description: With O(state=present), whether to wait until the golden is ready. The wait ends early when waiting cannot help.
    type: bool
    default: true
  wait_timeout:
    description: Seconds to wait at most. By default 10 minutes and 2 minutes for each GiB of the golden.
    type: int
  max_restarts:
    description: Number of failed attempts after which an import counts as failing. The platform's own guard takes V(3).
    type: int
    default: 3
seealso:
  - module: cozystack.worker_image.image_catalog
  - module: cozystack.worker_image.golden_image_info
  - module: cozystack.worker_image.image_probe_info
"""

EXAMPLES = r"""
- name: Import one image from a mirror inside the site
  cozystack.worker_image.golden_image:
    schematicID: ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515
    version: v1.13.6
    imageFactoryURL: http://mirror.example.net:8080/talos

- name: Upload one image where there is no mirror
  cozystack.worker_image.golden_image:
    schematicID: ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515
    version: v1.13.6
    src: /media/bundle/openstack-amd64.raw.xz

- name: Have a stuck import done anew
  cozystack.worker_image.golden_image:
    schematicID: ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515
    version: v1.13.6
    recreate: stuck

- name: Retire an image as soon as nobody uses it
  cozystack.worker_image.golden_image:
    schematicID: ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515
    version: v1.13.5
    state: absent
    when_free: true
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
        - The writes in order, each with C(action) (V(create), V(patch), V(delete) or V(upload)), C(kind), C(namespace), C(name), C(reason),
          C(rolls_workers), C(changes).
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
  description: What is worth knowing, in the same shape as RV(refusals). With O(when_free), what still holds the golden.
  returned: always
  type: list
  elements: dict
  contains: *finding
accepted:
  description: Refusals that O(accept) let pass, in the same shape as RV(refusals). A golden that somebody needs is never deleted.
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
golden:
  description: The golden after the task.
  returned: always
  type: dict
  contains:
    name:
      description: Name in namespace C(cozy-public).
      type: str
    schematicID:
      description: Schematic ID.
      type: str
    version:
      description: Talos release.
      type: str
    state:
      description:
        - As of M(cozystack.worker_image.golden_image_info); V(planned) in check mode when it would be made or deleted, V(pending) when it
          goes later, V(kept) when retiring it was refused.
      type: str
    reason:
      description: The state in words.
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
    capacity:
      description: Real capacity of the volume.
      type: raw
    storageClass:
      description: Storage class.
      type: str
    listed:
      description: With O(state=absent), whether the catalog lists it; null when the catalog could not be read.
      type: bool
    user_counts:
      description: With O(state=absent), how many use it, by kind of use.
      type: dict
pending:
  description: Whether the golden is still used and goes with a later run.
  returned: always
  type: bool
users:
  description:
    - With O(state=absent), everybody who uses it, each with C(how) (V(declared), V(cloning), V(template), V(idle_template),
      V(mounted), V(cloned)), C(namespace), C(name) and sometimes C(detail). V(cloned) are finished clones.
  returned: always
  type: list
  elements: dict
"""

from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import run_module
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.golden_image import GOLDEN_SPEC, golden_image


def main() -> None:
    exclusive = [("src", other) for other in ("imageFactoryURL", "certConfigMap", "secretRef")]
    run_module(golden_image, GOLDEN_SPEC, mutually_exclusive=exclusive)


if __name__ == "__main__":
    main()
