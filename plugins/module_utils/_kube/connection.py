# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connection options, as kubernetes.core has them, and the transport made from them.

Order of sources: task options, then K8S_AUTH_* variables, then KUBECONFIG or ~/.kube/config, then the service account
of the pod. A task that names a kubeconfig or a context is not mixed with the identity found in K8S_AUTH_* variables:
AWX puts host and token of its own credential there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import ConnectionOptionError

# option -> (argument spec, environment variable)
_OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "kubeconfig": ({"type": "raw"}, "K8S_AUTH_KUBECONFIG"),
    "context": ({"type": "str"}, "K8S_AUTH_CONTEXT"),
    "host": ({"type": "str"}, "K8S_AUTH_HOST"),
    "api_key": ({"type": "str", "no_log": True}, "K8S_AUTH_API_KEY"),
    "username": ({"type": "str"}, "K8S_AUTH_USERNAME"),
    "password": ({"type": "str", "no_log": True}, "K8S_AUTH_PASSWORD"),
    "validate_certs": ({"type": "bool", "aliases": ["verify_ssl"]}, "K8S_AUTH_VERIFY_SSL"),
    "ca_cert": ({"type": "path", "aliases": ["ssl_ca_cert"]}, "K8S_AUTH_SSL_CA_CERT"),
    "client_cert": ({"type": "path", "aliases": ["cert_file"]}, "K8S_AUTH_CERT_FILE"),
    "client_key": ({"type": "path", "aliases": ["key_file"]}, "K8S_AUTH_KEY_FILE"),
    "proxy": ({"type": "str"}, "K8S_AUTH_PROXY"),
    "no_proxy": ({"type": "str"}, "K8S_AUTH_NO_PROXY"),
    "persist_config": ({"type": "bool"}, "K8S_AUTH_PERSIST_CONFIG"),
    "impersonate_user": ({"type": "str"}, "K8S_AUTH_IMPERSONATE_USER"),
    "impersonate_groups": ({"type": "list", "elements": "str"}, "K8S_AUTH_IMPERSONATE_GROUPS"),
}
_PROXY_HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "proxy_basic_auth": ({"type": "str", "no_log": True}, "K8S_AUTH_PROXY_HEADERS_PROXY_BASIC_AUTH"),
    "basic_auth": ({"type": "str", "no_log": True}, "K8S_AUTH_PROXY_HEADERS_BASIC_AUTH"),
    "user_agent": ({"type": "str"}, "K8S_AUTH_PROXY_HEADERS_USER_AGENT"),
}
_IDENTITY = ("host", "api_key", "username", "password", "client_cert", "client_key", "ca_cert", "validate_certs")
_FILES = ("ca_cert", "client_cert", "client_key")
_SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"


def connection_argument_spec() -> dict[str, Any]:
    """The part of an argument spec that every module of this collection shares."""
    spec = {name: dict(option) for name, (option, _) in _OPTIONS.items()}
    headers = {name: dict(option) for name, (option, _) in _PROXY_HEADERS.items()}
    spec["proxy_headers"] = {"type": "dict", "options": headers}
    return spec


@dataclass(frozen=True)
class Settings:
    """Where to connect and as whom. Exactly one of kubeconfig, host, in_cluster says where."""

    kubeconfig: Any = None
    context: str | None = None
    in_cluster: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    proxy_headers: Mapping[str, str] = field(default_factory=dict)
    secrets: frozenset[str] = frozenset()


def _boolean(name: str, variable: str, text: str) -> bool:
    if text.strip().lower() in ("1", "true", "yes", "on", "y", "t"):
        return True
    if text.strip().lower() in ("0", "false", "no", "off", "n", "f"):
        return False
    raise ConnectionOptionError(f"{variable} (option {name}) is {text!r}; write true or false")


def _from_environment(name: str, environ: Mapping[str, str]) -> Any:
    spec, variable = _OPTIONS[name]
    text = environ.get(variable, "")
    if not text:
        return None
    if spec["type"] == "bool":
        return _boolean(name, variable, text)
    if spec["type"] == "list":
        return [part.strip() for part in text.split(",") if part.strip()]
    return os.path.expanduser(text) if spec["type"] == "path" else text


def resolve(params: Mapping[str, Any], environ: Mapping[str, str]) -> Settings:
    """Settings from task options and environment; touches no file but to see whether default ones exist."""
    given = {name: params.get(name) for name in _OPTIONS if params.get(name) not in (None, "")}
    task_names_config = "kubeconfig" in given or "context" in given
    skipped: set[str] = set()
    if task_names_config:
        skipped = {name for name in _IDENTITY if name not in given}
    elif "host" in given:
        skipped = {"kubeconfig", "context"}
    for name in _OPTIONS:
        if name not in given and name not in skipped:
            value = _from_environment(name, environ)
            if value is not None:
                given[name] = value
    headers = {}
    for name, (_, variable) in _PROXY_HEADERS.items():
        value = (params.get("proxy_headers") or {}).get(name) or environ.get(variable)
        if value:
            headers[name] = value
    secrets = {str(given[name]) for name in ("api_key", "password") if name in given}
    secrets |= {value for name, value in headers.items() if name != "user_agent"}
    kubeconfig, context = given.pop("kubeconfig", None), given.pop("context", None)
    # As in kubernetes.core, a host with a way to prove who one is needs no kubeconfig.
    proof = any(name in given for name in ("api_key", "username", "client_cert"))
    common: dict[str, Any] = {"options": given, "proxy_headers": headers, "secrets": frozenset(secrets)}
    if not task_names_config and "host" in given and (proof or kubeconfig is None):
        return Settings(**common)
    if kubeconfig is None:
        default = environ.get("KUBECONFIG") or os.path.expanduser("~/.kube/config")
        found = any(os.path.exists(os.path.expanduser(path)) for path in default.split(os.pathsep) if path)
        if not found and not environ.get("KUBECONFIG") and not context and os.path.exists(_SERVICE_ACCOUNT_TOKEN):
            return Settings(in_cluster=True, **common)
        kubeconfig = default
    return Settings(kubeconfig=kubeconfig, context=context, **common)


def _check_files(settings: Settings) -> None:
    for name in _FILES:
        path = settings.options.get(name)
        if path and not os.path.isfile(path):
            raise ConnectionOptionError(f"{name}: the file {path!r} does not exist")


def _load(settings: Settings, configuration: Any) -> None:
    from kubernetes import config  # late: the library is optional for the pure parts of the collection

    if settings.in_cluster:
        config.load_incluster_config(client_configuration=configuration)
        return
    if settings.kubeconfig is None:
        configuration.host = str(settings.options["host"])
        return
    if isinstance(settings.kubeconfig, Mapping):
        config.load_kube_config_from_dict(
            dict(settings.kubeconfig), context=settings.context, client_configuration=configuration
        )
        return
    paths = os.pathsep.join(os.path.expanduser(path) for path in str(settings.kubeconfig).split(os.pathsep) if path)
    if not any(os.path.isfile(path) for path in paths.split(os.pathsep)):
        raise ConnectionOptionError(
            f"kubeconfig: {paths!r} does not exist; give option kubeconfig, or host and api_key, "
            "or set K8S_AUTH_KUBECONFIG or KUBECONFIG"
        )
    config.load_kube_config(
        config_file=paths,
        context=settings.context,
        client_configuration=configuration,
        persist_config=bool(settings.options.get("persist_config")),
    )


def make_api_client(settings: Settings) -> Any:
    """A kubernetes.client.ApiClient. Errors: ConnectionOptionError, ImportError when the library is missing."""
    import urllib3
    from kubernetes import client
    from kubernetes.config.config_exception import ConfigException
    from yaml import YAMLError

    _check_files(settings)
    configuration = client.Configuration()
    try:
        _load(settings, configuration)
    except (ConfigException, YAMLError, OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        where = "service account of the pod" if settings.in_cluster else "kubeconfig"
        what = "(given as a dictionary)" if isinstance(settings.kubeconfig, Mapping) else repr(settings.kubeconfig)
        text = " ".join(str(error).split())[:200] or type(error).__name__
        raise ConnectionOptionError(f"{where}: {what} cannot be used: {text}") from error
    options = settings.options
    for option, attribute in (
        ("host", "host"),
        ("validate_certs", "verify_ssl"),
        ("ca_cert", "ssl_ca_cert"),
        ("client_cert", "cert_file"),
        ("client_key", "key_file"),
        ("proxy", "proxy"),
        ("no_proxy", "no_proxy"),
    ):
        if option in options:
            setattr(configuration, attribute, options[option])
    if not str(configuration.host).startswith(("http://", "https://")):
        raise ConnectionOptionError(f"host: {configuration.host!r} is not a URL; it starts with https:// or http://")
    if "api_key" in options:
        configuration.api_key = {"authorization": f"Bearer {options['api_key']}"}
        configuration.refresh_api_key_hook = None
    if settings.proxy_headers:
        configuration.proxy_headers = urllib3.util.make_headers(**dict[str, Any](settings.proxy_headers))
    api = client.ApiClient(configuration)
    if "username" in options and "password" in options:
        basic = urllib3.util.make_headers(basic_auth=f"{options['username']}:{options['password']}")
        api.set_default_header("Authorization", basic["authorization"])
    return api
