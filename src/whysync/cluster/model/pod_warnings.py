"""What the server warns about in the template of a Pod. Mirrors `pkg/api/pod/warnings.go`, Kubernetes 1.36.

Left out: overlapping paths of volumes, and addresses in old notations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whysync.contracts.tree import Object, dig, fields, integer, items, text
from whysync.semantics.diff.scalars import amount_of

_OLD_VOLUMES: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
