# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.conformance``: every recorded case through the product's own code; exits 1 on any disagreement."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = ROOT / ".collections" / "ansible_collections" / "cozystack" / "worker_image"


def main(argv: list[str] | None = None) -> int:
    """Run the cases; print each disagreement and, alone on the last line, the counts."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--pools", type=Path, help="pool cases (default: the recorded ones in the tree)")
    parser.add_argument("--catalogs", type=Path, help="catalog cases (default: the recorded ones in the tree)")
    options = parser.parse_args(argv)
    if not LINK.exists():
        print(f"{LINK} is missing: it is a link to this checkout, made by `python3 tools/setup.py`", file=sys.stderr)
        return 2
    sys.path.insert(0, str(ROOT / ".collections"))
    from . import cases

    passed = failed = 0
    for path, check in (
        (options.pools or cases.POOLS, cases.check_pool),
        (options.catalogs or cases.CATALOGS, cases.check_catalog),
    ):
        try:
            loaded = cases.load(path)
        except (OSError, ValueError, TypeError) as error:
            print(f"{path} cannot be read as cases: {error}", file=sys.stderr)
            return 2
        for case in loaded:
            try:
                problems = check(case)
            except Exception as error:
                problems = [f"crashed with {error!r}"]
            for problem in problems:
                print(f"{case['id']}: {problem}")
            failed += bool(problems)
            passed += not problems
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
