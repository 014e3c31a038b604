# SPDX-License-Identifier: Apache-2.0
"""The kinds the lab serves or reads, by kind name: group, version, plural, scope."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One API kind; ``path()`` gives the URL path of its collection or of one object."""

    kind: str
    group: str
    version: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name:
            parts.append(name)
        if subresource:
            parts.append(subresource)
        return "/" + "/".join(parts)


def _cluster(kind: str, group: str, version: str, plural: str) -> Kind:
    return Kind(kind, group, version, plural, namespaced=False)


_CAPI, _INFRA, _BOOT = "cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io", "bootstrap.cluster.x-k8s.io"
_CDI, _KUBEVIRT, _APPS = "cdi.kubevirt.io", "kubevirt.io", "apps.cozystack.io"

_ALL = (
    # served by kube-apiserver itself
    _cluster("Namespace", "", "v1", "namespaces"),
    _cluster("PersistentVolume", "", "v1", "persistentvolumes"),
    Kind("Secret", "", "v1", "secrets"),
    Kind("ConfigMap", "", "v1", "configmaps"),
    Kind("Service", "", "v1", "services"),
    Kind("ServiceAccount", "", "v1", "serviceaccounts"),
    Kind("Pod", "", "v1", "pods"),
    Kind("Event", "", "v1", "events"),
    Kind("ResourceQuota", "", "v1", "resourcequotas"),
    Kind("PersistentVolumeClaim", "", "v1", "persistentvolumeclaims"),
    _cluster("StorageClass", "storage.k8s.io", "v1", "storageclasses"),
    _cluster("CSIDriver", "storage.k8s.io", "v1", "csidrivers"),
    _cluster("ClusterRole", "rbac.authorization.k8s.io", "v1", "clusterroles"),
    _cluster("ClusterRoleBinding", "rbac.authorization.k8s.io", "v1", "clusterrolebindings"),
    Kind("Role", "rbac.authorization.k8s.io", "v1", "roles"),
    Kind("RoleBinding", "rbac.authorization.k8s.io", "v1", "rolebindings"),
    _cluster("CustomResourceDefinition", "apiextensions.k8s.io", "v1", "customresourcedefinitions"),
    _cluster("APIService", "apiregistration.k8s.io", "v1", "apiservices"),
    # custom resources (lab/crds)
    _cluster("Package", "cozystack.io", "v1alpha1", "packages"),
    _cluster("PackageSource", "cozystack.io", "v1alpha1", "packagesources"),
    _cluster("ApplicationDefinition", "cozystack.io", "v1alpha1", "applicationdefinitions"),
    Kind("WorkloadMonitor", "cozystack.io", "v1alpha1", "workloadmonitors"),
    Kind("HelmRelease", "helm.toolkit.fluxcd.io", "v2", "helmreleases"),
    Kind("DataVolume", _CDI, "v1beta1", "datavolumes"),
    _cluster("CDI", _CDI, "v1beta1", "cdis"),
    _cluster("CDIConfig", _CDI, "v1beta1", "cdiconfigs"),
    _cluster("StorageProfile", _CDI, "v1beta1", "storageprofiles"),
    Kind("VolumeImportSource", _CDI, "v1beta1", "volumeimportsources"),
    Kind("VolumeUploadSource", _CDI, "v1beta1", "volumeuploadsources"),
    Kind("VolumeCloneSource", _CDI, "v1beta1", "volumeclonesources"),
    Kind("VolumeSnapshot", "snapshot.storage.k8s.io", "v1", "volumesnapshots"),
    _cluster("VolumeSnapshotClass", "snapshot.storage.k8s.io", "v1", "volumesnapshotclasses"),
    Kind("Cluster", _CAPI, "v1beta1", "clusters"),
    Kind("MachineDeployment", _CAPI, "v1beta1", "machinedeployments"),
    Kind("MachineSet", _CAPI, "v1beta1", "machinesets"),
    Kind("Machine", _CAPI, "v1beta1", "machines"),
    Kind("MachineHealthCheck", _CAPI, "v1beta1", "machinehealthchecks"),
    Kind("KubevirtMachineTemplate", _INFRA, "v1alpha1", "kubevirtmachinetemplates"),
    Kind("KubevirtMachine", _INFRA, "v1alpha1", "kubevirtmachines"),
    Kind("KubevirtCluster", _INFRA, "v1alpha1", "kubevirtclusters"),
    Kind("TalosConfigTemplate", _BOOT, "v1alpha3", "talosconfigtemplates"),
    Kind("KamajiControlPlane", "controlplane.cluster.x-k8s.io", "v1alpha1", "kamajicontrolplanes"),
    Kind("VirtualMachine", _KUBEVIRT, "v1", "virtualmachines"),
    Kind("VirtualMachineInstance", _KUBEVIRT, "v1", "virtualmachineinstances"),
    _cluster(
        "VirtualMachineClusterInstancetype", "instancetype.kubevirt.io", "v1beta1", "virtualmachineclusterinstancetypes"
    ),
    _cluster("CiliumClusterwideNetworkPolicy", "cilium.io", "v2", "ciliumclusterwidenetworkpolicies"),
    # served by the lab's aggregated API
    Kind("Tenant", _APPS, "v1alpha1", "tenants"),
    Kind("Kubernetes", _APPS, "v1alpha1", "kuberneteses"),
    Kind("KubernetesNodes", _APPS, "v1alpha1", "kubernetesnodeses"),
)

KINDS: dict[str, Kind] = {kind.kind: kind for kind in _ALL}
