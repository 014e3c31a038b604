# SPDX-License-Identifier: Apache-2.0
"""What was really asked of the API server, from its audit log: the proof of "no write" and of "few requests".

An entry is on disk before its request is answered (blocking mode), so a reading after an answer is complete.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
# Created like objects, answered at once, stored nowhere: asking "may I" changes nothing.
_REVIEW_GROUPS = frozenset({"authorization.k8s.io", "authentication.k8s.io"})
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Request:
    """One request. ``resource`` is ``plural.group`` (``plural`` in the core group), empty for URLs such as /openapi/v3."""

    verb: str
    resource: str
    namespace: str
    name: str
    subresource: str
    user_agent: str
    user: str
    code: int
    uri: str

    @property
    def is_review(self) -> bool:
        """An access or token review: the verb is create, but nothing is stored."""
        return self.verb == "create" and self.resource.partition(".")[2] in _REVIEW_GROUPS

    @property
    def is_write(self) -> bool:
        return self.verb in WRITES and not self.is_review

    @property
    def target(self) -> str:
        """The resource with its subresource, or the path of a URL that is no resource."""
        if not self.resource:
            return self.uri.partition("?")[0]
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def parse(line: bytes) -> Request | None:
    """One line of the audit log; None for what is no finished request.

    A watch is counted when it starts, since it may never end. A request without valid credentials ends at that stage too.
    """
    try:
        event: dict[str, Any] = json.loads(line)
        verb, stage = event["verb"], event["stage"]
    except (ValueError, KeyError, TypeError):
        return None
    code = (event.get("responseStatus") or {}).get("code", 0)
    if stage != ("ResponseStarted" if verb == "watch" or code == 401 else "ResponseComplete"):
        return None
    reference = event.get("objectRef") or {}
    group = reference.get("apiGroup", "")
    resource = reference.get("resource", "")
    return Request(
        verb=verb,
        resource=f"{resource}.{group}" if resource and group else resource,
        namespace=reference.get("namespace", ""),
        name=reference.get("name", ""),
        subresource=reference.get("subresource", ""),
        user_agent=event.get("userAgent", ""),
        user=(event.get("user") or {}).get("username", ""),
        code=code,
        uri=event.get("requestURI", ""),
    )


class Requests(tuple[Request, ...]):
    """A list of requests with the questions that tests ask. Every filter returns a new list."""

    __slots__ = ()

    def by_agent(self, prefix: str) -> Requests:
        """Those whose user agent starts with ``prefix``."""
        return Requests(request for request in self if request.user_agent.startswith(prefix))

    def of(self, resource: str, *verbs: str) -> Requests:
        """Those for ``plural.group``, any verb or only the given ones."""
        return Requests(r for r in self if r.resource == resource and (not verbs or r.verb in verbs))

    def writes(self) -> Requests:
        """Those with a writing verb, without reviews, whatever the answer was."""
        return Requests(request for request in self if request.is_write)

    def reads(self) -> Requests:
        return Requests(request for request in self if not request.is_write and not request.is_review)

    def reviews(self) -> Requests:
        return Requests(request for request in self if request.is_review)

    def count(self, value: Any = None) -> int:
        """How many there are (or, as for any tuple, how often ``value`` occurs)."""
        return len(self) if value is None else super().count(value)

    def by_verb(self) -> dict[str, int]:
        """Verb to count."""
        return dict(Counter(request.verb for request in self))


class Ledger:
    """The audit log at ``path``; a mark is a position in it."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def mark(self) -> str:
        """The present end of the log, as ``inode:offset``; nothing that was answered by now lies behind it."""
        try:
            status = self.path.stat()
        except OSError:
            return "0:0"
        return f"{status.st_ino}:{self._whole_lines(status.st_size)}"

    def _whole_lines(self, size: int) -> int:
        """The offset behind the last line break before ``size``: a line that is being written belongs to what follows."""
        with self.path.open("rb") as log:
            while size > 0:
                start = max(0, size - _CHUNK)
                log.seek(start)
                position = log.read(size - start).rfind(b"\n")
                if position >= 0:
                    return start + position + 1
                size = start
        return 0

    def since(self, mark: str | int = "0:0", user_agent: str = "") -> Requests:
        """Requests after the mark (a number is an offset into the present file). Errors: ValueError for no mark."""
        inode, offset = parse_mark(mark)
        lines = (line for path, start in self._pieces(inode, offset) for line in _lines(path, start))
        parsed: Iterable[Request | None] = (parse(line) for line in lines)
        found = Requests(request for request in parsed if request)
        return found.by_agent(user_agent) if user_agent else found

    def all(self) -> Requests:
        return self.since()

    def _pieces(self, inode: int, offset: int) -> list[tuple[Path, int]]:
        """The present file, before it the one that was rotated away since the mark, each with where to begin."""
        try:
            status = self.path.stat()
        except OSError:
            return []
        if inode in (0, status.st_ino):
            return [(self.path, offset if offset <= status.st_size else 0)]
        siblings = sorted(self.path.parent.glob(f"{self.path.stem}-*{self.path.suffix}"))
        inodes = [sibling.stat().st_ino for sibling in siblings]
        if inode not in inodes:
            return [(self.path, 0)]
        position = inodes.index(inode)
        return [(siblings[position], offset), *((later, 0) for later in siblings[position + 1 :]), (self.path, 0)]


def parse_mark(mark: str | int) -> tuple[int, int]:
    """``inode:offset`` or a plain offset. Errors: ValueError."""
    inode, _, offset = str(mark).rpartition(":")
    if not offset.isdecimal() or not (inode or "0").isdecimal():
        raise ValueError(f"{mark!r} is no mark; print one with: python -m lab ledger --mark")
    return int(inode or 0), int(offset)


def _lines(path: Path, start: int) -> Iterator[bytes]:
    """Whole lines; the last one may be half-written and is left for later."""
    with path.open("rb") as log:
        log.seek(start)
        for line in log:
            if line.endswith(b"\n"):
                yield line


def table(requests: Requests) -> str:
    """Counts by verb, resource and user agent, most frequent first; writes carry an asterisk."""
    counts = Counter((r.verb, r.target, r.user_agent.partition(" ")[0], r.is_write) for r in requests)
    rows = [
        (str(n), f"{verb}{' *' if write else ''}", target, agent) for (verb, target, agent, write), n in counts.items()
    ]
    rows.sort(key=lambda row: (-int(row[0]), row[1:]))
    rows.insert(0, ("COUNT", "VERB", "RESOURCE", "USER AGENT"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        f"{n:>{widths[0]}}  {verb:<{widths[1]}}  {target:<{widths[2]}}  {agent}" for n, verb, target, agent in rows
    ]
    writes, reviews = requests.writes().count(), requests.reviews().count()
    lines.append(
        f"{requests.count()} requests: {writes} writes (*), {reviews} reviews, {requests.reads().count()} reads"
    )
    return "\n".join(lines)
