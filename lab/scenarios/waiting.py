# SPDX-License-Identifier: Apache-2.0
"""Waiting for a state of the platform by watching it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from lab.api import Api, Cache, Object


class Late(Exception):
    """Something did not happen in time; the message says what, and what was seen last."""


Seen = dict[str, Cache]


async def until(
    api: Api,
    what: str,
    kinds: Sequence[str],
    check: Callable[[Seen], Any],
    seconds: float = 30.0,
    describe: Callable[[Seen], Any] | None = None,
) -> Any:
    """The first true value of ``check``, called whenever an object of the kinds changes. Errors: Late.

    ``describe`` gives what a late state looks like, for the message.
    """
    seen, wake = {kind: Cache(api, kind) for kind in kinds}, asyncio.Event()
    for cache in seen.values():
        cache.listeners.append(lambda *_: wake.set())
    tasks = [asyncio.create_task(cache.run()) for cache in seen.values()]
    try:
        async with asyncio.timeout(seconds):
            for cache in seen.values():
                await cache.synced.wait()
            while not (value := check(seen)):
                await wake.wait()
                wake.clear()
            return value
    except TimeoutError:
        state = json.dumps(describe(seen), default=str) if describe else "see the lab's logs"
        raise Late(f"{what}: not within {seconds:g} s; last seen: {state}") from None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def object_until(
    api: Api,
    kind: str,
    namespace: str,
    name: str,
    check: Callable[[Object | None], Any],
    what: str = "",
    seconds: float = 30.0,
) -> Any:
    """The same about one object, None when it is absent. Errors: Late."""

    def one(seen: Seen) -> Object | None:
        return seen[kind].get(namespace, name)

    def told(seen: Seen) -> Any:
        return (one(seen) or {}).get("status", "no such object")

    text = f"{kind} {namespace}/{name} {what}".strip()
    return await until(api, text, [kind], lambda seen: check(one(seen)), seconds, told)


def condition(obj: Object | None, kind: str) -> dict[str, Any]:
    conditions = ((obj or {}).get("status") or {}).get("conditions") or []
    found: dict[str, Any] = next((one for one in conditions if one["type"] == kind), {})
    return found


def phase(obj: Object | None) -> str:
    return str(((obj or {}).get("status") or {}).get("phase") or "")


def settled(release: Object | None) -> bool:
    """True once a HelmRelease has been judged, for better or worse, as it is now."""
    if release is None or "conditions" not in (release.get("status") or {}):
        return False
    current = release["status"].get("observedGeneration") == release["metadata"]["generation"]
    return bool(current and condition(release, "Ready").get("status") in ("True", "False"))


def healthy(release: Object | None) -> bool:
    return settled(release) and condition(release, "Ready")["status"] == "True"
