# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The API kinds this collection reads or writes. Known beforehand, so that no run spends requests on discovery."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True)
class Resource:
    """One kind of one API version; ``path`` is the URL of the collection, or of one object when a name is given."""

    kind: str
    api_version: str
    plural: str
    namespaced: bool = True

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def qualified(self) -> str:
        """plural.group, the form that access rules and error messages use."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.api_version}"
        middle = f"/namespaces/{quote(namespace, safe='')}" if self.namespaced and namespace else ""
        return root + middle + f"/{self.plural}" + (f"/{quote(name, safe='')}" if name else "")


_CLUSTER_API = "cluster.x-k8s.io/v1beta1"
_CDI_API = "cdi.kubevirt.io/v1beta1"
_APPS_API = "apps.cozystack.io/v1alpha1"

PACKAGE = Resource("Package", "cozystack.io/v1alpha1", "packages", namespaced=False)
PACKAGE_SOURCE = Resource("PackageSource", "cozystack.io/v1alpha1", "packagesources", namespaced=False)
HELM_RELEASE = Resource("HelmRelease", "helm.toolkit.fluxcd.io/v2", "helmreleases")
KUBERNETES = Resource("Kubernetes", _APPS_API, "kuberneteses")
KUBERNETES_NODES = Resource("KubernetesNodes", _APPS_API, "kubernetesnodeses")
DATA_VOLUME = Resource("DataVolume", _CDI_API, "datavolumes")
CDI = Resource("CDI", _CDI_API, "cdis", namespaced=False)
CDI_CONFIG = Resource("CDIConfig", _CDI_API, "cdiconfigs", namespaced=False)
UPLOAD_TOKEN_REQUEST = Resource("UploadTokenRequest", "upload.cdi.kubevirt.io/v1beta1", "uploadtokenrequests")
STORAGE_PROFILE = Resource("StorageProfile", _CDI_API, "storageprofiles", namespaced=False)
POD = Resource("Pod", "v1", "pods")
EVENT = Resource("Event", "v1", "events")
CONFIG_MAP = Resource("ConfigMap", "v1", "configmaps")
SECRET = Resource("Secret", "v1", "secrets")
CLAIM = Resource("PersistentVolumeClaim", "v1", "persistentvolumeclaims")
STORAGE_CLASS = Resource("StorageClass", "storage.k8s.io/v1", "storageclasses", namespaced=False)
CSI_DRIVER = Resource("CSIDriver", "storage.k8s.io/v1", "csidrivers", namespaced=False)
SNAPSHOT_CLASS = Resource(
    "VolumeSnapshotClass", "snapshot.storage.k8s.io/v1", "volumesnapshotclasses", namespaced=False
)
MACHINE_DEPLOYMENT = Resource("MachineDeployment", _CLUSTER_API, "machinedeployments")
MACHINE = Resource("Machine", _CLUSTER_API, "machines")
MACHINE_SET = Resource("MachineSet", _CLUSTER_API, "machinesets")
MACHINE_TEMPLATE = Resource(
    "KubevirtMachineTemplate", "infrastructure.cluster.x-k8s.io/v1alpha1", "kubevirtmachinetemplates"
)
CONTROL_PLANE = Resource("KamajiControlPlane", "controlplane.cluster.x-k8s.io/v1alpha1", "kamajicontrolplanes")
INSTANCE_TYPE = Resource(
    "VirtualMachineClusterInstancetype",
    "instancetype.kubevirt.io/v1beta1",
    "virtualmachineclusterinstancetypes",
    namespaced=False,
)
