# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes a factory know a schematic. POST /schematics is idempotent: the ID is a hash of what is stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._image.golden import trim_slashes
from .facts import Answer, NoAnswer, shown_url
from .patience import Budget, persistently
from .probe import Asker, route_missing
from .verdict import NOT_A_FACTORY, UNEXPECTED, Verdict, no_answer, refused

# A schematic may embed a whole machine configuration.
_MOST_BYTES = 1024 * 1024


class FactoryError(Exception):
    """A factory cannot or will not; the text holds cause and remedy."""

    def __init__(self, verdict: Verdict, **about: Any) -> None:
        self.verdict = verdict
        self.about = {"class": verdict.kind, "remedy": verdict.remedy, **about}
        super().__init__(f"{verdict.message}. What to do: {verdict.remedy}")


@dataclass(frozen=True)
class Stored:
    """What a factory stored, and under which ID."""

    id: str
    text: str


class Registrar:
    """Questions to one factory within one budget. ``note`` hears why something is asked again."""

    def __init__(self, web: Asker, base: str, budget: Budget, note: Callable[[str], None]) -> None:
        self._web, self._budget, self._note = web, budget, note
        self._base = trim_slashes(base)

    def _ask(self, method: str, path: str, **options: Any) -> tuple[str, Answer]:
        url = self._base + path
        answer = persistently(
            lambda seconds: self._web.ask(method, url, seconds, _MOST_BYTES, **options), self._budget, self._note
        )
        if isinstance(answer, NoAnswer):
            raise FactoryError(no_answer(shown_url(url), answer))
        return shown_url(url), answer

    def look_up(self, identity: str) -> Stored | bool | None:
        """What is stored under an ID; False where nothing is, None where the server cannot tell. Errors: FactoryError."""
        at, answer = self._ask("GET", f"/schematics/{identity}")
        if answer.status == 404:
            return None if route_missing(answer) else False
        if answer.status != 200:
            raise FactoryError(refused(at, answer), status=answer.status)
        found = hashlib.sha256(answer.body).hexdigest()
        if found != identity:
            text = f"{at}: what it serves there has the SHA-256 {found}, not {identity}, so it is not that schematic: {answer.line!r}"
            remedy = "check imageFactoryURL: a factory answers with the schematic's own bytes, and with 404 where it has none"
            raise FactoryError(Verdict(UNEXPECTED, text, remedy), answered_id=found)
        return Stored(identity, answer.body.decode())

    def is_mirror(self) -> bool:
        """Whether it serves files only: no list of versions, as every factory has. Errors: FactoryError (no answer)."""
        _, answer = self._ask("GET", "/versions")
        if answer.status != 200:
            return answer.status in (404, 405)
        try:
            return not isinstance(json.loads(answer.body), list)
        except ValueError:
            return True

    def mirror_error(self) -> FactoryError:
        text = f"{self._base} is a plain mirror: it serves files, and registers no schematic"
        remedy = "register at a factory, and publish its image on the mirror below /image/<id>/<version>/"
        return FactoryError(Verdict(NOT_A_FACTORY, text, remedy))

    def register(self, body: str) -> Stored:
        """Post a schematic as YAML or JSON. Errors: FactoryError."""
        at, answer = self._ask(
            "POST", "/schematics", body=body.encode(), headers={"Content-Type": "application/yaml"}, follow=0
        )
        if answer.status in (404, 405, 501):
            raise self.mirror_error()
        if answer.status not in (200, 201):
            raise FactoryError(refused(at, answer), status=answer.status)
        try:
            found = json.loads(answer.body)
            return Stored(str(found["id"]), str(found.get("schematic", "")))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            text = f"{at}: status {answer.status}, and no schematic ID in the answer: {answer.line!r}"
            raise FactoryError(Verdict(UNEXPECTED, text, "check imageFactoryURL")) from error
