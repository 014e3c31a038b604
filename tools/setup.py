# SPDX-License-Identifier: Apache-2.0
"""Prepare a checkout: a virtual environment and the collection on Ansible's path, without copying.

    python3 tools/setup.py [group ...]      groups: lab, test, lint (runtime always)

The newest Python from 3.14 down to 3.11 that can make a virtual environment is used. A stamp of the requirement
files makes the second run instant. Only the standard library is used here: this runs before anything is installed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
CANDIDATES = ("3.14", "3.13", "3.12", "3.11")
OLDEST = (3, 11)


def say(text: str) -> None:
    print(f"setup: {text}", flush=True)


def usable(python: str) -> bool:
    """True if this interpreter runs, is new enough, and has venv and ensurepip."""
    check = f"import sys, venv, ensurepip; sys.exit(sys.version_info[:2] < {OLDEST})"
    try:
        return subprocess.run([python, "-c", check], capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def newest_python() -> str:
    """Path of the newest usable interpreter; ends the program with advice when there is none."""
    candidates = [shutil.which(f"python{version}") for version in CANDIDATES]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in CANDIDATES:
        candidates += [str(path) for path in sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)]
    ordered = [python for python in candidates if python]
    ordered.sort(key=lambda python: next(i for i, version in enumerate(CANDIDATES) if version in python))
    for python in [*ordered, sys.executable]:
        if usable(python):
            return python
    sys.exit(
        "setup: no Python 3.11 or newer with the venv module was found; install one (Debian: python3 python3-venv)"
    )


def link_collection() -> None:
    """Make this checkout importable as ansible_collections.cozystack.worker_image."""
    link = ROOT / ".collections" / "ansible_collections" / "cozystack" / "worker_image"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not (link.is_symlink() and link.resolve() == ROOT):
        link.unlink(missing_ok=True)
        link.symlink_to(ROOT, target_is_directory=True)


def install(groups: list[str]) -> None:
    """Install the requirement files of the groups, unless their stamp says that this was done."""
    files = [ROOT / "requirements" / f"{group}.txt" for group in groups]
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        sys.exit(f"setup: unknown group(s): {', '.join(missing)}")
    stamps = VENV / ".stamps"
    stamps.mkdir(exist_ok=True)
    todo = []
    for file in files:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        stamp = stamps / file.name
        if not (stamp.is_file() and stamp.read_text() == digest):
            todo.append((file, stamp, digest))
    if not todo:
        return
    say("installing " + ", ".join(file.stem for file, _, _ in todo) + " requirements")
    command = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for file, _, _ in todo:
        command += ["-r", str(file)]
    if subprocess.run(command, check=False).returncode:
        sys.exit("setup: pip could not install the requirements (see above); a package index must be reachable")
    for _, stamp, digest in todo:
        stamp.write_text(digest)


def main() -> None:
    python = VENV / "bin" / "python"
    if python.exists() and not usable(str(python)):
        say("the virtual environment's Python is gone; making a new one")
        shutil.rmtree(VENV)
    if not python.exists():
        chosen = newest_python()
        if chosen != sys.executable:
            os.execv(chosen, [chosen, *sys.argv])
        say(f"virtual environment .venv with Python {sys.version.split()[0]}")
        venv.create(VENV, with_pip=True, symlinks=True)
    link_collection()
    install(["runtime", *sys.argv[1:]])


if __name__ == "__main__":
    main()
