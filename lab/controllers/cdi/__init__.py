# SPDX-License-Identifier: Apache-2.0
"""An imitation of CDI 1.64: it fills claims from HTTP sources and from other claims, as slowly and oddly as CDI does.

What a disk goes through is written down as one coroutine per source (``imports``, ``clones``), which the controller
starts again from the beginning when it was interrupted.
"""

from lab.controllers.cdi.controller import Cdi

__all__ = ["Cdi"]
