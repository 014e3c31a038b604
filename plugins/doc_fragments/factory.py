# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options about an image factory or mirror."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
requirements:
  - urllib3 (comes with the kubernetes library)
options:
  imageFactoryURL:
    description:
      - Base address of the image factory, or of a mirror of one. Trailing slashes do not count.
      - Credentials in it are refused, since addresses show in objects and logs.
    type: str
    default: https://factory.talos.dev
  validate_certs:
    description: Whether to verify the server's certificate. The importer always does.
    type: bool
    default: true
  ca_cert:
    description: Path of a file with CA certificates in PEM form, trusted beside those of the system.
    type: path
  username:
    description: User name for basic authentication at a private factory. Needs O(password).
    type: str
  password:
    description: Password for basic authentication.
    type: str
  token:
    description: Bearer token of a private factory, instead of O(username) and O(password).
    type: str
notes:
  - Talks to no Kubernetes API, so it takes no connection options, and is a member of the action group
    C(cozystack.worker_image.factory) only. Defaults for C(cozystack.worker_image.all), such as a cluster's credentials, never
    reach a factory.
  - Credentials are sent to the host of O(imageFactoryURL) only, not along a redirect to another.
  - A proxy is taken from E(HTTP_PROXY), E(HTTPS_PROXY) and E(NO_PROXY).
"""
