"""Strategic merge patches, with which kubectl and Argo CD change built-in kinds.

Mirrors apimachinery `strategicpatch`, Kubernetes 1.36, with the patch metadata of the Go structs. A patch
is a tree in which null deletes, `$patch`, `$retainKeys`, `$setElementOrder/<list>` and
`$deleteFromPrimitiveList/<list>` are directives, and lists with a merge key merge item by item.
"""

from __future__ import annotations

from whysync.kubernetes.merge.strategic.apply import apply_patch, combine_patches
from whysync.kubernetes.merge.strategic.create import deletions, three_way_patch
from whysync.kubernetes.merge.strategic.meta import BadPatch

__all__ = [
    "BadPatch",
    "apply_patch",
    "combine_patches",
    "deletions",
    "three_way_patch",
]
