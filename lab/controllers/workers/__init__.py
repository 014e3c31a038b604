# SPDX-License-Identifier: Apache-2.0
"""An imitation of Cluster API, its KubeVirt provider, KubeVirt and the autoscaler: from MachineDeployments to disks."""

from lab.controllers.workers.deployments import Deployments
from lab.controllers.workers.machines import Machines
from lab.controllers.workers.monitors import Monitors
from lab.controllers.workers.sets import Sets

__all__ = ["Deployments", "Machines", "Monitors", "Sets"]
