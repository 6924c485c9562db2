"""The model of the cluster against a real kube-apiserver: `make test-cluster`.

The same requests go to both, and the answers must be the same: codes, objects with their managedFields,
error texts. `cases/` are conversations written by hand, `generated.py` makes others; what is known
to differ, and why, is in known.toml. `planning/` plans commits, and then syncs them onto the server;
`sources/` reads facts from it.
"""
