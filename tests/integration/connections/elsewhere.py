# SPDX-License-Identifier: Apache-2.0
"""This machine, but Ansible does not know it: what a module does is seen when it has ended, as over ssh."""

from __future__ import annotations

from ansible.plugins.connection.local import Connection as Local

DOCUMENTATION = """
name: elsewhere
short_description: this machine as if it were another one
description: For tests only.
author: The cozystack.worker_image contributors
extends_documentation_fragment:
  - connection_pipelining
options:
  become_success_timeout:
    description: As of connection local.
    type: int
    default: 10
  become_strip_preamble:
    description: As of connection local.
    type: bool
    default: true
"""


class Connection(Local):
    transport = "elsewhere"
