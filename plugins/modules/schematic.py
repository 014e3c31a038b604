#!/usr/bin/python
# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: schematic
short_description: Make an image factory know a Talos schematic
version_added: 0.1.0
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - A factory serves images of a schematic only once it was posted there, even though its ID is a hash that anybody can compute. This
    module asks whether the factory knows it, posts it if not, and checks that the factory's ID is the computed one.
  - A schematic cannot be taken out of a factory again.
  - A plain mirror registers nothing; the task fails then, and says where to publish the file.
extends_documentation_fragment:
  - cozystack.worker_image.factory
  - cozystack.worker_image.attributes.factory
  - cozystack.worker_image.attributes.changing
options:
  customization:
    description:
      - The C(customization) of the schematic in the factory's own words, such as C(systemExtensions), C(extraKernelArgs), C(meta).
      - The order of lists counts, as another order is another ID. Empty is a schematic, too.
    type: dict
    default: {}
  overlay:
    description: The C(overlay) of the schematic (C(image), C(name), C(options)).
    type: dict
  owner:
    description: The C(owner) of the schematic, which a factory with authentication adds. It is part of the ID.
    type: str
  schematicID:
    description:
      - The ID that is expected. Not needed where it can be computed, and refused if it differs then.
      - For text whose quoting by the factory is not certain the ID cannot be computed. Without this option such a schematic is
        posted by each run.
    type: str
  version:
    description: A Talos release such as V(v1.13.6), for RV(installer_image) and RV(image_url).
    type: str
  timeout:
    description: Seconds for all questions together. The default is 60. Status 5xx and broken connections are asked again within it.
    type: int
  state:
    description: Only V(present).
    type: str
    choices: [present]
    default: present
seealso:
  - module: cozystack.worker_image.image_probe_info
  - plugin: cozystack.worker_image.schematic_id
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Register the schematic of workers with DRBD
  cozystack.worker_image.schematic:
    imageFactoryURL: https://factory.example.org
    customization:
      systemExtensions:
        officialExtensions:
          - siderolabs/qemu-guest-agent
          - siderolabs/drbd
    version: v1.13.6
  register: worker_schematic

- name: Show what the catalog needs
  ansible.builtin.debug:
    msg: "{{ worker_schematic.id }}, installer {{ worker_schematic.installer_image }}"
"""

RETURN = r"""
id:
  description: ID of the schematic. Blank in check mode if it can be neither computed nor looked up.
  returned: always
  type: str
  sample: ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515
known:
  description: Whether the factory knew it before; null when it cannot tell.
  returned: success
  type: bool
schematic:
  description: The canonical YAML, whose SHA-256 is RV(id).
  returned: success
  type: str
  sample: "customization: {}\n"
installer_image:
  description: Installer image of this factory for O(version), blank without it.
  returned: success
  type: str
  sample: factory.talos.dev/installer/ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515:v1.13.6
image_url:
  description: Address of the worker image for O(version), blank without it.
  returned: success
  type: str
  sample: https://factory.talos.dev/image/ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515/v1.13.6/openstack-amd64.raw.xz
plan:
  description: What the task did, or would do in check mode, with C(hash) and C(steps).
  returned: success
  type: dict
class:
  description: The kind of trouble, as in module M(cozystack.worker_image.image_probe_info), or V(not_a_factory).
  returned: when the factory cannot or will not
  type: str
remedy:
  description: A way out.
  returned: when the factory cannot or will not
  type: str
"""

from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import run_local_module
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.factory import FACTORY_RULES, FACTORY_SPEC
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.schematic import schematic


def main() -> None:
    spec = {
        "customization": {"type": "dict", "default": {}},
        "overlay": {"type": "dict"},
        "owner": {"type": "str"},
        "schematicID": {"type": "str"},
        "version": {"type": "str"},
        "state": {"type": "str", "choices": ["present"], "default": "present"},
    }
    run_local_module(schematic, {**FACTORY_SPEC, **spec}, **FACTORY_RULES)


if __name__ == "__main__":
    main()
