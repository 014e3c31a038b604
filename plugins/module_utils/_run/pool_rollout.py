# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Executes the plan of pools: at once or in batches. Nothing is kept between runs, so a run that was killed goes on with the next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from .._plan.approval import Approved, departures
from .._plan.batches import Key, Limits, next_batch
from .._plan.pools import pool_step
from .entry import Session
from .failures import Failure, Refusal
from .pool_plan import Prepared, key_of
from .pool_progress import PoolProgress
from .pool_wait import PoolWait, Waited, failure_of
from .pool_write import Written, write_pools
from .site_state import read_pools

_ATTEMPTS = 4


class Rollout:
    """One run. ``look`` reads and judges anew; ``first`` is its first answer, which has been approved."""

    def __init__(
        self,
        session: Session,
        first: Prepared,
        look: Callable[[], Prepared],
        limits: Limits,
        sleep: Callable[[float], None],
    ) -> None:
        self.session, self.first, self.limits, self.sleep = session, first, limits, sleep
        self._look = look
        self.now = first
        self.done: list[str] = []
        self.unhealthy: dict[str, str] = {}
        self.batches: list[list[str]] = []
        self.seen: dict[Key, PoolProgress] = {}
        params = session.params
        self.what, self.seconds = params["wait"], float(params["wait_timeout"])
        self.parallel, self.tolerated = params["parallel"], params["max_failures"]

    def run(self) -> dict[str, Any]:
        """The module's result. Errors: Failure and its kinds, KubeError."""
        if self.limits.batched:
            self._in_batches()
        else:
            self._bring(list(self.first.steps), [key_of(pool) for pool in self.first.pools], self.tolerated, "")
        if self.unhealthy:
            raise self._failure(
                f"{len(self.unhealthy)} pools are in trouble (max_failures {self.tolerated}); the others are done: "
                + "; ".join(f"{subject}: {said}" for subject, said in self.unhealthy.items())
            )
        return self._result()

    # -- batches

    def _in_batches(self) -> None:
        while True:
            self._settle()
            batch = self._next()
            if not batch:
                return
            if self.batches and self.session.params["pause"]:
                self.session.reporter.say(f"pausing for {self.session.params['pause']:g} s before the next batch")
                self.sleep(self.session.params["pause"])
                self._again()
                self._settle()
                batch = self._next()
                if not batch:
                    return
            subjects = ["/".join(key) for key in batch]
            self.batches.append(subjects)
            self.session.reporter.say(f"batch {len(self.batches)}: {', '.join(subjects)}")
            canary = bool(set(batch) & set(self.limits.canaries))
            self._bring(batch, batch, 0 if canary else self.tolerated, f"batch {len(self.batches)}: ")
            self._again()

    def _settle(self) -> None:
        """Wait for pools that are as declared and whose workers are still being replaced, by a run that was interrupted for instance."""
        left = [key for key in self._unfinished() if key not in self.now.steps]
        if left:
            self.session.reporter.say(f"waiting for {', '.join('/'.join(key) for key in left)} from an earlier change")
            self._wait(left, self.tolerated, "earlier change: ")
            self._again()

    def _unfinished(self) -> list[Key]:
        """Pools that exist, are not frozen, not known to be in trouble, and not complete."""
        return [
            key_of(one.pool)
            for one in self.now.progress
            if not one.complete
            and key_of(one.pool) in self.now.site.live
            and key_of(one.pool) not in self.now.held
            and one.pool.subject not in self.unhealthy
        ]

    def _next(self) -> tuple[Key, ...]:
        waiting = list(self.now.steps)
        rolls = {key: step.rolls_workers for key, step in self.now.steps.items()}
        return next_batch(waiting, rolls, self._unfinished(), self.limits)

    def _again(self) -> None:
        """Read and judge anew: what was in order an hour ago may be refused by now."""
        try:
            self.now = self._look()
        except Refusal as refusal:
            if not self.done:
                raise
            text = str(refusal).replace("nothing was written", "no further pool was written")
            raise Failure(text + self._so_far(), **{**refusal.result, **self._state()}) from refusal
        self._approved()

    def _approved(self) -> None:
        """With an approved plan, what is left has to be a part of it. Errors: Failure."""
        if not self.session.params["expected_plan"]:
            return
        moved = departures(Approved.of(self.first.plan.as_dict()), self.now.plan.as_dict())
        if moved:
            lines = "\n".join(moved)
            raise self._failure(
                f"Stopped: the rest of the plan is no longer the approved one.\n{lines}\n{self._so_far()}", moved=moved
            )

    # -- writing

    def _bring(self, steps: Sequence[Key], waited_for: Sequence[Key], tolerated: int, before: str) -> None:
        """Write these steps, wait for these pools, and see that nobody has overwritten what was written.

        The platform merges a patch into what it read a moment before: of two writers at once, the later one can undo the other.
        """
        left = list(steps)
        for _ in range(_ATTEMPTS):
            self._write(left)
            self._wait(waited_for, tolerated, before)
            left = self._undone(left)
            if not left:
                return
            self.session.reporter.say(
                f"somebody else has changed {', '.join('/'.join(key) for key in left)} meanwhile; once more"
            )
            self._again()
        raise self._failure(
            f"Somebody else keeps changing {', '.join('/'.join(key) for key in left)}: what was written {_ATTEMPTS} times was not kept. "
            "Find the other writer (another job, GitOps), then run again."
        )

    def _undone(self, keys: Sequence[Key]) -> list[Key]:
        """Those of these pools, all of them just written, that no longer show what was written."""
        written = [key for key in keys if "/".join(key) in self.done]
        if not written:
            return []
        names = {namespace for namespace, _ in written}
        live = read_pools(self.session.client, sorted(names))
        return [key for key in written if key not in live or pool_step(self.now.declared[key], live[key]) is not None]

    def _write(self, keys: Collection[Key]) -> None:
        """Write these steps; what meets a conflict is looked at and judged anew. Errors: Failure, naming what was written."""
        left = [key for key in self.now.steps if key in keys]
        for attempt in range(_ATTEMPTS):
            if not left:
                return
            work = [(self.now.steps[key], self.now.declared[key]) for key in left]
            written = write_pools(self.session.client, work, self.parallel)
            self.done += [subject for subject in written.done if subject not in self.done]
            self._raise_if_failed(written)
            if written.conflicts and attempt == _ATTEMPTS - 1:
                error = next(iter(written.conflicts.values()))
                raise self._failure(f"{error}; tried {_ATTEMPTS} times{self._so_far()}", **error.as_dict()) from error
            if written.conflicts:
                self._again()
            left = [key for key in self.now.steps if "/".join(key) in written.conflicts]

    def _raise_if_failed(self, written: Written) -> None:
        for error in written.errors.values():
            raise self._failure(f"{error}{self._so_far()}", **error.as_dict()) from error
        for subject, fields in written.lost.items():
            raise self._failure(
                f"{subject}: the platform dropped {', '.join(fields)}; it does not know these fields{self._so_far()}"
            )

    # -- waiting

    def _wait(self, keys: Collection[Key], tolerated: int, before: str = "") -> None:
        """Errors: WaitFailure when more pools are in trouble than may be."""
        wanted = set(keys) - set(self.now.held)
        here = [one for one in self.now.progress if key_of(one.pool) in wanted]
        if self.what == "none" or not here:
            return
        if not self.done and all(one.complete if self.what == "workers" else one.released for one in here):
            # As read already: a run without anything to do asks no more.
            return
        allowed = max(0, tolerated - len(self.unhealthy))
        wait = PoolWait(self.session, [one.pool for one in here], self.what, self.now.site.whole)
        waited = wait.run(self.seconds, allowed, before)
        self.seen.update({key_of(one.pool): one for one in waited.found})
        self.unhealthy.update(waited.unhealthy)
        if len(waited.unhealthy) > allowed:
            raise self._stopped(waited)

    def _stopped(self, waited: Waited) -> Failure:
        written = set(self.done)
        left = [key for key, step in self.now.steps.items() if "/".join(key) not in written]
        state = self._state(waited.found)
        failure = failure_of(waited, self.seconds, **state)
        if not self.limits.batched:
            return failure
        rest = (
            f" {len(left)} pools were not touched any more; run again to go on, or leave out what hinders (frozen)."
            if left
            else ""
        )
        return type(failure)(f"{failure}.{rest}", **failure.result)

    # -- results

    def _result(self) -> dict[str, Any]:
        result = self.first.outcome(progress=[self.seen.get(key_of(one.pool), one) for one in self.first.progress])
        return {**result, "changed": bool(self.done), "written": self.done, "batches": self.batches}

    def _state(self, found: Sequence[PoolProgress] = ()) -> Mapping[str, Any]:
        self.seen.update({key_of(one.pool): one for one in found})
        return {**self._result(), "unhealthy": dict(self.unhealthy)}

    def _failure(self, text: str, **more: Any) -> Failure:
        return Failure(text, **{**self._state(), **more})

    def _so_far(self) -> str:
        return (
            f" (written so far: {', '.join(self.done)}; run again to go on)" if self.done else " (nothing was written)"
        )
