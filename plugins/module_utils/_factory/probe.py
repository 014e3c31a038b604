# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asks for an image the way the importer will: HEAD, which makes a factory build it, then the first bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .._image.golden import image_url, trim_slashes
from .facts import Answer, NoAnswer, shown_url
from .image_verdict import Seen, judge, well_formed_version
from .patience import Budget, persistently
from .verdict import Verdict, transient

_FIRST_BYTES = 512
_LIST_BYTES = 256 * 1024


class Asker(Protocol):
    """What is needed of Web; tests put a scripted one here."""

    def ask(
        self,
        method: str,
        url: str,
        seconds: float,
        first: int = 512,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        follow: int = 5,
    ) -> Answer:
        """Errors: NoAnswer."""


@dataclass(frozen=True)
class Target:
    base: str
    schematic: str
    version: str

    @property
    def url(self) -> str:
        return image_url(self.base, self.schematic, self.version)


@dataclass(frozen=True)
class Probe:
    """What was found; ``attempts`` counts the questions for the image itself."""

    target: Target
    verdict: Verdict
    seen: Seen
    seconds: float
    attempts: int

    def as_dict(self) -> dict[str, Any]:
        last = self.seen.last
        answer = last if isinstance(last, Answer) else Answer(0)
        return {
            "url": shown_url(self.target.url),
            "schematicID": self.target.schematic,
            "version": self.target.version,
            **self.verdict.as_dict(),
            "status": answer.status,
            "length": answer.length,
            "type": answer.kind,
            "magic": answer.body[:6].hex() if answer.status in (200, 206) else "",
            "redirects": list(last.redirects),
            "tls": dict(answer.tls) if answer.tls else None,
            "seconds": round(self.seconds, 1),
            "attempts": self.attempts,
        }


def probe(web: Asker, target: Target, budget: Budget, note: Callable[[str], None]) -> Probe:
    """Ask for one image until there is an answer that stays, or the budget is spent. ``note`` hears what it does."""
    attempts = 0

    def again(answer: Answer | NoAnswer) -> bool:
        # A malformed version is answered with 500 for ever.
        stays = isinstance(answer, Answer) and answer.status == 500 and not well_formed_version(target.version)
        return transient(answer) and not stays

    def asked(method: str, headers: dict[str, str]) -> Answer | NoAnswer:
        def attempt(seconds: float) -> Answer:
            nonlocal attempts
            attempts += 1
            return web.ask(method, target.url, seconds, _FIRST_BYTES, headers=headers)

        return persistently(attempt, budget, note, again)

    note("asked for (a factory builds what it has not served before)")
    head = asked("HEAD", {})
    get: Answer | NoAnswer | None = None
    if isinstance(head, Answer):
        # HEAD has no text, and a server may refuse HEAD alone. A factory ignores the range, hence the hanging up.
        get = asked("GET", {"Range": f"bytes=0-{_FIRST_BYTES - 1}"})
    known, versions = None, None
    if isinstance(get, Answer) and get.status == 404:
        known, versions = knows_schematic(web, target.base, target.schematic), listed_versions(web, target.base)
        # Any web server has a 404 for /schematics/<id>; that of a factory alone means something.
        known = None if versions is None and known is False else known
    seen = Seen(target.url, target.schematic, target.version, head, get, known, versions)
    verdict = judge(seen)
    note("ready" if verdict.ok else verdict.kind)
    return Probe(target, verdict, seen, budget.spent, attempts)


def listed_versions(web: Asker, base: str, seconds: float = 10) -> tuple[str, ...] | None:
    """The Talos releases that a factory lists; None for a server without such a list."""
    try:
        answer = web.ask("GET", f"{trim_slashes(base)}/versions", seconds, _LIST_BYTES)
        found = json.loads(answer.body) if answer.status == 200 else None
    except (NoAnswer, ValueError):
        return None
    return tuple(str(one) for one in found) if isinstance(found, list) else None


def knows_schematic(web: Asker, base: str, schematic: str, seconds: float = 10) -> bool | None:
    """Whether a schematic was registered; None when the server cannot tell (factories before v0.9.0 have no such route)."""
    try:
        answer = web.ask("GET", f"{trim_slashes(base)}/schematics/{schematic}", seconds)
    except NoAnswer:
        return None
    if answer.status == 200:
        return None if answer.kind == "text/html" else True
    return False if answer.status == 404 and not route_missing(answer) else None


def route_missing(answer: Answer) -> bool:
    """Go's own text for a path that nobody handles."""
    return answer.status == 404 and answer.line == "404 page not found"
