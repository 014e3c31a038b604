# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An action that runs the module of the same name and shows, while it waits, what changes."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.cozystack.worker_image.plugins.module_utils._run import patience
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.progress import VARIABLE
from ansible_collections.cozystack.worker_image.plugins.plugin_utils._slices import in_slices

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
    """On the controller the module's lines are followed while it runs; elsewhere it runs in slices, and tells them at the end of each.

    A task with ``async`` runs in one piece and in silence: nobody is there to be shown anything.
    """

    _supports_async = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        host = (task_vars or {}).get("inventory_hostname", "")
        display = Display()

        def show(line: str) -> None:
            display.display(f"[{host}] {line}")

        if self._is_here():
            result.update(self._followed(task_vars, show))
        elif self._task.async_val:
            result.update(self._execute_module(task_vars=task_vars, wrap_async=self._task.async_val))
        else:

            def once(args: Mapping[str, Any], share: Mapping[str, Any]) -> dict[str, Any]:
                with self._environment({patience.VARIABLE: patience.encoded(share)}):
                    found: dict[str, Any] = self._execute_module(module_args=dict(args), task_vars=task_vars)
                    return found

            result.update(in_slices(self._task.args, once, show))
        return result

    def _is_here(self) -> bool:
        """Whether the module runs on this machine and as this user, so that it can write to a file of ours."""
        here: bool = self._connection.transport == "local" and self._connection.become is None
        return here

    def _followed(self, task_vars: dict[str, Any] | None, show: Callable[[str], None]) -> dict[str, Any]:
        end = threading.Event()
        handle, path = tempfile.mkstemp(prefix="worker-image-progress-")
        os.close(handle)
        follower = threading.Thread(target=follow, args=(path, show, end), daemon=True)
        try:
            follower.start()
            with self._environment({VARIABLE: path}):
                found: dict[str, Any] = self._execute_module(task_vars=task_vars, wrap_async=self._task.async_val)
                return found
        finally:
            end.set()
            follower.join(timeout=5)
            os.unlink(path)

    @contextmanager
    def _environment(self, more: Mapping[str, str]) -> Iterator[None]:
        before = list(self._task.environment or [])
        self._task.environment = [*before, dict(more)]
        try:
            yield
        finally:
            self._task.environment = before
