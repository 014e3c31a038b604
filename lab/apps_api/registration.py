# SPDX-License-Identifier: Apache-2.0
"""Tells kube-apiserver where ``apps.cozystack.io`` is served."""

from __future__ import annotations

import asyncio
import base64
from typing import Any
from urllib.parse import urlsplit

from lab.api import Api, ApiError
from lab.apps_api.apps import GROUP, VERSION
from lab.apps_api.documents import PATH

Object = dict[str, Any]

NAMESPACE, SERVICE = "cozy-system", "cozystack-api"
API_SERVICE = f"{VERSION}.{GROUP}"
_POLL_SECONDS = 0.05


def _service(host: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE, "namespace": NAMESPACE},
        "spec": {"type": "ExternalName", "externalName": host},
    }


def _api_service(port: int, ca_pem: str) -> Object:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": API_SERVICE},
        "spec": {
            "group": GROUP,
            "version": VERSION,
            "groupPriorityMinimum": 1000,
            "versionPriority": 15,
            "service": {"name": SERVICE, "namespace": NAMESPACE, "port": port},
            "caBundle": base64.b64encode(ca_pem.encode()).decode(),
        },
    }


async def _answers(api: Api) -> None:
    """The condition Available comes a moment before requests are passed on, so ask for what clients will ask for."""
    while True:
        found = await api.get("APIService", API_SERVICE) or {}
        conditions = (found.get("status") or {}).get("conditions") or []
        if any(item["type"] == "Available" and item["status"] == "True" for item in conditions):
            try:
                await api.request("GET", PATH)
            except ApiError:
                pass
            else:
                return
        await asyncio.sleep(_POLL_SECONDS)


async def register(api: Api, url: str, ca_pem: str, timeout: float = 20) -> None:
    """Register the server at ``url`` (``https://HOST:PORT``) and wait until kube-apiserver passes requests on to it.

    ``ca_pem`` verifies the server's certificate. Registering again moves the registration. Errors: ApiError,
    TimeoutError with the reason that kube-apiserver gives.
    """
    parts = urlsplit(url)
    # An address is no good as an external name: the aggregator verifies the certificate by it.
    host = "localhost" if parts.hostname in (None, "127.0.0.1", "::1") else parts.hostname
    await api.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    await api.ensure(_service(host))
    await api.ensure(_api_service(parts.port or 443, ca_pem))
    try:
        await asyncio.wait_for(_answers(api), timeout)
    except TimeoutError:
        found = await api.get("APIService", API_SERVICE) or {}
        conditions = (found.get("status") or {}).get("conditions") or []
        said = "; ".join(f"{item.get('reason')}: {item.get('message')}" for item in conditions)
        raise TimeoutError(f"APIService {API_SERVICE} is not available after {timeout:g} s: {said}") from None
