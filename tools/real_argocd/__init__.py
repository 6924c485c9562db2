"""A real Argo CD on loopback, with a cluster to deploy to; built once, then cached.

`python -m tools.real_argocd` builds the programs; `real_argocd` (in `running`) starts and stops them.
"""
