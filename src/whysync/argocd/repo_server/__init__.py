"""The repo-server: from a source in Git, Helm or Kustomize to manifests."""
