# SPDX-License-Identifier: Apache-2.0
"""Finds or builds etcd and kube-apiserver."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

ETCD_VERSION = "3.6.13"
KUBERNETES_VERSION = "1.34.3"
NAMES = ("etcd", "kube-apiserver")

Say = Callable[[str], None]


class BinariesError(Exception):
    """The binaries are not there and cannot be made; the message names the ways out."""


def cache_folder() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "cozystack-worker-image-lab" / f"{ETCD_VERSION}-{KUBERNETES_VERSION}"


def _complete(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) and (folder / name).is_file() for name in NAMES)


def find() -> Path | None:
    """The folder that holds both, or None. Errors: BinariesError when KUBEBUILDER_ASSETS is set but incomplete."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets:
        if not _complete(Path(assets)):
            missing = [name for name in NAMES if not os.access(Path(assets) / name, os.X_OK)]
            raise BinariesError(f"KUBEBUILDER_ASSETS is {assets}, but no executable {' and '.join(missing)} is there")
        return Path(assets)
    return cache_folder() if _complete(cache_folder()) else None


def ensure(say: Say) -> Path:
    """The folder with both binaries, built if need be. Errors: BinariesError."""
    folder = find()
    if folder is None:
        raise BinariesError("no binaries")
    return folder
