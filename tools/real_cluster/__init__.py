"""A real Kubernetes API server on loopback, to compare the model with; built once, then cached.

`python -m tools.real_cluster` builds the programs; `RealCluster` (in `running`) starts and stops them.
"""
