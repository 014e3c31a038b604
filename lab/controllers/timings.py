# SPDX-License-Identifier: Apache-2.0
"""How long things take in the lab: about a hundredth of what they take on a real platform. All in seconds."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any


@dataclass
class Timings:
    """Changed at run time through the control endpoint; read at every use."""

    package_delay: float = 0.02  # a Package until its HelmRelease is written
    release_retry: float = 0.5  # a failed release until the next attempt; 30 s on a platform
    release_wait: float = 6.0  # how long a release that waits for its objects does so; 10 minutes on a platform
    pod_start: float = 0.03  # a pod from Pending to Running
    import_seconds: float = 0.4  # the least an import takes, spread over its progress
    import_retry: float = 0.2  # the first back-off of a failing importer, doubled each time
    import_retry_max: float = 3.0  # and the longest; 5 minutes on a platform
    import_idle: float = 6.0  # how long a transfer may stand still; 10 minutes on a platform
    provision_retry: float = 0.5  # a provisioner that failed until it tries again
    clone_step: float = 0.03  # each step of a clone
    copy_seconds: float = 0.2  # the least a host-assisted copy takes
    upload_token: float = 300.0  # how long an upload token is good; the same on a platform
    machine_boot: float = 0.05  # a worker from a finished disk to Running
    capacity_multiple: int = 1  # claims get their request rounded up to a multiple of this many bytes

    def change(self, values: dict[str, Any]) -> None:
        """Errors: ValueError for an unknown name or a value that is no number of at least zero."""
        known = {field.name for field in dataclasses.fields(self)}
        for name, value in values.items():
            if name not in known or isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
                raise ValueError(f"no such timing or no such value: {name}={value!r}")
            setattr(self, name, value)
