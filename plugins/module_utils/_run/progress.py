# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lines about a long wait: one per change of state, now and then while numbers move, never silence for minutes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

# Set by the action plugin, which shows the lines of this file while the module runs on the same machine.
VARIABLE = "COZYSTACK_WORKER_IMAGE_PROGRESS"
MOVING_SECONDS = 15.0
CALM_SECONDS = 1.0
SILENCE_SECONDS = 60.0


class Reporter:
    """``tell(state, text)`` writes a line when the state changed, or the text did a while ago, or nothing was said for long.

    A state that passes within a second of the last line is not worth one; whoever waits tells again soon.
    """

    def __init__(
        self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic, waited: float = 0.0
    ) -> None:
        self._write, self._clock = write, clock
        self._state: str | None = None
        self._text = ""
        self._said = clock()
        self._began = self._said - waited

    def tell(self, state: str, text: str) -> None:
        now = self._clock()
        quiet = now - self._said
        moved = text != self._text and quiet >= MOVING_SECONDS
        if state == self._state and not moved and quiet < SILENCE_SECONDS:
            return
        if self._state is not None and quiet < CALM_SECONDS:
            return
        self._state = state
        self._line(text, now)

    def say(self, text: str) -> None:
        """Something that happens once, such as a broken connection: always a line."""
        self._line(text, self._clock())

    def _line(self, text: str, now: float) -> None:
        self._text, self._said = text, now
        self._write(f"{now - self._began:4.0f} s  {text}")


def file_writer(environ: Mapping[str, str]) -> Callable[[str], None]:
    """A writer to the file that the environment names; one that does nothing when it names none or it is gone."""
    path = environ.get(VARIABLE, "")

    def write(line: str) -> None:
        # The file belongs to the action plugin: it is never created here. Nothing fails because nobody can read of it.
        if path and os.path.exists(path):
            with suppress(OSError), open(path, "a", encoding="utf-8") as file:
                file.write(line.replace("\n", " ") + "\n")

    return write
