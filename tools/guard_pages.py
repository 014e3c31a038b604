# SPDX-License-Identifier: Apache-2.0
"""Write a page for each guard id under docs/guards/ from the guard table, or check that they are current.

python tools/guard_pages.py [--check]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / ".collections"))

from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.rule import Rule
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.table import (
    CATALOG_RULES,
    IMPORT_RULES,
    POOL_RULES,
    RETIRE_RULES,
    TOLD,
)

FOLDER = ROOT / "docs" / "guards"
LICENCE = "<!-- SPDX-License-Identifier: Apache-2.0 -->\n<!-- Made by tools/guard_pages.py from the guard table; do not edit. -->\n"


def strength(rules: list[Rule]) -> str:
    refuses, chart = any(rule.refuses for rule in rules), any(rule.chart for rule in rules)
    if refuses and chart:
        return "Refuses. The platform's chart refuses it too, later and one at a time."
    if refuses:
        return "Refuses. The platform would let it pass, and it would not work."
    return "Advises. `refuse_on: [{id}]` makes it refuse.".replace("{id}", rules[0].id)


def page(rules: list[Rule]) -> str:
    """The page of one id; an id may stand for several rules (a catalog's and a pool's format, for instance)."""
    sections = [f"{LICENCE}\n# `{rules[0].id}`\n\n{strength(rules)}\n"]
    for rule in rules:
        subject = f" ({subject_of(rule)})" if len(rules) > 1 else ""
        sections.append(
            f"## Cause{subject}\n\n{prose(rule.cause)}\n\nExample:\n\n```text\n{rule.example}\n```\n\n"
            f"### What to do\n\n{prose(rule.remedy)}\n"
        )
    return "\n".join(sections)


def prose(text: str) -> str:
    """Plain text as Markdown: a pattern such as [a-z](b) must not become a link."""
    return text.replace("[", "\\[").replace("*", "\\*")


def subject_of(rule: Rule) -> str:
    if rule in POOL_RULES:
        return "pools"
    if rule in IMPORT_RULES or rule in RETIRE_RULES:
        return "one golden"
    return "catalog" if rule in CATALOG_RULES else "site"


def index(by_id: dict[str, list[Rule]]) -> str:
    lines = [LICENCE, "# Guards", ""]
    lines += [
        "Every refusal and advice of this collection by its id. Ids are stable. `accept: [ID]` lets a refusal pass and says so.",
        "",
    ]
    for title, subject in (
        ("Pools", "pools"),
        ("Catalog", "catalog"),
        ("One golden", "one golden"),
        ("Platform and plans", "site"),
    ):
        lines += [f"## {title}", "", "| id | strength | cause |", "|---|---|---|"]
        for rule_id, rules in by_id.items():
            if any(subject_of(rule) == subject for rule in rules):
                mine = next(rule for rule in rules if subject_of(rule) == subject)
                cause = prose(mine.cause).replace("|", "\\|")
                lines.append(f"| [`{rule_id}`]({rule_id}.md) | {'refuses' if mine.refuses else 'advises'} | {cause} |")
        lines.append("")
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """File name -> content of every page."""
    ordered = sorted((*POOL_RULES, *CATALOG_RULES, *IMPORT_RULES, *RETIRE_RULES, *TOLD), key=lambda rule: rule.id)
    by_id = {rule_id: unique(rules) for rule_id, rules in groupby(ordered, key=lambda rule: rule.id)}
    return {"README.md": index(by_id), **{f"{rule_id}.md": page(rules) for rule_id, rules in by_id.items()}}


def unique(rules: Iterator[Rule]) -> list[Rule]:
    found: list[Rule] = []
    for rule in rules:
        if (rule.cause, rule.remedy) not in [(other.cause, other.remedy) for other in found]:
            found.append(rule)
    return found


def stale(wanted: dict[str, str]) -> list[str]:
    """Names of pages that are missing, different, or left over."""
    here = {path.name: path.read_text() for path in FOLDER.glob("*.md")} if FOLDER.is_dir() else {}
    return sorted(name for name in wanted.keys() | here.keys() if wanted.get(name) != here.get(name))


def main() -> None:
    wanted = pages()
    changed = stale(wanted)
    if "--check" in sys.argv[1:]:
        if changed:
            sys.exit(f"guard_pages: not current: {', '.join(changed)}; run python tools/guard_pages.py")
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in changed:
        if name in wanted:
            (FOLDER / name).write_text(wanted[name])
        else:
            (FOLDER / name).unlink()
    print(f"guard_pages: {len(wanted)} pages, {len(changed)} changed")


if __name__ == "__main__":
    main()
