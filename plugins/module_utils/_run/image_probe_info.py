# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asks factories and mirrors for images, several at once, as the importer will."""

from __future__ import annotations

import queue
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .._factory.facts import Answer, shown_url
from .._factory.image_verdict import Seen
from .._factory.patience import Budget
from .._factory.probe import Probe, Target, probe
from .._factory.verdict import MALFORMED
from .._factory.verdict import Verdict as ImageVerdict
from .._factory.web import Web
from .._guard.findings import Verdict
from .._image.catalog import ENTRY_KEYS
from .._image.golden import trim_slashes
from .._image.versions import checked_pair
from .._plan.plan import Plan
from .entry import LocalSession
from .factory import base_problem, budget_seconds, factory_base, factory_web
from .failures import Failure, OptionFailure
from .options import as_list, as_mapping, check_keys, shown
from .results import outcome

# A build may take 20 minutes by the factory's own limit.
_SECONDS, _BUILD_SECONDS, _AT_ONCE, _LOOK_SECONDS = 60, 1500, 4, 1.0


def image_probe_info(session: LocalSession) -> dict[str, Any]:
    """Job of module image_probe_info."""
    targets = _targets(session.params)
    seconds = budget_seconds(session.params, _BUILD_SECONDS if session.params["prewarm"] else _SECONDS)
    web = factory_web(session.params, factory_base(session.params), session.warn)
    found = _ask_all(session, web, targets, seconds)
    images = [found[target].as_dict() for target in targets]
    troubles = [image for image in images if not image["ok"]]
    result = outcome(Plan(), Verdict(), images=images, ok=not troubles)
    if troubles and session.params["fail_on_trouble"]:
        lines = [f"{image['message']} [{image['class']}]\n    What to do: {image['remedy']}." for image in troubles]
        raise Failure(f"{len(troubles)} of {len(images)} images cannot be imported:\n" + "\n".join(lines), **result)
    return result


def _targets(params: Mapping[str, Any]) -> list[Target]:
    """The images as written, each with its base. Errors: OptionFailure for wrong shapes; values are judged per image."""
    given = params["images"]
    given = [given] if isinstance(given, Mapping) or str(given).strip().startswith("{") else given
    targets = []
    for index, item in enumerate(as_list(given, "images")):
        at = f"images[{index}]"
        image = as_mapping(item, at)
        check_keys(image, ENTRY_KEYS, at)
        for key in ("schematicID", "version"):
            if not isinstance(image.get(key), str) or not image[key]:
                raise OptionFailure(f"{at}.{key}", f"a text is needed, not {shown(image.get(key))}; put it in quotes")
        base = image.get("imageFactoryURL") or params["imageFactoryURL"]
        if not isinstance(base, str):
            raise OptionFailure(f"{at}.imageFactoryURL", f"a text is needed, not {shown(base)}")
        targets.append(Target(trim_slashes(base), image["schematicID"], image["version"]))
    return targets


def _ask_all(session: LocalSession, web: Web, targets: list[Target], seconds: int) -> dict[Target, Probe]:
    """Each distinct image once. Only this thread reports: the others hand over what changes for them."""
    told: queue.Queue[tuple[Target, str]] = queue.Queue()
    states = dict.fromkeys(targets, "waits for its turn")
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        futures = {target: pool.submit(_ask_one, web, target, seconds, told) for target in states}
        while not all(future.done() for future in futures.values()) or not told.empty():
            try:
                target, text = told.get(timeout=_LOOK_SECONDS)
                states[target] = text
            except queue.Empty:
                pass
            line = "; ".join(f"{_short(target)}: {text}" for target, text in states.items())
            session.reporter.tell(line, line)
    return {target: future.result() for target, future in futures.items()}


def _ask_one(web: Web, target: Target, seconds: int, told: queue.Queue[tuple[Target, str]]) -> Probe:
    problem = base_problem(target.base)
    if not problem:
        try:
            checked_pair(target.schematic, target.version)
            return probe(web, target, Budget(seconds), lambda text: told.put((target, text)))
        except ValueError as error:
            problem = str(error)
    # Nothing is asked: no golden of such a pair can exist, the platform's charts refuse it.
    verdict = ImageVerdict(
        MALFORMED, f"{shown_url(target.url)}: {problem}", "correct schematicID, version or imageFactoryURL"
    )
    told.put((target, MALFORMED))
    return Probe(target, verdict, Seen(shown_url(target.url), target.schematic, target.version, Answer(0)), 0.0, 0)


def _short(target: Target) -> str:
    return f"{target.version} of {target.schematic[:12]}"
