"""kubectl as Argo CD runs it: `cluster_ops.KubectlClusterOps` implements `ClusterOps` on an API server."""
