# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether what was answered to a question for an image is that image, and if not, why. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from .facts import Answer, NoAnswer, shown_url
from .verdict import (
    MALFORMED,
    NOT_AN_IMAGE,
    NOT_PUBLISHED,
    OK,
    UNKNOWN_SCHEMATIC,
    UNKNOWN_VERSION,
    Verdict,
    no_answer,
    refused,
)

XZ = b"\xfd7zXZ\x00"
_OTHERS = (
    (b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"QFI\xfb", "qcow2"), (b"BZh", "bzip2"), (b"PK\x03\x04", "zip"),
)  # fmt: skip
# A packed Talos image has a hundred MiB or more: far below is an error page, far above another file.
SMALLEST, LARGEST = 64 * 1024, 64 * 1024**3
_PART = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_SEMVER = re.compile(rf"v?(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){{2}}(?:-{_PART}(?:\.{_PART})*)?")


@dataclass(frozen=True)
class Seen:
    """What was seen of one image. ``head`` and ``get`` are the last answers; ``get`` None: not asked, since HEAD had no answer.

    ``known``: whether the factory knows the schematic, None when it cannot tell. ``versions``: the releases it lists, None for
    a server that has no such list, which is no factory then.
    """

    url: str
    schematic: str
    version: str
    head: Answer | NoAnswer
    get: Answer | NoAnswer | None = None
    known: bool | None = None
    versions: tuple[str, ...] | None = None

    @property
    def last(self) -> Answer | NoAnswer:
        return self.head if self.get is None else self.get


def well_formed_version(version: str) -> bool:
    """Whether a factory can parse it. The charts let more pass (v1.13.06, v1.13.6-a..b), which the factory answers with 500."""
    return _SEMVER.fullmatch(version) is not None


def judge(seen: Seen) -> Verdict:
    """The verdict on one image."""
    verdict = _judge(seen)
    if not re.fullmatch(r"[0-9a-f]{64}", seen.schematic):
        note = f"schematic ID {seen.schematic!r} is none of a factory's, which have 64 hexadecimal digits; a mirror may serve it"
        return replace(verdict, notes=(*verdict.notes, note))
    return verdict


def _judge(seen: Seen) -> Verdict:
    at = shown_url(seen.url)
    last = seen.last
    if isinstance(last, NoAnswer):
        return no_answer(at, last)
    if last.status in (200, 206, 416):
        return _content(at, last, seen.head)
    if last.status == 404:
        return _missing(at, last, seen)
    if last.status == 500 and not well_formed_version(seen.version):
        remedy = "write a Talos release such as v1.13.6: numbers without leading zeros, no empty parts"
        text = f"{at}: version {seen.version!r} is malformed, which a factory answers with status 500: {last.line}"
        return Verdict(MALFORMED, text, remedy)
    return refused(at, last)


def _content(at: str, get: Answer, head: Answer | NoAnswer) -> Verdict:
    mirror = "publish the factory's file as it is, and let the server answer 404 where there is none"
    encoding = get.headers.get("content-encoding", "identity").lower()
    if get.kind in ("text/html", "application/xhtml+xml"):
        return Verdict(
            NOT_AN_IMAGE, f"{at}: status {get.status} with a web page ({get.line or 'blank'}), not an image", mirror
        )
    if encoding not in ("", "identity"):
        remedy = "switch compression off for this path: the file is packed already, and the importer would unpack it once only"
        return Verdict(NOT_AN_IMAGE, f"{at}: sent with Content-Encoding {encoding}", remedy)
    if get.status == 416 or not get.body:
        return Verdict(NOT_AN_IMAGE, f"{at}: an empty file", mirror)
    if not get.body.startswith(XZ):
        begins = get.body[:6].hex(" ")
        other = next((f", as a {name} file does" for magic, name in _OTHERS if get.body.startswith(magic)), "")
        text = f"{at}: not an xz file: it begins with {begins}{other}, not with {XZ.hex(' ')}"
        return Verdict(NOT_AN_IMAGE, text, mirror)
    if get.length is not None and not SMALLEST <= get.length <= LARGEST:
        what = "too small" if get.length < SMALLEST else "too large"
        return Verdict(NOT_AN_IMAGE, f"{at}: {get.length} bytes are {what} for a packed Talos image", mirror)
    size = "of unknown size" if get.length is None else f"{get.length} bytes"
    return Verdict(OK, f"{at}: an xz file, {size}", notes=tuple(_notes(get, head)))


def _notes(get: Answer, head: Answer | NoAnswer) -> list[str]:
    notes = []
    if get.length is None:
        notes.append(
            "no Content-Length: CDI cannot tell the progress of the import, nor notice a file that was cut off"
        )
    if isinstance(head, Answer) and head.status != 200:
        notes.append(f"HEAD is answered with {head.status}; the importer can do without, other tools cannot")
    elif isinstance(head, Answer) and None not in (head.length, get.length) and head.length != get.length:
        notes.append(f"HEAD says {head.length} bytes and GET {get.length}; the file or a cache changed meanwhile")
    if get.kind.startswith("text/"):
        notes.append(f"Content-Type is {get.kind}, which a proxy may rewrite; application/x-xz is right")
    return notes


def _missing(at: str, answer: Answer, seen: Seen) -> Verdict:
    said = f"{at}: status 404" + (f": {answer.line}" if answer.line else "")
    register = "register it there (module schematic), or mirror the file: a factory serves an ID only once its schematic was posted"
    if seen.known is False or (seen.known is None and "schematic" in answer.line.lower()):
        return Verdict(UNKNOWN_SCHEMATIC, f"{said}; schematic {seen.schematic} is unknown to this factory", register)
    if seen.versions is None and seen.known is None:
        remedy = (
            f"publish the image at this path, as the factory serves it below /image/{seen.schematic}/{seen.version}/"
        )
        return Verdict(NOT_PUBLISHED, f"{said}; this mirror does not have the image", remedy)
    listed = seen.versions or ()
    if seen.version in listed and seen.known is None:
        return Verdict(
            UNKNOWN_SCHEMATIC,
            f"{said}; the release is listed, so it is schematic {seen.schematic} that this factory lacks",
            register,
        )
    family = seen.version.rsplit(".", 1)[0] + "."
    near = [version for version in listed if version.startswith(family)][-3:] or list(listed[-3:])
    text = f"{said}; Talos {seen.version} is not published by this factory"
    if seen.version in listed:
        text = f"{said}; this factory lists Talos {seen.version} and has no image of it for schematic {seen.schematic}"
        return Verdict(UNKNOWN_VERSION, text, "check that every extension of the schematic exists for this release")
    return Verdict(
        UNKNOWN_VERSION, text, "use a release that it lists" + (f", such as {', '.join(near)}" if near else "")
    )
