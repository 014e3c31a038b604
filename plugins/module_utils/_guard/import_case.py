# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A golden that is to be there, with all that its rules look at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .._image.golden import GOLDEN_NAMESPACE
from .._image.wanted import WantedGolden
from .._storage.golden import GoldenState
from .._storage.objects import Claim, DataVolume
from .state import ClusterState


@dataclass(frozen=True)
class ImportCase:
    """A golden that is to be there. What is None was not read or not looked at: rules that need it are then not judged.

    ``classes`` are the names of the storage classes. ``raw_size`` and ``file_problem`` tell about the file to upload,
    ``proxy_problem`` why it cannot be sent. ``config_map`` and ``secret`` say whether the named objects exist. ``cluster`` holds classes
    and CDI's settings, and no golden of this name, since it is to be made.
    """

    wanted: WantedGolden
    live: GoldenState
    volume: DataVolume | None = None
    claim: Claim | None = None
    making: bool = True
    recreate: bool = False
    classes: tuple[str, ...] | None = None
    default_class: str = ""
    checksum_known: bool | None = None
    config_map: bool | None = None
    secret: bool | None = None
    checksum: str = ""
    raw_size: int | None = None
    file_problem: str = ""
    proxy_problem: str = ""
    cluster: ClusterState | None = None

    @property
    def subject(self) -> str:
        return f"golden image {GOLDEN_NAMESPACE}/{self.wanted.name}"

    @cached_property
    def settings(self) -> dict[str, str]:
        return dict(self.wanted.settings or {})
