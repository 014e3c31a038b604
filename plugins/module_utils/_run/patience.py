# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A long wait in slices: where nobody can see what a module says while it runs, it runs several times, each for a part of the wait.

The action plugin states in the environment how long this run may wait and what the runs before it came to; the run answers under
``KEY`` whether its slice was over before the wait was. Where the variable is missing, a run waits for all of it.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

VARIABLE = "COZYSTACK_WORKER_IMAGE_SLICE"
KEY = "_slice"


def encoded(share: Mapping[str, Any]) -> str:
    """The value of the variable: JSON in base64, so that no template engine and no shell finds anything in it."""
    return base64.b64encode(json.dumps(share).encode()).decode()


@dataclass
class Patience:
    """Seconds: ``slice`` for this run (None: no limit), ``waited`` by the runs before, ``whole`` for all of them (0: not known yet).

    ``since`` tells for each thing that is waited for its state, and for how long it has been in it. ``lines`` are for the action.
    """

    slice: float | None = None
    waited: float = 0.0
    whole: float = 0.0
    since: dict[str, tuple[str, float]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Patience:
        try:
            share = json.loads(base64.b64decode(environ.get(VARIABLE, "") or "bnVsbA=="))
        except (binascii.Error, ValueError):
            share = None
        if not isinstance(share, Mapping):
            return cls()
        since = {str(name): (str(state), float(seconds)) for name, (state, seconds) in share["since"].items()}
        return cls(float(share["slice"]), float(share["waited"]), float(share["whole"]), since)

    def share(self, whole: float) -> float:
        """How many of ``whole`` seconds this run may take."""
        if self.slice is None:
            return whole
        self.whole = whole
        return max(1.0, min(self.slice, whole - self.waited))

    @property
    def more(self) -> bool:
        """Whether another run is to follow when this one was not enough."""
        return self.slice is not None and self.waited + self.slice < self.whole

    @property
    def continued(self) -> bool:
        return self.waited > 0 and self.more

    def spent(self, seconds: float) -> str:
        """All that was waited, when this run waited so long; for a message."""
        return f"{self.waited + seconds:.0f}"

    def report(self, over: bool) -> dict[str, Any]:
        """What is added to the result; nothing where no slice was asked for."""
        if self.slice is None:
            return {}
        return {KEY: {"over": over, "lines": self.lines, "whole": self.whole, "since": self.since}}
