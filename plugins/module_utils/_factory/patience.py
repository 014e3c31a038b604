# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How often and how long one question is asked again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .facts import Answer, NoAnswer
from .verdict import transient

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
# What a question gets even when the time is up, so that the last answer is one of the server.
LEAST_SECONDS = 5.0


@dataclass
class Budget:
    """Seconds for everything that is asked about one thing. Clock, sleep and dice are injected."""

    seconds: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    dice: Callable[[float, float], float] = random.uniform
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    @property
    def spent(self) -> float:
        return self.clock() - self.began

    @property
    def left(self) -> float:
        return self.seconds - self.spent


def persistently(
    attempt: Callable[[float], Answer],
    budget: Budget,
    note: Callable[[str], None],
    again: Callable[[Answer | NoAnswer], bool] = transient,
) -> Answer | NoAnswer:
    """The last of the answers: asked again, with growing pauses of random length, while ``again`` says so and time is left.

    ``attempt`` is given the seconds it may take; ``note`` hears why it is asked again.
    """
    pause = FIRST_PAUSE
    while True:
        try:
            answer: Answer | NoAnswer = attempt(max(budget.left, LEAST_SECONDS))
        except NoAnswer as error:
            answer = error
        if not again(answer):
            return answer
        wait = max(budget.dice(pause / 2, pause), _asked_for(answer))
        if wait >= budget.left:
            return answer
        note(f"status {answer.status}, asking again" if isinstance(answer, Answer) else f"{answer.text}, asking again")
        budget.sleep(wait)
        pause = min(pause * 2, LONGEST_PAUSE)


def _asked_for(answer: Answer | NoAnswer) -> float:
    """Seconds of a Retry-After header."""
    written = answer.headers.get("retry-after", "") if isinstance(answer, Answer) else ""
    return float(written) if written.isdecimal() else 0.0
