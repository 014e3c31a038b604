# SPDX-License-Identifier: Apache-2.0
"""Run every static check, each once, and say at the end which ones failed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"
COLLECTION = ROOT / ".collections" / "ansible_collections" / "cozystack" / "worker_image"

CHECKS: dict[str, list[str]] = {
    "ruff check": ["ruff", "check", "."],
    "ruff format": ["ruff", "format", "--check", "."],
    "mypy": ["mypy", "-p", "ansible_collections.cozystack.worker_image.plugins.module_utils"],
    "yamllint": ["yamllint", "--strict", "."],
    "ansible-lint": ["ansible-lint", "--offline", "--profile", "production"],
    "antsibull-docs": ["antsibull-docs", "lint-collection-docs", "--plugin-docs", "."],
}


def main() -> None:
    wanted = sys.argv[1:] or list(CHECKS)
    unknown = [name for name in wanted if name not in CHECKS]
    if unknown:
        sys.exit(f"lint: unknown check {unknown[0]!r}; there are {', '.join(CHECKS)}")
    environment = {
        **os.environ,
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
    }
    failed = []
    for name in wanted:
        print(f"lint: {name}", flush=True)
        folder = COLLECTION if name == "antsibull-docs" else ROOT
        if subprocess.run(
            [str(BIN / CHECKS[name][0]), *CHECKS[name][1:]], cwd=folder, env=environment, check=False
        ).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"lint: failed: {', '.join(failed)}")
    print(f"lint: {len(wanted)} checks passed")


if __name__ == "__main__":
    main()
