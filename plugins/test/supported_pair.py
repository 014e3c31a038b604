# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a Talos release supports a Kubernetes version."""

from __future__ import annotations

DOCUMENTATION = r"""
name: supported_pair
short_description: Whether a Talos release supports a Kubernetes version
version_added: 0.1.0
positional: kubernetes, windows
author:
  - The cozystack.worker_image contributors (@cozystack)
description:
  - Judges by Talos' own table, which lists more releases than the platform's chart.
  - A Talos release that the table does not list is not known to fit, so the answer is false.
options:
  _input:
    description: Talos release, such as V(v1.13.6).
    type: str
    required: true
  kubernetes:
    description: Kubernetes version, such as V(v1.35) or V(1.35.6).
    type: str
    required: true
  windows:
    description: Another table, from a Talos minor such as V(v1.13) to the first and the last supported minor of Kubernetes 1.
    type: dict
"""

EXAMPLES = r"""
- name: Refuse a pair that does not fit
  ansible.builtin.assert:
    that: "'v1.13.6' is cozystack.worker_image.supported_pair('v1.35')"
"""

RETURN = r"""
_value:
  description: Whether the pair is known to fit.
  type: bool
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._image.versions import supported_pair as compute
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.versions import windows_of
from ansible_collections.cozystack.worker_image.plugins.plugin_utils._faces import face, mapping_of, text_of


def supported_pair(talos: Any, kubernetes: Any, windows: Any = None) -> bool:
    """Face of the pure function."""
    table = None if windows is None else windows_of(mapping_of(windows, "windows"))
    return compute(text_of(talos, "the Talos release"), text_of(kubernetes, "the Kubernetes version"), table)


class TestModule:
    """The test for Ansible."""

    def tests(self) -> dict[str, Callable[..., Any]]:
        return {"supported_pair": face("supported_pair", supported_pair)}
