# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a golden image is ready to be cloned."""

from __future__ import annotations

DOCUMENTATION = r"""
name: golden_ready
short_description: Whether a golden image is ready to be cloned
version_added: 0.1.0
positional: claim
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - True for a DataVolume in phase C(Succeeded), and for a bound claim whose finished DataVolume CDI has collected.
  - Also takes an entry of what M(cozystack.worker_image.golden_image_info) returns.
options:
  _input:
    description: A DataVolume or a PersistentVolumeClaim object, or a golden with its C(state).
    type: dict
    required: true
  claim:
    description: The claim of the DataVolume, when it was read as well.
    type: dict
"""

EXAMPLES = r"""
- name: Wait for the golden image
  ansible.builtin.assert:
    that: golden is cozystack.worker_image.golden_ready
"""

RETURN = r"""
_value:
  description: Whether the golden image is ready.
  type: bool
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.golden import READY, golden_state
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.objects import Claim, DataVolume
from ansible_collections.cozystack.worker_image.plugins.plugin_utils._faces import face, mapping_of


def golden_ready(golden: Any, claim: Any = None) -> bool:
    """Face of the pure function."""
    given = mapping_of(golden, "a golden image")
    if isinstance(given.get("state"), str) and "metadata" not in given:
        return given["state"] == READY
    known = None if claim is None else Claim.from_api(mapping_of(claim, "claim"))
    if given.get("kind") == "PersistentVolumeClaim":
        return golden_state(None, Claim.from_api(given)).ready
    if "metadata" not in given:
        raise ValueError("a DataVolume, a PersistentVolumeClaim or a golden with its state is expected")
    return golden_state(DataVolume.from_api(given), known).ready


class TestModule:
    """The test for Ansible."""

    def tests(self) -> dict[str, Callable[..., Any]]:
        return {"golden_ready": face("golden_ready", golden_ready)}
