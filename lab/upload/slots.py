# SPDX-License-Identifier: Apache-2.0
"""Where the proxy and the walk of an upload meet: one slot per upload pod that is ready."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(eq=False)
class Slot:
    """A pod that waits for bytes. ``path`` is where the disk's raw image shall be, ``room`` its size in bytes.

    ``outcome`` is None when the image is there, otherwise why this pod has to start again; cancelled with the disk.
    """

    path: Path
    room: int
    outcome: asyncio.Future[str | None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    busy: bool = False

    def end(self, trouble: str | None) -> None:
        if not self.outcome.done():
            self.outcome.set_result(trouble)
