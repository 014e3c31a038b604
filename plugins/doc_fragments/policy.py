# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options that move rules between refusing and advising."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  refuse_on:
    description:
      - Rule ids whose advice refuses in this task, for example V(golden-planned).
    type: list
    elements: str
    default: []
  accept:
    description:
      - Rule ids whose refusals are let pass in this task; they are returned in C(accepted). The platform's own
        chart still refuses what it refuses.
      - Wins over O(refuse_on).
    type: list
    elements: str
    default: []
"""

    APPROVED = r"""
options:
  expected_plan:
    description:
      - The plan that was approved, as its hash or whole, as RV(plan) of a run in check mode has it, or a part of the result of
        M(cozystack.worker_image.site_plan_info).
      - If what this run would do is no longer that plan, it fails before the first write and says what moved. Objects that somebody
        else has changed meanwhile count, too.
      - Nothing left to do is always in order. With a whole plan, a run that was interrupted goes on with the rest.
    type: raw
"""
