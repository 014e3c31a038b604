# SPDX-License-Identifier: Apache-2.0
"""The lab's aggregated API ``apps.cozystack.io/v1alpha1``: a view of HelmReleases, as the platform's own server is.

Nothing is kept in memory: every answer is computed from the HelmReleases behind it, so the server may be restarted at
any time. What it does, oddities included, is what was recorded from the real API (``tests/lab/apps-api.json``): it
ignores ``dryRun`` and writes, ignores ``limit`` and ``resourceVersion``, validates next to nothing, fills in defaults
only when it answers, and therefore freezes them with the first patch.
"""

from lab.apps_api.registration import register
from lab.apps_api.server import Serving, serve

__all__ = ["Serving", "register", "serve"]
