# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ways a run ends without success. One place (entry.py) turns them into fail_json."""

from __future__ import annotations

from typing import Any

from .._guard.findings import Verdict


class Failure(Exception):
    """``result`` is returned beside the message."""

    def __init__(self, text: str, /, **result: Any) -> None:
        self.result = result
        super().__init__(text)


class OptionFailure(Failure):
    """An option cannot be used; the text names the option and the value."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}", field=field)


class Refusal(Failure):
    """Guards refuse; nothing has been written. All messages are in the text."""

    def __init__(self, verdict: Verdict, **result: Any) -> None:
        count = len(verdict.refusals)
        text = f"Refused, nothing was written ({count} {'reason' if count == 1 else 'reasons'}):"
        super().__init__(f"{text}\n{verdict.refusal_text()}", **result)


class WaitFailure(Failure):
    """What was written stays; what was waited for did not come, or cannot come."""
