# SPDX-License-Identifier: Apache-2.0
"""The lab: a real etcd and kube-apiserver on loopback with small controllers that imitate a Cozystack platform."""
