# SPDX-License-Identifier: Apache-2.0
"""The aggregated API ``upload.cdi.kubevirt.io/v1beta1``: UploadTokenRequests, which are answered and never stored.

kube-apiserver has asked RBAC before a request gets here. Like CDI's, it gives a token for any name of a claim.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiohttp import web

from lab.apps_api.documents import AGGREGATED
from lab.upload.tokens import Tokens

GROUP, VERSION, KIND, PLURAL = "upload.cdi.kubevirt.io", "v1beta1", "UploadTokenRequest", "uploadtokenrequests"
PATH = f"/apis/{GROUP}/{VERSION}"
_SINGULAR, _VERBS = "uploadtokenrequest", ["create"]
_NAMES = {"kind": KIND, "group": GROUP, "version": VERSION}
_PREFERRED = {"groupVersion": f"{GROUP}/{VERSION}", "version": VERSION}
_GROUP_ENTRY: dict[str, Any] = {"name": GROUP, "versions": [_PREFERRED], "preferredVersion": _PREFERRED}
_RESOURCES = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": f"{GROUP}/{VERSION}",
    "resources": [_NAMES | {"name": PLURAL, "singularName": _SINGULAR, "namespaced": True, "verbs": _VERBS}],
}
_DISCOVERY = {
    "kind": "APIGroupDiscoveryList",
    "apiVersion": "apidiscovery.k8s.io/v2",
    "metadata": {},
    "items": [
        {
            "metadata": {"name": GROUP},
            "versions": [
                {
                    "version": VERSION,
                    "freshness": "Current",
                    "resources": [
                        {
                            "resource": PLURAL,
                            "responseKind": _NAMES,
                            "scope": "Namespaced",
                            "singularResource": _SINGULAR,
                            "verbs": _VERBS,
                        }
                    ],
                }
            ],
        }
    ],
}
_SCHEMA = {
    "type": "object",
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": {"type": "object", "required": ["pvcName"], "properties": {"pvcName": {"type": "string"}}},
        "status": {"type": "object", "properties": {"token": {"type": "string"}}},
    },
    "x-kubernetes-group-version-kind": [_NAMES],
}
_NAME = f"io.kubevirt.cdi.upload.{VERSION}.{KIND}"
_INFO = {"title": "CDI upload", "version": VERSION}
_OPENAPI_V2 = {"swagger": "2.0", "info": _INFO, "paths": {}, "definitions": {_NAME: _SCHEMA}}
_OPENAPI_INDEX = {"paths": {PATH[1:]: {"serverRelativeURL": f"/openapi/v3{PATH}"}}}
_OPENAPI_V3 = {"openapi": "3.0.0", "info": _INFO, "paths": {}, "components": {"schemas": {_NAME: _SCHEMA}}}
_DOCUMENTS = {
    f"/apis/{GROUP}": {"kind": "APIGroup", "apiVersion": "v1", **_GROUP_ENTRY},
    PATH: _RESOURCES,
    "/openapi/v2": _OPENAPI_V2,
    "/openapi/v3": _OPENAPI_INDEX,
    f"/openapi/v3{PATH}": _OPENAPI_V3,
}


def _refused(code: int, reason: str, message: str) -> web.Response:
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code}
    return web.json_response(body | {"reason": reason, "message": message}, status=code)


async def _groups(request: web.Request) -> web.Response:
    if AGGREGATED in request.headers.get("Accept", ""):
        return web.Response(body=json.dumps(_DISCOVERY), headers={"Content-Type": AGGREGATED})
    return web.json_response({"kind": "APIGroupList", "apiVersion": "v1", "groups": [_GROUP_ENTRY]})


class TokenApi:
    """``seconds`` says how long a token is good."""

    def __init__(self, tokens: Tokens, seconds: Callable[[], float]) -> None:
        self._tokens, self._seconds = tokens, seconds

    def application(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/apis", _groups)
        for path, document in _DOCUMENTS.items():
            app.router.add_get(path, self._document(document))
        app.router.add_post(f"{PATH}/namespaces/{{namespace}}/{PLURAL}", self._on_request)
        app.router.add_route("*", f"{PATH}/{{path:.*{PLURAL}.*}}", self._on_other)
        return app

    @staticmethod
    def _document(content: Any) -> Callable[[web.Request], Any]:
        async def handler(_: web.Request) -> web.Response:
            return web.json_response(content)

        return handler

    async def _on_other(self, _: web.Request) -> web.Response:
        message = "the server does not allow this method on the requested resource"
        return _refused(405, "MethodNotAllowed", message)

    async def _on_request(self, request: web.Request) -> web.Response:
        try:
            given = await request.json()
            claim, kind = given["spec"]["pvcName"], given.get("kind", KIND)
        except (ValueError, KeyError, TypeError, AttributeError):
            claim, kind = "", ""
        if not isinstance(claim, str) or not claim or kind != KIND:
            return _refused(400, "BadRequest", f"not a {KIND} with spec.pvcName")
        namespace = request.match_info["namespace"]
        token = self._tokens.issue((namespace, claim), self._seconds())
        meta = (given.get("metadata") or {}) | {"namespace": namespace}
        about = {"apiVersion": f"{GROUP}/{VERSION}", "kind": KIND, "metadata": meta, "spec": {"pvcName": claim}}
        return web.json_response(about | {"status": {"token": token}})


def tls(certs: Path) -> ssl.SSLContext:
    """Requests come from the aggregator only."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certs / "cdi-api.crt", certs / "cdi-api.key")
    context.load_verify_locations(certs / "front-proxy-ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    return context
