# SPDX-License-Identifier: Apache-2.0
"""Write docs/troubles.md, what CDI's messages mean, from the table in the code, or check that it is current.

python tools/trouble_page.py [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / ".collections"))

from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.troubles import ALL_TROUBLES, Trouble

PAGE = ROOT / "docs" / "troubles.md"
HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Made by tools/trouble_page.py from the table of CDI's messages; do not edit. -->

# What CDI's messages mean

An import that fails never ends by itself: CDI tries again for ever, and the platform shows it as "in progress". This collection reads
conditions, pods, claims and events of a golden, finds the message in this table, and reports `trouble` (the id), `cause` and `remedy`.
A message that the table does not know is quoted as it is.

| id | cause | what to do | CDI goes on by itself | known from |
|---|---|---|---|---|
"""


def row(trouble: Trouble) -> str:
    since = f", since CDI {trouble.since}" if trouble.since else ""
    cells = [f"`{trouble.id}`", trouble.cause, trouble.remedy, "yes" if trouble.heals else "no", trouble.origin + since]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def page() -> str:
    return HEAD + "\n".join(row(trouble) for trouble in sorted(ALL_TROUBLES, key=lambda one: one.id)) + "\n"


def main() -> None:
    wanted = page()
    if "--check" in sys.argv[1:]:
        if not PAGE.is_file() or PAGE.read_text() != wanted:
            sys.exit("trouble_page: docs/troubles.md is not current; run python tools/trouble_page.py")
        return
    PAGE.write_text(wanted)
    print(f"trouble_page: {len(ALL_TROUBLES)} rows")


if __name__ == "__main__":
    main()
