# SPDX-License-Identifier: Apache-2.0
"""Selectors of a request, rewritten for the HelmReleases behind the apps."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lab.apps_api.apps import GROUP, LABEL_GROUP, LABEL_KIND, PREFIX, App

# Commas inside parentheses separate the values of `in` and `notin`.
_COMMA = re.compile(r",(?![^(]*\))")
_KEY = re.compile(r"\s*(!?)\s*(.+)", re.DOTALL)
_NAME_TERM = re.compile(r"metadata\.name(==|=|!=)(.*)", re.DOTALL)


def _rewritten(requirement: str) -> str:
    match = _KEY.fullmatch(requirement)
    return f"{match[1]}{PREFIX}{match[2]}" if match else requirement


def label_selector(app: App, wanted: str = "") -> str:
    """Every requirement of the user is about the prefixed label; kind and group come on top."""
    own = [f"{LABEL_KIND}={app.kind}", f"{LABEL_GROUP}={GROUP}"]
    return ",".join(own + [_rewritten(term) for term in _COMMA.split(wanted) if term.strip()])


def field_selector(app: App, wanted: str) -> str:
    """Names get the release prefix; other fields go through as they are, and kube-apiserver judges them."""
    terms = []
    for term in wanted.split(","):
        match = _NAME_TERM.fullmatch(term)
        terms.append(f"metadata.name{match[1]}{app.release_name(match[2])}" if match else term)
    return ",".join(terms)


def for_releases(app: App, query: Mapping[str, str]) -> dict[str, str]:
    """The selecting half of a list or watch query, for the HelmRelease resource."""
    rewritten = {"labelSelector": label_selector(app, query.get("labelSelector", ""))}
    if query.get("fieldSelector"):
        rewritten["fieldSelector"] = field_selector(app, query["fieldSelector"])
    return rewritten
