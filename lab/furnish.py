# SPDX-License-Identifier: Apache-2.0
"""Turns a kube-apiserver that has just been started into a platform: custom resource definitions and base objects."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from lab import processes, seed
from lab.api import Api, ApiError
from lab.kinds import KINDS
from lab.processes import Process

CRDS = Path(__file__).parent / "crds"
_POLL, _PATIENCE = 0.03, 2.0
_LONG_AGO = "2020-01-01T00:00:00Z"
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def definitions() -> list[dict[str, Any]]:
    """Every CustomResourceDefinition of the lab."""
    return [item for path in sorted(CRDS.glob("*.yaml")) for item in yaml.load(path.read_text(), _Loader)["items"]]


async def furnish(home: Path, running: list[Process], seconds: float) -> None:
    """Returns when the new instance is ready. Errors: ProcessDied, TimeoutError, ApiError.

    The kubeconfig trusts this instance's CA only, so an older instance on the same port cannot answer for it. The
    work starts as soon as the API is served: `/readyz` follows a second later, when all default roles are stored.
    """
    wanted = definitions()
    try:
        async with asyncio.timeout(seconds), Api(home / "kubeconfig", "lab-up") as api:
            await _until_answers(api, home, running, KINDS["CustomResourceDefinition"].path())
            await asyncio.gather(*(api.ensure(definition) for definition in wanted))
            await _until_established(api, home, running, {definition["metadata"]["name"] for definition in wanted})
            await seed.apply(api)
            await _until_answers(api, home, running, "/readyz")
    except TimeoutError:
        tail = processes.tail(home, "kube-apiserver")
        raise TimeoutError(f"kube-apiserver was not ready after {seconds:.0f} s; its log ends:\n{tail}") from None


async def _until_answers(api: Api, home: Path, running: list[Process], path: str) -> None:
    while True:
        processes.check(home, running)
        try:
            # A stranger on our port may accept and say nothing, while our server has died for want of the port.
            async with asyncio.timeout(_PATIENCE):
                await api.request("GET", path)
        except (ApiError, aiohttp.ClientError, OSError):  # TimeoutError is an OSError
            await asyncio.sleep(_POLL)
        else:
            return


async def _until_established(api: Api, home: Path, running: list[Process], wanted: set[str]) -> None:
    dated: set[str] = set()
    while dated != wanted:
        processes.check(home, running)
        fresh = [crd for crd in await api.list("CustomResourceDefinition") if crd["metadata"]["name"] in wanted - dated]
        done = await asyncio.gather(*(_backdate(api, crd) for crd in fresh if _established(crd) is not None))
        dated |= set(done)
        await asyncio.sleep(0 if dated == wanted else _POLL)


def _established(crd: dict[str, Any]) -> int | None:
    """Position of the condition, or None."""
    conditions = (crd.get("status") or {}).get("conditions") or []  # null in a definition that is quite new
    for position, condition in enumerate(conditions):
        if condition["type"] == "Established" and condition["status"] == "True":
            return position
    return None


async def _backdate(api: Api, crd: dict[str, Any]) -> str:
    """kube-apiserver holds every create of a definition younger than two seconds for two seconds; make it older."""
    name: str = crd["metadata"]["name"]
    position = _established(crd)
    patch = [
        {"op": "test", "path": f"/status/conditions/{position}/type", "value": "Established"},
        {"op": "replace", "path": f"/status/conditions/{position}/lastTransitionTime", "value": _LONG_AGO},
    ]
    path = KINDS["CustomResourceDefinition"].path(name=name, subresource="status")
    await api.request("PATCH", path, patch, "application/json-patch+json")
    return name
