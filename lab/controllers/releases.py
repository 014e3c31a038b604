# SPDX-License-Identifier: Apache-2.0
"""The release controller: a HelmRelease is rendered and applied when its values or chart change, or when forced.

A healthy release is never rendered again by itself: what its chart would refuse today shows at the next edit only.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, ClassVar

from lab.api import Api, ApiError, Key, Object, key_of
from lab.chart import Refused
from lab.controllers.apply import Applier, Identity
from lab.controllers.charts import VALUES_SECRET, inherited_values, render
from lab.controllers.objects import annotations, condition, conditions, deleting, digest, status
from lab.controllers.runtime import Controller, Runtime

FINALIZER = "finalizers.fluxcd.io"
FORCE, REQUESTED = "reconcile.fluxcd.io/forceAt", "reconcile.fluxcd.io/requestedAt"
REVISION = "0.1.0"
# The other watches shall have told what preceded the edit of the release.
_SETTLE = 0.05


class Failure(Exception):
    """Why an attempt failed, as helm-controller words it after "Helm install failed: "."""


def configuration(runtime: Runtime, release: Object) -> str:
    """A digest of everything that makes a healthy release render again."""
    return digest_of(release, inherited_values(runtime, release))


def digest_of(release: Object, inherited: Object) -> str:
    """The same with what the release inherits."""
    spec = release["spec"]
    return digest([spec.get("values"), spec.get("chartRef"), spec.get("chart"), inherited])


def force_request(release: Object) -> str | None:
    """The value of both annotations when they agree and were not handled before."""
    marks = annotations(release)
    force = marks.get(FORCE)
    new = force and force == marks.get(REQUESTED) and force != status(release).get("lastHandledForceAt")
    return force if new else None


class Releases(Controller):
    """Keys are HelmReleases."""

    name = "releases"
    kind = "HelmRelease"
    limit: ClassVar[int] = 16

    def __init__(self, runtime: Runtime, api: Api) -> None:
        super().__init__(runtime, api)
        self._applier = Applier(self.write)
        self._attempts: dict[Key, float] = {}

    def setup(self) -> None:
        self.runtime.cache("HelmRelease").listeners.append(self._changed)
        self.watch("Secret", self._readers_of_values)

    def _changed(self, event: str, key: Key, release: Object) -> None:
        if event == "DELETED":
            self._attempts.pop(key, None)
        elif deleting(release) or self._why(release):
            self.enqueue(key, _SETTLE)

    def _readers_of_values(self, _: str, secret: Object) -> list[Key]:
        if secret["metadata"]["name"] != VALUES_SECRET:
            return []
        return [key_of(one) for one in self.runtime.cache("HelmRelease").in_namespace(secret["metadata"]["namespace"])]

    def _why(self, release: Object) -> str | None:
        """Why there is something to do: changed, forced, retry, or bookkeeping."""
        known = status(release)
        if release["spec"].get("suspend"):
            return None
        if force_request(release):
            return "forced"
        if known.get("lastAttemptedConfigDigest") != configuration(self.runtime, release):
            return "changed"
        if condition(release, "Ready").get("status") != "True":
            return "retry"
        handled = annotations(release).get(REQUESTED, known.get("lastHandledReconcileAt"))
        current = (release["metadata"]["generation"], handled)
        return (
            "bookkeeping" if (known.get("observedGeneration"), known.get("lastHandledReconcileAt")) != current else None
        )

    async def reconcile(self, key: Key) -> float | None:
        release = self.runtime.cache("HelmRelease").get(*key)
        if release is None:
            return None
        if deleting(release):
            await self._uninstall(key, release)
            return None
        why = self._why(release)
        if why is None:
            return None
        if why == "retry" and (left := self._attempts.get(key, 0) + self.timings.release_retry - time.monotonic()) > 0:
            return left
        await self.write.finalizer(release, FINALIZER, True)
        if why == "bookkeeping":
            await self._report(key, release, {})
            return None
        await self._attempt(key, release)
        return self.timings.release_retry if key in self._attempts else None

    async def _attempt(self, key: Key, release: Object) -> None:
        old = self._applier.manifests.load(key)
        action = "install" if old is None else "upgrade"
        done: dict[str, Any] = {
            "lastAttemptedConfigDigest": configuration(self.runtime, release),
            "lastAttemptedGeneration": release["metadata"]["generation"],
            "lastAttemptedRevision": REVISION,
            "lastAttemptedReleaseAction": action,
        }
        if force := force_request(release):
            done["lastHandledForceAt"] = force
        try:
            await self._perform(key, release, action, old)
        except (Refused, Failure) as trouble:
            self._attempts[key] = time.monotonic()
            text = f"execution error: {trouble.text}" if isinstance(trouble, Refused) else str(trouble)
            verdict = ("False", f"{action.capitalize()}Failed", f"Helm {action} failed: {text}")
            count = int(status(release).get("failures") or 0) + 1
            await self._report(key, release, done | {"failures": count}, verdict)
            return
        self._attempts.pop(key, None)
        await self._report(key, release, done | self._history(release), self._verdict(action))

    @staticmethod
    def _verdict(action: str) -> tuple[str, str, str]:
        return "True", f"{action.capitalize()}Succeeded", f"Helm {action} succeeded"

    @staticmethod
    def _history(release: Object) -> dict[str, Any]:
        known = status(release).get("history") or [{}]
        meta, version = release["metadata"], int(known[0].get("version", 0)) + 1
        entry = {"name": meta["name"], "namespace": meta["namespace"], "version": version, "status": "deployed"}
        return {"failures": None, "history": [entry | {"chartVersion": REVISION}]}

    async def _perform(self, key: Key, release: Object, action: str, old: dict[Identity, Object] | None) -> None:
        """Errors: Refused, Failure."""
        if rule := self.runtime.rules.take(self.name, "fail", key):
            raise Failure(rule.message)
        if self.runtime.rules.take(self.name, "hang", key):
            await asyncio.Event().wait()
        rendered = render(self.runtime, release)
        try:
            applied = await self._applier.apply(release, rendered, old)
        except ApiError as error:
            message = error.body.get("message") if isinstance(error.body, dict) else error.body
            raise Failure(str(message)) from error
        # A real release waits for whatever kstatus can judge; here only disks take long.
        slow = [obj for obj in applied if obj["kind"] == "DataVolume"]
        if slow and not release["spec"].get(action, {}).get("disableWait"):
            await self._wait(key, release, action, slow)

    async def _wait(self, key: Key, release: Object, action: str, disks: list[Object]) -> None:
        """Errors: Failure when they are not ready in time."""
        if all(self._ready(self.runtime.cache("DataVolume").get(*key_of(disk))) for disk in disks):
            return
        timeout = release["spec"].get(action, {}).get("timeout", "5m0s")
        running = ("Unknown", "Progressing", f"Running '{action}' action with timeout of {timeout}")
        await self._report(key, release, {}, running)
        try:
            async with asyncio.timeout(self.timings.release_wait):
                for disk in disks:
                    await self.runtime.until("DataVolume", key_of(disk), self._ready)
        except TimeoutError:
            late = [disk for disk in disks if not self._ready(self.runtime.cache("DataVolume").get(*key_of(disk)))]
            names = ", ".join(f"DataVolume/{'/'.join(key_of(disk))} status: 'InProgress'" for disk in late)
            raise Failure(f"timeout waiting for: [{names}]") from None

    @staticmethod
    def _ready(disk: Object | None) -> bool:
        return disk is not None and condition(disk, "Ready").get("status") == "True"

    async def _report(
        self, key: Key, release: Object, values: dict[str, Any], verdict: tuple[str, str, str] | None = None
    ) -> None:
        """``observedGeneration`` is that of the release as it was rendered, not of what was edited meanwhile."""
        handled = annotations(release).get(REQUESTED)
        values = {"observedGeneration": release["metadata"]["generation"]} | values
        if handled:
            values["lastHandledReconcileAt"] = handled
        if verdict:
            wanted = [("Ready", *verdict)]
            if verdict[0] == "Unknown":
                wanted.append(("Reconciling", "True", "Progressing", verdict[2]))
            else:
                wanted.append(("Released", *verdict))
            live = self.runtime.cache("HelmRelease").get(*key) or release
            updated = conditions(live, *wanted, observedGeneration=release["metadata"]["generation"])
            kept = [one for one in updated if one["type"] != "Reconciling" or verdict[0] == "Unknown"]
            values["conditions"] = kept
        await self.write.status("HelmRelease", key, values)

    async def _uninstall(self, key: Key, release: Object) -> None:
        """A suspended release goes without its objects being touched."""
        if not release["spec"].get("suspend"):
            old = self._applier.manifests.load(key)
            await self._applier.remove(list((old or {}).values()))
        self._applier.manifests.remove(key)
        await self.write.finalizer(release, FINALIZER, False)
