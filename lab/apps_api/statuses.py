# SPDX-License-Identifier: Apache-2.0
"""Answers of kind Status, and the exception that carries one."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


class Refused(Exception):
    """A request that ends with an error; ``body`` is the Status object, its code the HTTP status."""

    def __init__(self, code: int, message: str, reason: str = "", details: Object | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.body: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
        }
        if reason:
            self.body["reason"] = reason
        if details:
            self.body["details"] = details
        self.body["code"] = code


def bad_request(message: str) -> Refused:
    return Refused(400, message, "BadRequest")


def invalid(kind: str, group: str, name: str, causes: list[str]) -> Refused:
    """422. Several causes are put into brackets, as the platform joins them."""
    joined = causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]"
    details = {"name": name, "group": group, "kind": kind}
    return Refused(422, f'{kind}.{group} "{name}" is invalid: {joined}', "Invalid", details)


def not_found(plural: str, group: str, name: str) -> Refused:
    details = {"name": name, "group": group, "kind": plural}
    return Refused(404, f'{plural}.{group} "{name}" not found', "NotFound", details)


def no_such_path() -> Refused:
    return Refused(404, "the server could not find the requested resource", "NotFound", {})


def internal(message: str) -> Refused:
    """500 without a reason, which is how the platform passes on whatever its HelmRelease writes ran into."""
    return Refused(500, message)


def success(plural: str, group: str, name: str) -> Object:
    details = {"name": name, "group": group, "kind": plural}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details, "code": 200}
