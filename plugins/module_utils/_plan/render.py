# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan for people: as text for a terminal, as Markdown for a ticket. It is taken as ``Plan.as_dict`` gives it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Shown = Mapping[str, Any]

_VERBS = {"create": "create", "patch": "change", "delete": "delete", "upload": "upload"}
_RISKS = {
    "none": "no worker is touched",
    "unknown": "whether workers are replaced cannot be told",
    "rolls": "replaces workers",
    "deletes": "deletes",
}
_WIDTH = 100


def joined(parts: Sequence[Shown]) -> dict[str, Any]:
    """One plan of several, in order. Its hash is over the digests of all steps, so that it moves with each of them."""
    steps = [step for part in parts for step in part["steps"]]
    facts = "\n".join(
        " ".join(str(step[key]) for key in ("action", "kind", "namespace", "name", "digest")) for step in steps
    )
    return {"hash": "sha256:" + hashlib.sha256(facts.encode()).hexdigest(), "steps": steps}


def totals(plan: Shown) -> dict[str, int]:
    """Numbers over all steps: ``steps``, ``rolling``, ``unknown`` and ``deleting`` ones; workers, disks and bytes they concern."""
    steps = plan["steps"]
    concerned = [step["concerned"] for step in steps if step.get("concerned")]
    risks = [step["risk"] for step in steps]
    return {
        "steps": len(steps),
        "rolling": risks.count("rolls"),
        "unknown": risks.count("unknown"),
        "deleting": risks.count("deletes"),
        **{key: sum(one[key] or 0 for one in concerned) for key in ("workers", "disks", "bytes")},
    }


def headline(plan: Shown) -> str:
    """ "3 steps; 2 replace workers (14 workers, 14 disks, 280 GiB)"."""
    if not plan["steps"]:
        return "Nothing to do"
    found = totals(plan)
    parts = [_count(found["steps"], "step")]
    if found["rolling"]:
        parts.append(f"{found['rolling']} {'replaces' if found['rolling'] == 1 else 'replace'} workers")
    if found["unknown"]:
        parts.append(f"{found['unknown']} of unknown effect on workers")
    if found["deleting"]:
        parts.append(f"{found['deleting']} {'deletes' if found['deleting'] == 1 else 'delete'}")
    moved = _amount(found)
    return "; ".join(parts) + (f" ({moved})" if moved else "")


def as_text(plan: Shown) -> list[str]:
    """Lines; the hash last, since it is what gets approved."""
    lines = [headline(plan)]
    for number, step in enumerate(plan["steps"], 1):
        lines.append(f"{number:3}. {_VERBS[step['action']]} {_subject(step)}: {step['reason']}")
        lines += [f"       {line}" for line in _details(step)]
    return [*lines, f"Plan {plan['hash']}"]


def as_markdown(plan: Shown) -> str:
    """A table with one row a step, and the hash."""
    lines = [f"**{headline(plan)}**", ""]
    if plan["steps"]:
        lines += ["| # | step | object | why | workers | effect |", "|---|---|---|---|---|---|"]
    for number, step in enumerate(plan["steps"], 1):
        why = "; ".join([step["reason"], *step.get("roll_reasons", ())])
        cells = [str(number), _VERBS[step["action"]], _subject(step), why, _risk(step), step.get("effect", "")]
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return "\n".join([*lines, "", f"Plan `{plan['hash']}`"])


def _subject(step: Shown) -> str:
    return f"{step['kind']} " + "/".join(part for part in (step["namespace"], step["name"]) if part)


def _details(step: Shown) -> Iterator[str]:
    for change in step.get("changes", ()):
        before, after = (_value(change[key]) if key in change else "absent" for key in ("before", "after"))
        yield f"{change['field']}: {before} -> {after}"
    if step["risk"] != "none" or step["kind"] == "KubernetesNodes":
        yield _risk(step)
    for reason in step.get("roll_reasons", ()):
        yield f"because {reason}" if step["rolls_workers"] else reason
    if step.get("effect"):
        yield step["effect"]


def _risk(step: Shown) -> str:
    moved = _amount(step["concerned"]) if step.get("concerned") and step["risk"] != "none" else ""
    return _RISKS[step["risk"]] + (f": {moved}" if moved else "")


def _amount(concerned: Mapping[str, int | None]) -> str:
    parts = [_count(concerned[noun + "s"] or 0, noun) for noun in ("worker", "disk") if concerned[noun + "s"]]
    size = concerned["bytes"]
    return ", ".join([*parts, f"{size / 2**30:.0f} GiB"] if size else parts)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _value(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."


def _cell(text: str) -> str:
    """One line, and nothing that could end the cell or begin markup."""
    plain = " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")
    return plain.replace("`", "'").replace("<", "&lt;").replace("[", "\\[")
