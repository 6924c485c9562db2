"""Why a namespace is still there, in the words of the namespace controller."""

from __future__ import annotations

from collections import Counter

from whysync.cluster.model.store import Place
from whysync.contracts.tree import Json, Object, dig, items, text


def namespace_conditions(left: list[tuple[Place, Object]], now: str) -> list[Json]:
    """The five conditions of a namespace that ends, for what is left in it."""
    kinds = Counter(f"{plural}.{group}" for (group, plural), _, _ in (place for place, _ in left))
    finalizers = Counter(text(name) for _, obj in left for name in items(dig(obj, "metadata", "finalizers")))
    remaining = ", ".join(f"{kind} has {count} resource instances" for kind, count in sorted(kinds.items()))
    holding = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(finalizers.items()))
    rows = (
        ("NamespaceDeletionDiscoveryFailure", False, "ResourcesDiscovered",
         "All resources successfully discovered"),
        ("NamespaceDeletionGroupVersionParsingFailure", False, "ParsedGroupVersions",
         "All legacy kube types successfully parsed"),
        ("NamespaceDeletionContentFailure", False, "ContentDeleted",
         "All content successfully deleted, may be waiting on finalization"),
        ("NamespaceContentRemaining", True, "SomeResourcesRemain",
         f"Some resources are remaining: {remaining}")
        if left
        else ("NamespaceContentRemaining", False, "ContentRemoved", "All content successfully removed"),
        ("NamespaceFinalizersRemaining", True, "SomeFinalizersRemain",
         f"Some content in the namespace has finalizers remaining: {holding}")
        if finalizers
        else ("NamespaceFinalizersRemaining", False, "ContentHasNoFinalizers",
              "All content-preserving finalizers finished"),
    )  # fmt: skip
    return [
        {
            "type": kind,
            "status": str(holds),
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        }
        for kind, holds, reason, message in rows
    ]
