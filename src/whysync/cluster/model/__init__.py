"""An API server in memory, with a clock of its own: the same requests give the same bytes, always.

`Model().send(Request(...))` answers as kube-apiserver 1.36 does, for what matters to Argo CD: typed decoding
with strict field validation, defaults, validation, server-side apply with managers and conflicts, patches,
custom resource definitions, finalizers and deletion.
"""

from __future__ import annotations

from whysync.cluster.model.clock import Clock
from whysync.cluster.model.server import Model

__all__ = ["Clock", "Model"]
