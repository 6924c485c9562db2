"""A real Kubernetes API server on loopback, for comparing the model with: built once, then cached.

`python -m tools.real_cluster` makes the programs; `RealCluster` (in `running`) starts and stops them.
"""
