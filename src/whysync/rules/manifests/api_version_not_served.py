"""An apiVersion or kind that this Kubernetes release does not serve.

## Why
The sync fails with `no matches for kind`, or the app cannot be compared. `--kubernetes-version` sets the
Kubernetes version of the cluster.

## Bad
```yaml
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
```

## Good
```yaml
apiVersion: policy/v1
kind: PodDisruptionBudget
```
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.schema.releases import BASE, span_of_kind
from whysync.manifests.configuration import Configuration, version_pair
from whysync.manifests.files import finding
from whysync.manifests.schemas.built_in import is_built_in, is_served, kinds_of
from whysync.manifests.tree import Tree
from whysync.queries.removed_apis import removal_of, replacement_of


@rule(layer=Layer.SCHEMA, severity=Severity.CRITICAL, cause="deprecated-api", since="0.1")
def api_version_not_served(tree: Tree) -> Iterator[Finding]:
    release = tree.configuration.release
    for item in tree.items:
        ref = item.ref
        if release == BASE and is_served(ref.api_version, ref.kind):
            continue
        if is_built_in(ref.api_version, ref.kind) or removal_of(ref.api_version, ref.kind):
            if message := _why_not_served(ref, tree.configuration):
                replacement = replacement_of(ref.api_version, ref.kind, release)
                hint = f"use {replacement}" if replacement else tree.configuration.release_hint
                yield finding(item, message, field="/apiVersion", hint=hint)
        elif ref.name and (kinds := kinds_of(ref.api_version)):
            near = get_close_matches(ref.kind, kinds, 1, 0.8)
            hint = f"did you mean {near[0]}?" if near else ""
            yield finding(item, f"{ref.api_version} has no kind {ref.kind}", field="/kind", hint=hint)
        elif (
            versions := tree.definitions.versions_of(ref.group, ref.kind, item.file.path)
        ) and ref.version not in versions:
            message = f"the CRD of {ref.kind} does not serve {ref.version}: it has {', '.join(versions)}"
            yield finding(item, message, field="/apiVersion")


def _why_not_served(ref: Ref, configuration: Configuration) -> str:
    """Why this Kubernetes release does not serve the kind; empty if it does."""
    removed = removal_of(ref.api_version, ref.kind)
    if removed is not None:
        target = configuration.kubernetes
        if not target or version_pair(target) >= version_pair(removed):
            return f"Kubernetes {removed} removed {ref.kind} of {ref.api_version}"
    span, release = span_of_kind(ref.api_version, ref.kind), configuration.release
    if span is not None and release < span.first:
        return (
            f"{ref.kind} of {ref.api_version} exists only since Kubernetes 1.{span.first},"
            f" but the target is 1.{release}"
        )
    if span is not None and release > span.last and removed is None:
        return f"Kubernetes 1.{span.last + 1} removed {ref.kind} of {ref.api_version}"
    return ""
