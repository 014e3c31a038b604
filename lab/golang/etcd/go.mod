// SPDX-License-Identifier: Apache-2.0
// The etcd that the lab runs: one pinned module, verified by go.sum.
module lab.invalid/etcd

go 1.25.0

require go.etcd.io/etcd/server/v3 v3.6.13
