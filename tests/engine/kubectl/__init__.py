"""What kubectl and Argo CD do to a cluster, in their words."""
