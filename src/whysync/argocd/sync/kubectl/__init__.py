"""`ClusterOps` of a sync on any cluster: the requests and messages of kubectl and of Argo CD's own clients.

Start at `cluster_ops.KubectlClusterOps`. Nothing is imported here.
"""
