# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An action that runs the module of the same name and shows, while it waits, what changes."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.progress import VARIABLE

_LOOK_SECONDS = 0.5


def follow(path: str, show: Callable[[str], None], end: threading.Event) -> None:
    """Show each whole line that is added to a file, until the event is set; then what is left."""
    with open(path, encoding="utf-8", errors="replace") as file:
        pending = ""
        while True:
            last = end.wait(_LOOK_SECONDS)
            *lines, pending = (pending + file.read()).split("\n")
            for line in lines:
                show(line)
            if last:
                return


class ProgressAction(ActionBase):
    """Progress is seen where the module runs on the controller, as it does with connection local."""

    _supports_async = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        host = (task_vars or {}).get("inventory_hostname", "")
        end = threading.Event()
        handle, path = tempfile.mkstemp(prefix="worker-image-progress-")
        os.close(handle)
        display = Display()
        follower = threading.Thread(
            target=follow, args=(path, lambda line: display.display(f"[{host}] {line}"), end), daemon=True
        )
        environment = list(self._task.environment or [])
        self._task.environment = [*environment, {VARIABLE: path}]
        try:
            follower.start()
            result.update(self._execute_module(task_vars=task_vars, wrap_async=self._task.async_val))
        finally:
            end.set()
            follower.join(timeout=5)
            self._task.environment = environment
            os.unlink(path)
        return result
