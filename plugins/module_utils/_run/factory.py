# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options about a factory or mirror, and the way to ask it. Shared by the modules that talk to no API server."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from .._factory.web import Access, Web
from .._image.golden import DEFAULT_FACTORY, trim_slashes
from .._image.versions import checked_base
from .failures import OptionFailure

FACTORY_SPEC: dict[str, Any] = {
    "imageFactoryURL": {"type": "str", "default": DEFAULT_FACTORY},
    "validate_certs": {"type": "bool", "default": True},
    "ca_cert": {"type": "path"},
    "username": {"type": "str"},
    "password": {"type": "str", "no_log": True},
    "token": {"type": "str", "no_log": True},
    "timeout": {"type": "int"},
}
FACTORY_RULES: dict[str, Any] = {
    "mutually_exclusive": [("token", "username"), ("token", "password")],
    "required_together": [("username", "password")],
}


def base_problem(base: str) -> str:
    """Why an address cannot be the base of a factory; blank when it can. Never repeats credentials."""
    try:
        checked_base(base)
        parts = urlsplit(base)
        port = parts.port
    except ValueError as error:
        return "not an http:// or https:// address" if "@" in base else str(error)
    if "@" in parts.netloc:
        return "it holds credentials, which would show in objects and logs; give username and password, or token"
    if not parts.hostname or port == 0:
        return f"{base!r} names no host"
    if parts.query or parts.fragment:
        return f"{base!r} has a query or a fragment, and paths are appended to it"
    return ""


def factory_base(params: Mapping[str, Any]) -> str:
    """The base address without trailing slashes. Errors: OptionFailure."""
    problem = base_problem(params["imageFactoryURL"])
    if problem:
        raise OptionFailure("imageFactoryURL", problem)
    return trim_slashes(params["imageFactoryURL"])


def factory_web(params: Mapping[str, Any], base: str, warn: Callable[[str], None]) -> Web:
    """The way to ask the factory. Errors: OptionFailure."""
    path = params["ca_cert"] or ""
    if path and not os.path.isfile(path):
        raise OptionFailure("ca_cert", f"{path!r} does not exist")
    access = Access(
        base,
        params["validate_certs"],
        path,
        params["username"] or "",
        params["password"] or "",
        params["token"] or "",
    )
    if not params["validate_certs"]:
        warn("certificates of factories and mirrors are not verified; the importer verifies them. Give ca_cert instead")
    try:
        return Web(access)
    except ValueError as error:
        raise OptionFailure("HTTP_PROXY, HTTPS_PROXY", f"no proxy that can be used: {error}") from error
    except OSError as error:
        raise OptionFailure("ca_cert", f"{path!r} holds no CA certificate in PEM form ({error})") from error


def budget_seconds(params: Mapping[str, Any], default: int) -> int:
    """Seconds of option timeout. Errors: OptionFailure."""
    seconds = default if params["timeout"] is None else int(params["timeout"])
    if seconds < 1:
        raise OptionFailure("timeout", f"{seconds} is not a number of seconds above zero")
    return seconds
