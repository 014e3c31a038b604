# SPDX-License-Identifier: Apache-2.0
"""The HTTP side: paths, content negotiation, TLS."""

from __future__ import annotations

import json
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from lab.api import Api, ApiError
from lab.apps_api import documents, patches, statuses
from lab.apps_api.apps import API_VERSION, APPS, GROUP, App
from lab.apps_api.store import Store

Object = dict[str, Any]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

OPTIONS_FILE = "apps-api.options.json"
_STORE: web.AppKey[Store] = web.AppKey("store", Store)
_HOME: web.AppKey[Path] = web.AppKey("home", Path)
_BODY_LIMIT = 3 * 1024 * 1024  # that of kube-apiserver
_CLOSE_SECONDS = 0.2  # watches never end by themselves


@dataclass
class Serving:
    """A running server. ``url`` is ``https://HOST:PORT``; ``close()`` ends open watches too."""

    url: str
    _runner: web.AppRunner

    async def close(self) -> None:
        await self._runner.cleanup()


def _answer(body: Any, status: int = 200, content_type: str = "application/json") -> web.Response:
    text = json.dumps(body, separators=(",", ":")).encode()
    return web.Response(body=text, status=status, headers={"Content-Type": content_type})


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except statuses.Refused as error:
        return _answer(error.body, error.code)
    except ApiError as error:
        return _answer(error.body, error.status)
    except web.HTTPException as error:
        refused = statuses.no_such_path()
        if error.status != 404:
            refused = statuses.Refused(error.status, error.reason)
        return _answer(refused.body, refused.code)
    except aiohttp.ClientError as error:
        refused = statuses.internal(f"the API server behind this one does not answer: {error}")
        return _answer(refused.body, refused.code)


def _app(request: web.Request) -> App:
    try:
        return APPS[request.match_info["plural"]]
    except KeyError:
        raise statuses.no_such_path() from None


async def _object(request: web.Request, app: App) -> Object:
    body = patches.parse(request.content_type, await request.read())
    if not isinstance(body, dict) or not isinstance(body.setdefault("metadata", {}), dict):
        raise statuses.bad_request("the body of the request is not an object")
    if (body.get("apiVersion", API_VERSION), body.get("kind", app.kind)) != (API_VERSION, app.kind):
        given = f"{body.get('kind')} in version {body.get('apiVersion')}"
        raise statuses.bad_request(f"{given} cannot be handled as a {app.kind} in version {API_VERSION}")
    return body


async def _watch(request: web.Request, app: App, namespace: str | None) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    async for piece in request.app[_STORE].watch(app, namespace, request.query):
        if not response.prepared:
            await response.prepare(request)
        await response.write(piece)
    return response


async def _collection(request: web.Request) -> web.StreamResponse:
    app, namespace = _app(request), request.match_info.get("namespace")
    if request.method == "GET" and request.query.get("watch") in ("1", "true"):
        return await _watch(request, app, namespace)
    if request.method == "GET":
        return _answer(await request.app[_STORE].list(app, namespace, request.query))
    if namespace is None:
        raise statuses.bad_request("an empty namespace may not be set during creation")
    created = await request.app[_STORE].create(app, namespace, await _object(request, app))
    return _answer(created, 201)


async def _item(request: web.Request) -> web.StreamResponse:
    app, store = _app(request), request.app[_STORE]
    namespace, name = request.match_info["namespace"], request.match_info["name"]
    if request.method == "GET":
        return _answer(await store.get(app, namespace, name))
    if request.method == "PUT":
        return _answer(await store.replace(app, namespace, name, await _object(request, app)))
    if request.method == "PATCH":
        return _answer(await store.patch(app, namespace, name, request.content_type, await request.read()))
    return _answer(await store.delete(app, namespace, name))


async def _groups(request: web.Request) -> web.StreamResponse:
    if documents.AGGREGATED in request.headers.get("Accept", ""):
        return _answer(documents.aggregated(), content_type=documents.AGGREGATED)
    return _answer(documents.groups())


def _without_os_image(home: Path) -> bool:
    """Read for every request, so that a scenario switches it by writing a file."""
    try:
        options = json.loads((home / OPTIONS_FILE).read_text())
    except (OSError, ValueError):
        return False
    return isinstance(options, dict) and options.get("without_os_image") is True


async def _openapi_v3(request: web.Request) -> web.StreamResponse:
    return _answer(documents.openapi_v3(_without_os_image(request.app[_HOME])))


def _document(make: Callable[[], Object]) -> Handler:
    async def handler(_: web.Request) -> web.StreamResponse:
        return _answer(make())

    return handler


def application(api: Api, home: Path) -> web.Application:
    app = web.Application(middlewares=[_errors], client_max_size=_BODY_LIMIT)
    app[_STORE], app[_HOME] = Store(api), home
    route, collection = app.router.add_route, documents.PATH
    route("GET", "/apis", _groups)
    route("GET", f"/apis/{GROUP}", _document(documents.group))
    route("GET", collection, _document(documents.resources))
    route("GET", "/openapi/v2", _document(documents.openapi_v2))
    route("GET", "/openapi/v3", _document(documents.openapi_index))
    route("GET", f"/openapi/v3{documents.PATH}", _openapi_v3)
    for method in ("GET", "POST"):
        route(method, f"{collection}/{{plural}}", _collection)
        route(method, f"{collection}/namespaces/{{namespace}}/{{plural}}", _collection)
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        route(method, f"{collection}/namespaces/{{namespace}}/{{plural}}/{{name}}", _item)
    return app


def _tls(home: Path) -> ssl.SSLContext:
    certs = home / "certs"
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certs / "apps-api.crt", certs / "apps-api.key")
    proxy = certs / "front-proxy-ca.crt"
    if proxy.exists():
        # Requests come from the aggregator, which has asked RBAC about the user already.
        context.load_verify_locations(proxy)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


async def serve(api: Api, home: Path, *, host: str = "127.0.0.1", port: int = 0) -> Serving:
    """Serve until closed. ``api`` stays the caller's and must outlive the server. Errors: OSError for a taken port or
    missing files ``home/certs/apps-api.{crt,key}``."""
    runner = web.AppRunner(
        application(api, home), access_log=None, shutdown_timeout=_CLOSE_SECONDS, handler_cancellation=True
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, ssl_context=_tls(home)).start()
    except OSError:
        await runner.cleanup()
        raise
    return Serving(f"https://{host}:{runner.addresses[0][1]}", runner)
