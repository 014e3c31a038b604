# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From one declared golden and what the cluster holds to the steps that bring it, adopt it, or take it away."""

from __future__ import annotations

from .._image.golden import GOLDEN_NAMESPACE
from .._image.wanted import WantedGolden, adoption, render_wanted
from .._storage.objects import Claim, DataVolume
from .changes import ABSENT, Change, compare
from .plan import CREATE, DELETE, PATCH, UPLOAD, Step

KIND, CLAIM_KIND = "DataVolume", "PersistentVolumeClaim"


def create_step(wanted: WantedGolden, reason: str, checksum: str = "") -> Step:
    body = render_wanted(wanted, checksum)
    changes = compare({"spec": body["spec"]}, {})
    return Step(CREATE, KIND, GOLDEN_NAMESPACE, wanted.name, reason, changes, body)


def adopt_step(wanted: WantedGolden, live: DataVolume) -> Step | None:
    """The marks that a matching golden lacks; None when it has them all. The uid keeps it from reaching a namesake."""
    metadata = adoption(wanted, live)
    if not metadata:
        return None
    present = {"annotations": live.meta.annotations, "labels": live.meta.labels}
    changes = compare({"metadata": metadata}, {"metadata": present})
    payload = {"metadata": {**metadata, "uid": live.meta.uid}}
    return Step(PATCH, KIND, GOLDEN_NAMESPACE, live.name, "adopt the golden that is there", changes, payload)


def upload_step(wanted: WantedGolden, path: str, checksum: str) -> Step:
    """Sending the file; it stands in the plan since a run that only resumes an upload changes something, too."""
    return Step(UPLOAD, KIND, GOLDEN_NAMESPACE, wanted.name, f"send {path}", (), {"sha256": checksum})


def delete_step(live: DataVolume | Claim, reason: str) -> Step:
    """The DataVolume, whose claim goes with it; or the claim alone where CDI has collected the DataVolume."""
    kind = KIND if isinstance(live, DataVolume) else CLAIM_KIND
    gone = Change(("metadata", "name"), live.name, ABSENT)
    return Step(DELETE, kind, GOLDEN_NAMESPACE, live.name, reason, (gone,), {"uid": live.meta.uid})
