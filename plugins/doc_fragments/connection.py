# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connection options, named as kubernetes.core names them."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
requirements:
  - kubernetes >= 24.2.0
options:
  kubeconfig:
    description:
      - Path of a kubeconfig file, several paths joined by a colon, or the kubeconfig itself as a dictionary.
      - Without it, and without O(host), the variable E(K8S_AUTH_KUBECONFIG) is used, then E(KUBECONFIG) or
        C(~/.kube/config), then the service account of the pod.
    type: raw
  context:
    description: Name of a context of the kubeconfig. Also E(K8S_AUTH_CONTEXT).
    type: str
  host:
    description: URL of the API server. Also E(K8S_AUTH_HOST).
    type: str
  api_key:
    description: Bearer token. Also E(K8S_AUTH_API_KEY).
    type: str
  username:
    description: User name for HTTP basic authentication. Also E(K8S_AUTH_USERNAME).
    type: str
  password:
    description: Password for HTTP basic authentication. Also E(K8S_AUTH_PASSWORD).
    type: str
  validate_certs:
    description: Whether to verify the certificate of the API server. Also E(K8S_AUTH_VERIFY_SSL), as text.
    type: bool
    aliases: [verify_ssl]
  ca_cert:
    description: Path of the CA certificate of the API server. Also E(K8S_AUTH_SSL_CA_CERT).
    type: path
    aliases: [ssl_ca_cert]
  client_cert:
    description: Path of a client certificate. Also E(K8S_AUTH_CERT_FILE).
    type: path
    aliases: [cert_file]
  client_key:
    description: Path of the key of the client certificate. Also E(K8S_AUTH_KEY_FILE).
    type: path
    aliases: [key_file]
  proxy:
    description: URL of an HTTP proxy for the connection. Also E(K8S_AUTH_PROXY).
    type: str
  no_proxy:
    description: Hosts, domains, addresses and networks, separated by commas, that are reached without the proxy.
      Also E(K8S_AUTH_NO_PROXY).
    type: str
  proxy_headers:
    description: Headers for the proxy.
    type: dict
    suboptions:
      proxy_basic_auth:
        description: C(user:password) for basic authentication at the proxy. Also E(K8S_AUTH_PROXY_HEADERS_PROXY_BASIC_AUTH).
        type: str
      basic_auth:
        description: C(user:password) for a basic authentication header. Also E(K8S_AUTH_PROXY_HEADERS_BASIC_AUTH).
        type: str
      user_agent:
        description: User agent header. Also E(K8S_AUTH_PROXY_HEADERS_USER_AGENT).
        type: str
  persist_config:
    description: Whether refreshed tokens are written back to the kubeconfig file. Also E(K8S_AUTH_PERSIST_CONFIG).
    type: bool
  impersonate_user:
    description: User to act as. Also E(K8S_AUTH_IMPERSONATE_USER).
    type: str
  impersonate_groups:
    description: Groups to act as. Also E(K8S_AUTH_IMPERSONATE_GROUPS), separated by commas.
    type: list
    elements: str
notes:
  - Order of sources of the connection is task options, then C(K8S_AUTH_*) variables, then E(KUBECONFIG), then the
    service account of the pod. A task that names O(kubeconfig) or O(context) ignores the host and the identity that
    C(K8S_AUTH_*) variables name, so that an AWX credential does not leak into it.
"""
