# SPDX-License-Identifier: Apache-2.0
"""Both servers on loopback, registered where clients look for them: the aggregator and CDIConfig."""

from __future__ import annotations

import contextlib
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

from aiohttp import web

from lab.api import Api
from lab.apps_api.registration import Extension, register
from lab.controllers.runtime import Runtime
from lab.upload import api as token_api
from lab.upload.proxy import Proxy
from lab.upload.tokens import Tokens

SERVICE, NAMESPACE = "cdi-api", "cozy-kubevirt-cdi"
_EXTENSION = Extension(token_api.GROUP, token_api.VERSION, SERVICE, NAMESPACE, (token_api.PATH,))
_CLOSE_SECONDS = 0.2


def _proxy_tls(certs: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certs / "upload-proxy.crt", certs / "upload-proxy.key")
    return context


async def _listen(runner: web.AppRunner, tls: ssl.SSLContext, memory: Path) -> int:
    """On the port of the last life if it is free: lab.json names it."""
    try:
        known = int(json.loads(memory.read_text())["port"])
    except (OSError, ValueError, KeyError):
        known = 0
    for port in (known, 0):
        site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls)
        with contextlib.suppress(OSError):
            await site.start()
            found = int(runner.addresses[0][1])
            memory.write_text(json.dumps({"port": found}))
            return found
        await site.stop()
    raise OSError("no free port for the upload proxy")


@contextlib.asynccontextmanager
async def serving(home: Path, runtime: Runtime, api: Api) -> AsyncIterator[dict[str, str]]:
    """Yields ``upload_proxy``, the proxy's URL, and ``upload_proxy_ca``, the file with its CA."""
    certs, tokens = home / "certs", Tokens(home / "certs" / "upload-token.key")
    proxy = Proxy(runtime, tokens)
    async with contextlib.AsyncExitStack() as stack:
        runners = []
        for application in (
            token_api.TokenApi(tokens, lambda: runtime.timings.upload_token).application(),
            proxy.application(),
        ):
            runner = web.AppRunner(application, access_log=None, shutdown_timeout=_CLOSE_SECONDS)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            runners.append(runner)
        stack.push_async_callback(proxy.stop)
        await web.TCPSite(runners[0], "127.0.0.1", 0, ssl_context=token_api.tls(certs)).start()
        port = await _listen(runners[1], _proxy_tls(certs), home / "volumes" / ".upload-proxy.json")
        url, authority = f"https://127.0.0.1:{port}", certs / "upload-ca.crt"
        known = {"uploadProxyURL": url, "uploadProxyCA": authority.read_text()}
        await api.patch("CDIConfig", "config", {"status": known})
        tokens_url = f"https://127.0.0.1:{runners[0].addresses[0][1]}"
        await register(api, tokens_url, (certs / "ca.crt").read_text(), _EXTENSION)
        yield {"upload_proxy": url, "upload_proxy_ca": str(authority)}
