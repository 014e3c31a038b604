# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan for people: as text for a terminal, as Markdown for a ticket."""

from __future__ import annotations

from collections.abc import Iterator

from .changes import Change
from .plan import Concerned, Plan, Step

_VERBS = {"create": "create", "patch": "change", "delete": "delete", "upload": "upload"}
_RISKS = {
    "none": "no worker is touched",
    "unknown": "whether workers are replaced cannot be told",
    "rolls": "replaces workers",
    "deletes": "deletes",
}
_WIDTH = 100


def totals(plan: Plan) -> dict[str, int]:
    """Numbers over all steps: ``steps``, ``rolling`` and ``deleting`` ones, and the workers, disks and bytes they concern."""
    concerned = [step.concerned for step in plan.steps if step.concerned is not None]
    return {
        "steps": len(plan.steps),
        "rolling": sum(step.risk == "rolls" for step in plan.steps),
        "unknown": sum(step.risk == "unknown" for step in plan.steps),
        "deleting": sum(step.risk == "deletes" for step in plan.steps),
        "workers": sum(one.workers or 0 for one in concerned),
        "disks": sum(one.disks or 0 for one in concerned),
        "bytes": sum(one.bytes or 0 for one in concerned),
    }


def headline(plan: Plan) -> str:
    """ "3 steps; 2 replace workers (14 workers, 14 disks, 280 GiB)"."""
    if not plan.steps:
        return "Nothing to do"
    found = totals(plan)
    parts = [_count(found["steps"], "step")]
    if found["rolling"]:
        parts.append(f"{found['rolling']} {'replaces' if found['rolling'] == 1 else 'replace'} workers")
    if found["unknown"]:
        parts.append(f"{found['unknown']} of unknown effect on workers")
    if found["deleting"]:
        parts.append(f"{found['deleting']} {'deletes' if found['deleting'] == 1 else 'delete'}")
    moved = _amount(Concerned(found["workers"], found["disks"], found["bytes"]))
    return "; ".join(parts) + (f" ({moved})" if moved else "")


def as_text(plan: Plan) -> list[str]:
    """Lines; the hash last, since it is what gets approved."""
    lines = [headline(plan)]
    for number, step in enumerate(plan.steps, 1):
        lines.append(f"{number:3}. {_VERBS[step.action]} {step.subject}: {step.reason}")
        lines += [f"       {line}" for line in _details(step)]
    return [*lines, f"Plan {plan.hash}"]


def as_markdown(plan: Plan) -> str:
    """A table with one row a step, and the hash."""
    lines = [f"**{headline(plan)}**", ""]
    if plan.steps:
        lines += ["| # | step | object | why | workers | effect |", "|---|---|---|---|---|---|"]
    for number, step in enumerate(plan.steps, 1):
        why = "; ".join([step.reason, *step.roll_reasons])
        cells = [str(number), _VERBS[step.action], step.subject, why, _risk(step), step.effect]
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return "\n".join([*lines, "", f"Plan `{plan.hash}`"])


def _details(step: Step) -> Iterator[str]:
    for change in step.changes:
        yield _change(change)
    if step.risk != "none" or step.kind == "KubernetesNodes":
        yield _risk(step)
    for reason in step.roll_reasons:
        yield f"because {reason}" if step.rolls_workers else reason
    if step.effect:
        yield step.effect


def _risk(step: Step) -> str:
    moved = _amount(step.concerned) if step.concerned is not None and step.risk != "none" else ""
    return _RISKS[step.risk] + (f": {moved}" if moved else "")


def _amount(concerned: Concerned) -> str:
    parts = []
    if concerned.workers:
        parts.append(_count(concerned.workers, "worker"))
    if concerned.disks:
        parts.append(_count(concerned.disks, "disk"))
    if concerned.bytes:
        parts.append(f"{concerned.bytes / 2**30:.0f} GiB")
    return ", ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _change(change: Change) -> str:
    shown = change.as_dict()
    before, after = (_value(shown[key]) if key in shown else "absent" for key in ("before", "after"))
    return f"{shown['field']}: {before} -> {after}"


def _value(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."


def _cell(text: str) -> str:
    """One line, and nothing that could end the cell or begin markup."""
    plain = " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")
    return plain.replace("`", "'").replace("<", "&lt;").replace("[", "\\[")
