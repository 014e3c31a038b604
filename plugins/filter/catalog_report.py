# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge a catalog of worker images."""

from __future__ import annotations

DOCUMENTATION = r"""
name: catalog_report
short_description: Judge a catalog of worker images
version_added: 0.1.0
positional: objects
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Says what the platform's chart would do with a catalog. Gives every refusal at once, advice, and the golden images it renders.
  - Runs without a cluster; rules that need one are then listed as not judged.
options:
  _input:
    description: The values block, as C(kubernetesWorkerImage) of the platform Package.
    type: dict
    required: true
  objects:
    description:
      - Objects of the cluster of any kinds, as read from the API, for example the results of M(kubernetes.core.k8s_info).
      - Left out, nothing counts as read, and rules that need the cluster are listed as not judged.
    type: list
    elements: dict
  refuse_on:
    description: IDs of advice to raise to a refusal.
    type: list
    elements: str
    default: []
  accept:
    description: IDs of refusals to let pass; they are listed under C(accepted).
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Refuse a catalog that the platform would refuse
  ansible.builtin.assert:
    that: report.refusals | length == 0
    fail_msg: "{{ report.refusals | map(attribute='message') | join('\\n') }}"
  vars:
    report: "{{ catalog | cozystack.worker_image.catalog_report(objects=golden_volumes.resources) }}"
"""

RETURN = r"""
_value:
  description:
    - C(refusals), C(advice), C(not_judged) and C(accepted), each a list of findings with C(id), C(subject), C(message), C(remedy)
      and C(evidence).
    - C(values) is the block to write so that equal sizes and addresses keep the spelling that is live.
    - C(golden_images) are the DataVolumes that the chart renders from it.
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.report import report_catalog
from ansible_collections.cozystack.worker_image.plugins.plugin_utils._faces import face, mapping_of, state_of


def catalog_report(values: Any, objects: Any = None, refuse_on: Any = (), accept: Any = ()) -> dict[str, Any]:
    """Face of the pure function."""
    return report_catalog(mapping_of(values, "a catalog"), state_of(objects), list(refuse_on), list(accept))


class FilterModule:
    """The filter for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"catalog_report": face("catalog_report", catalog_report)}
