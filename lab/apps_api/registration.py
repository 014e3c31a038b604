# SPDX-License-Identifier: Apache-2.0
"""Tells kube-apiserver where an aggregated API is served."""

from __future__ import annotations

import asyncio
import base64
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from lab.api import Api, ApiError
from lab.apps_api.apps import GROUP, VERSION
from lab.apps_api.documents import PATH

Object = dict[str, Any]

NAMESPACE, SERVICE = "cozy-system", "cozystack-api"
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Extension:
    """An aggregated API: behind which service it is, and which paths answer once it can be used."""

    group: str
    version: str
    service: str
    namespace: str
    probes: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.version}.{self.group}"


APPS = Extension(GROUP, VERSION, SERVICE, NAMESPACE, (f"{PATH}/tenants", f"/openapi/v3{PATH}"))


def _service(extension: Extension, host: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": extension.service, "namespace": extension.namespace},
        "spec": {"type": "ExternalName", "externalName": host},
    }


def _api_service(extension: Extension, port: int, ca_pem: str) -> Object:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": extension.name},
        "spec": {
            "group": extension.group,
            "version": extension.version,
            "groupPriorityMinimum": 1000,
            "versionPriority": 15,
            "service": {"name": extension.service, "namespace": extension.namespace, "port": port},
            "caBundle": base64.b64encode(ca_pem.encode()).decode(),
        },
    }


def _reason(api_service: Object | None) -> str:
    """Why it is not available, or nothing when it is."""
    conditions = ((api_service or {}).get("status") or {}).get("conditions") or []
    available = [item for item in conditions if item["type"] == "Available"]
    if available and available[0]["status"] == "True":
        return ""
    return available[0].get("message", "") if available else "kube-apiserver has not looked at it yet"


async def _trouble(api: Api, extension: Extension) -> str:
    """Why requests do not come through, or nothing when they do.

    The condition says too little: kube-apiserver does not try a service of type ExternalName before it calls it
    available, its storage of a fresh custom resource answers 429 for a moment, and it fetches the schema nearly a
    second later. So ask what clients will ask.
    """
    if reason := _reason(await api.get("APIService", extension.name)):
        return reason
    for path in extension.probes:
        try:
            await api.request("GET", path)
        except ApiError as error:
            return f"GET {path}: {error}"
    return ""


async def register(api: Api, url: str, ca_pem: str, extension: Extension = APPS, timeout: float = 20) -> None:
    """Register the server at ``url`` (``https://HOST:PORT``) and wait until kube-apiserver passes requests on to it.

    ``ca_pem`` verifies the server's certificate, which has to be valid for ``<service>.<namespace>.svc``.
    Registering again moves the registration. Errors: ApiError; TimeoutError with the last trouble.
    """
    parts = urlsplit(url)
    # The aggregator dials the external name, but verifies the certificate by the service's: NAME.NAMESPACE.svc.
    host = "localhost" if parts.hostname in (None, "127.0.0.1", "::1") else parts.hostname
    await api.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": extension.namespace}})
    await api.ensure(_service(extension, host))
    await api.ensure(_api_service(extension, parts.port or 443, ca_pem))
    deadline = time.monotonic() + timeout
    while trouble := await _trouble(api, extension):
        if time.monotonic() > deadline:
            raise TimeoutError(f"APIService {extension.name} does not answer after {timeout:g} s: {trouble}")
        await asyncio.sleep(_POLL_SECONDS)
