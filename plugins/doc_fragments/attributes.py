# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Attributes that all modules share."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/cozystack.worker_image.all) in C(module_defaults) to set the connection once.
    support: full
    membership: [cozystack.worker_image.all]
"""

    FACTORY = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/cozystack.worker_image.factory) in C(module_defaults) to set address and credentials once.
    support: full
    membership: [cozystack.worker_image.factory]
"""

    CHANGING = r"""
options: {}
attributes:
  check_mode:
    description: Can run in check mode and return what a real run would do. No request that writes is sent, dry run or not.
    support: full
  diff_mode:
    description: Returns the declared fields that change, before and after.
    support: full
  idempotent:
    description: A second run with the same options changes nothing.
    support: full
"""

    READING = r"""
options: {}
attributes:
  check_mode:
    description: Only reads, in check mode and otherwise.
    support: full
  diff_mode:
    description: Nothing is changed, so there is no difference to show.
    support: none
  idempotent:
    description: Only reads.
    support: full
"""
