#!/usr/bin/python
# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: site_plan_info
short_description: Plan catalog, pools and retirements of a site, and hash the plan
version_added: 0.1.0
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Says what the writing modules would do with the same data, as one ordered plan with reason, risk and effect of each step, and
    a hash over the steps and the live objects they rest on.
  - The hash, or the whole plan, is what gets approved. The writing modules and roles then execute exactly that plan or refuse and
    name what moved (option C(expected_plan)).
  - Refusals are part of the answer and do not fail the task; RV(executable) says whether there are any.
extends_documentation_fragment:
  - cozystack.worker_image.connection
  - cozystack.worker_image.attributes
  - cozystack.worker_image.attributes.reading
  - cozystack.worker_image.policy
  - cozystack.worker_image.policy.approved
options:
  catalog:
    description: As for M(cozystack.worker_image.image_catalog).
    type: dict
  entries:
    description: As for M(cozystack.worker_image.image_catalog).
    type: str
    choices: [merged, exact]
    default: merged
  pools:
    description: As for M(cozystack.worker_image.node_pools).
    type: list
    elements: raw
  retirements:
    description: Images to retire, each with C(schematicID) and C(version). One that is still used is listed in RV(pending).
    type: list
    elements: raw
  talos_windows:
    description: As for M(cozystack.worker_image.node_pools).
    type: dict
seealso:
  - module: cozystack.worker_image.image_catalog
  - module: cozystack.worker_image.node_pools
  - module: cozystack.worker_image.golden_image
"""

EXAMPLES = r"""
- name: What would it do?
  cozystack.worker_image.site_plan_info:
    catalog: "{{ catalog_values }}"
    pools: "{{ tenant_pools_pools }}"
  register: site_plan

- name: Show it
  ansible.builtin.debug:
    msg: "{{ site_plan.text }}"

- name: Do the pools' part of exactly that plan, or refuse
  cozystack.worker_image.node_pools:
    pools: "{{ tenant_pools_pools }}"
    expected_plan: "{{ site_plan.parts.pools }}"
"""

RETURN = r"""
plan:
  description: The whole plan.
  returned: always
  type: dict
  contains:
    hash:
      description: Hash over all steps and what they rest on; the same plan has the same hash anywhere.
      type: str
    steps:
      description:
        - The writes in order, each with C(action), C(kind), C(namespace), C(name), C(reason), C(risk) (V(none), V(unknown), V(rolls) or
          V(deletes)), C(rolls_workers), C(digest), and where they apply C(changes), C(roll_reasons), C(effect) and C(concerned) (workers,
          disks and bytes).
      type: list
      elements: dict
parts:
  description: The plans of C(catalog), C(pools) and C(retirements), as the writing modules take them in C(expected_plan).
  returned: always
  type: dict
executable:
  description: Whether nothing refuses.
  returned: always
  type: bool
totals:
  description:
    - Numbers over all steps, C(steps), C(rolling), C(unknown), C(deleting), and the C(workers), C(disks) and C(bytes) they
      concern.
  returned: always
  type: dict
headline:
  description: The totals in a sentence.
  returned: always
  type: str
text:
  description: The plan as lines of text.
  returned: always
  type: list
  elements: str
markdown:
  description: The plan as a Markdown table.
  returned: always
  type: str
pending:
  description: Goldens of O(retirements) that are still used, and would be retired by a later run.
  returned: always
  type: list
  elements: dict
refusals:
  description: What the guards refuse.
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
"""

from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import run_module
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.site_plan_info import (
    PLAN_SPEC,
    site_plan_info,
)


def main() -> None:
    run_module(site_plan_info, PLAN_SPEC)


if __name__ == "__main__":
    main()
