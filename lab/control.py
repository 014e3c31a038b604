# SPDX-License-Identifier: Apache-2.0
"""The lab's control endpoint on loopback: look at the controllers, change their timings, script trouble.

GET  /state       {"controllers": {"cdi": {"running": 1, "failing": 0, "paused": false}}, "timings": {...}, "rules": {...}}
POST /misbehave   {"controller": "cdi", "rule": {"action": "fail", "match": "cozy-public/.*", "times": 3,
                  "message": "..."}}; actions: see lab.controllers.misbehave
                  {"controller": "cdi", "rule": null} withdraws the controller's rules
                  {"controller": "cdi", "rule": {"action": "pause"}} and "resume"
                  {"controller": "timings", "rule": {"import_seconds": 5}}
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from lab.controllers.misbehave import Rule
from lab.controllers.runtime import Controller, Runtime


class Control:
    """``groups`` maps the names that rules use to the controllers behind them."""

    def __init__(self, runtime: Runtime, groups: Mapping[str, Sequence[Controller]]) -> None:
        self._runtime, self._groups = runtime, groups
        app = web.Application()
        app.router.add_get("/state", self._on_state)
        app.router.add_post("/misbehave", self._on_misbehave)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)

    async def start(self) -> str:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _on_state(self, _: web.Request) -> web.Response:
        states = {name: [one.state() for one in group] for name, group in self._groups.items()}
        summed = {
            name: {
                "running": sum(one["running"] for one in parts),
                "failing": sum(one["failing"] for one in parts),
                "paused": any(one["paused"] for one in parts),
            }
            for name, parts in states.items()
        }
        rules = {
            name: [dataclasses.asdict(rule) for rule in rules]
            for name, rules in self._runtime.rules.by_controller.items()
        }
        timings = dataclasses.asdict(self._runtime.timings)
        return web.json_response({"controllers": summed, "timings": timings, "rules": rules})

    async def _on_misbehave(self, request: web.Request) -> web.Response:
        try:
            given = await request.json()
            self._script(str(given["controller"]), given["rule"])
        except (ValueError, TypeError, KeyError, re.error) as error:
            return web.json_response({"error": f"{type(error).__name__}: {error}"}, status=400)
        return web.json_response({"ok": True})

    def _script(self, name: str, rule: Any) -> None:
        """Errors: ValueError, TypeError, KeyError, re.error."""
        if name == "timings":
            self._runtime.timings.change(rule)
            return
        group = self._groups.get(name)
        if group is None:
            raise ValueError(f"no such controller: {name}; there are {', '.join(sorted(self._groups))}")
        if rule is None:
            self._runtime.rules.clear(name)
            for one in group:
                one.kick()
        elif rule.get("action") in ("pause", "resume"):
            for one in group:
                (one.open.clear if rule["action"] == "pause" else one.open.set)()
        else:
            self._runtime.rules.add(name, Rule.parse(rule))
