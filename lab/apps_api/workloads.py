# SPDX-License-Identifier: Apache-2.0
"""The condition WorkloadsReady of an app, from the WorkloadMonitors that carry its labels.

One list per answer, however many apps it holds. A changing monitor does not wake a watch of apps; upstream it does.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from lab.api import Api, ApiError
from lab.apps_api.apps import GROUP, LABEL_GROUP, LABEL_KIND, LABEL_NAME, App
from lab.kinds import KINDS

Object = dict[str, Any]
Monitors = dict[tuple[str, str], list[Object]]  # by namespace and app name


async def monitors(api: Api, app: App, namespace: str | None, name: str | None = None) -> Monitors:
    """The monitors of all apps asked about; none when the cluster does not know the kind."""
    selector = f"{LABEL_KIND}={app.kind},{LABEL_GROUP}={GROUP}" + (f",{LABEL_NAME}={name}" if name else "")
    path = KINDS["WorkloadMonitor"].path(namespace)
    try:
        answer = await api.request("GET", path, query={"labelSelector": selector})
    except ApiError as error:
        if error.status == 404:
            return {}
        raise
    found: Monitors = defaultdict(list)
    for item in answer["items"]:
        found[item["metadata"]["namespace"], item["metadata"]["labels"].get(LABEL_NAME, "")].append(item)
    return found


def condition(found: Monitors, release: Object) -> Object | None:
    """A failed monitor outweighs one that has not reported yet."""
    metadata = release["metadata"]
    mine = found.get((metadata["namespace"], metadata["labels"].get(LABEL_NAME, "")))
    if not mine:
        return None
    states = [(item.get("status") or {}).get("operational") for item in mine]
    if False in states:
        said = sorted({(item.get("status") or {}).get("message", "") for item in mine} - {""})
        verdict = ("False", "WorkloadMonitorCheck", "; ".join(said) or "One or more workloads are not operational")
    elif None in states:
        verdict = ("Unknown", "Pending", "Workloads have not been checked yet")
    else:
        verdict = ("True", "WorkloadMonitorCheck", "All workloads are operational")
    ready = [item for item in (release.get("status") or {}).get("conditions") or [] if item["type"] == "Ready"]
    since = ready[0]["lastTransitionTime"] if ready else metadata["creationTimestamp"]
    status, reason, message = verdict
    return {
        "type": "WorkloadsReady",
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
    }
