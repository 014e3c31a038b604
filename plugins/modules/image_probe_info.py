#!/usr/bin/python
# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: image_probe_info
short_description: Ask a factory or mirror for worker images the way the importer will
version_added: 0.1.0
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Asks for each image with HEAD and for its first bytes with GET, following redirects, and says whether the importer would get an
    image there, and if not, why and what to do. No image is downloaded.
  - HEAD makes a factory build an image that it has not served before, so this also warms it up before goldens are imported.
  - Runs where the task runs. The importer runs in the cluster, and may have other routes, name servers, proxies and CAs.
  - Status 5xx, 429 and broken connections are asked again within O(timeout); other answers are final.
extends_documentation_fragment:
  - cozystack.worker_image.factory
  - cozystack.worker_image.attributes.factory
  - cozystack.worker_image.attributes.reading
options:
  images:
    description:
      - A list of images, or one, each with C(schematicID) and C(version), and optionally C(imageFactoryURL) of its own. Entries of a
        catalog can be given as they are.
    type: raw
    required: true
  prewarm:
    description: Whether to wait until a factory has built the images, up to 25 minutes unless O(timeout) says otherwise.
    type: bool
    default: false
  timeout:
    description:
      - Seconds for each image, after which nothing is asked again. The last question gets five seconds in any case.
      - The default is 60, or 1500 with O(prewarm). Four images are asked for at a time.
    type: int
  fail_on_trouble:
    description: Whether to fail when an image cannot be imported, with all reasons in one message.
    type: bool
    default: false
seealso:
  - module: cozystack.worker_image.schematic
  - module: cozystack.worker_image.image_catalog
"""

EXAMPLES = r"""
- name: Have the factory build what the catalog lists, before it is imported
  cozystack.worker_image.image_probe_info:
    imageFactoryURL: "{{ catalog_values.imageFactoryURL }}"
    images: "{{ catalog_values.images }}"
    prewarm: true
    fail_on_trouble: true

- name: Look at a mirror with a private CA
  cozystack.worker_image.image_probe_info:
    imageFactoryURL: https://mirror.example.org/talos
    ca_cert: /etc/ssl/site-ca.pem
    images:
      schematicID: ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515
      version: v1.13.6
  register: mirror_probe
"""

RETURN = r"""
ok:
  description: Whether every image can be imported.
  returned: always
  type: bool
images:
  description: What was found, in the order of O(images).
  returned: always
  type: list
  elements: dict
  contains:
    url:
      description: Address of the image.
      type: str
    schematicID:
      description: Schematic ID, as given.
      type: str
    version:
      description: Talos version, as given.
      type: str
    ok:
      description: Whether it is an image that can be imported.
      type: bool
    class:
      description:
        - V(ok); V(unknown_schematic), the factory never got it; V(unknown_version), the factory has no such release;
          V(not_published), a mirror without this file; V(malformed), no factory can understand it; V(not_an_image), status 200 with
          something else; V(unauthorized); V(payment), an enterprise feature; V(not_reachable), no answer; V(tls), a certificate that
          is not trusted; V(server_error), status 5xx until the time was up; V(unexpected).
      type: str
    message:
      description: What was found, with status and first line of the answer.
      type: str
    remedy:
      description: A way out. Blank with class V(ok).
      type: str
    notes:
      description: What is worth knowing and no obstacle.
      type: list
      elements: str
    status:
      description: Status of the last answer, 0 when none came.
      type: int
    length:
      description: Bytes of the packed image, or null when the server does not tell.
      type: int
    type:
      description: Media type.
      type: str
    magic:
      description: The first six bytes in hexadecimal; V(fd377a585a00) is xz.
      type: str
    redirects:
      description: Addresses that were led to, without their queries.
      type: list
      elements: str
    tls:
      description: C(protocol), C(verified), C(subject), C(issuer), C(not_after); null over plain http.
      type: dict
    seconds:
      description: How long it took.
      type: float
    attempts:
      description: How often the image was asked for.
      type: int
"""

from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import run_local_module
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.factory import FACTORY_RULES, FACTORY_SPEC
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.image_probe_info import image_probe_info


def main() -> None:
    spec = {
        "images": {"type": "raw", "required": True},
        "prewarm": {"type": "bool", "default": False},
        "fail_on_trouble": {"type": "bool", "default": False},
    }
    run_local_module(image_probe_info, {**FACTORY_SPEC, **spec}, **FACTORY_RULES)


if __name__ == "__main__":
    main()
