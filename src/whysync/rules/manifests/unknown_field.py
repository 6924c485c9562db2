"""A field that the kind does not have.

## Why
Argo CD requests strict validation from the API server: the sync fails with `unknown field`. If validation
is off, the API server drops the field, and the setting has no effect.

## Bad
```yaml
kind: Deployment
spec:
  replica: 3
```

## Good
```yaml
kind: Deployment
spec:
  replicas: 3
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Fix, Remove, Set
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import Missing
from whysync.kubernetes.api.pointer import resolve
from whysync.manifests.configuration import Configuration
from whysync.manifests.files import Item, finding
from whysync.manifests.schemas.violation import SchemaViolation, ViolationKind
from whysync.manifests.tree import Tree


@rule(layer=Layer.SCHEMA, severity=Severity.CRITICAL, cause="unknown-field-dropped", since="0.1")
def unknown_field(tree: Tree) -> Iterator[Finding]:
    for item, violation in tree.violations:
        if violation.how is ViolationKind.UNKNOWN:
            yield finding(
                item,
                _message(item, violation, tree.configuration.release),
                field=violation.pointer,
                hint=_hint(violation, tree.configuration),
                fix=_fix(item, violation),
            )


def _message(item: Item, violation: SchemaViolation, release: int) -> str:
    if violation.span is None:
        return f'{item.ref.kind} has no field "{violation.path}"'
    field = f'"{violation.path}" of {item.ref.kind}'
    if release < violation.span.first:
        return f"{field} exists only since Kubernetes 1.{violation.span.first}, but the target is 1.{release}"
    return f"Kubernetes 1.{violation.span.last + 1} removed {field}, and the target is 1.{release}"


def _hint(violation: SchemaViolation, configuration: Configuration) -> str:
    if violation.span is not None:
        return configuration.release_hint if configuration.release < violation.span.first else ""
    return f"did you mean {violation.better}?" if violation.better else ""


def _fix(item: Item, violation: SchemaViolation) -> Fix | None:
    """The correct spelling, if only upper and lower case differ."""
    parent, _, name = violation.pointer.rpartition("/")
    value = resolve(item.body, violation.pointer)
    if not violation.better or violation.better.lower() != name.lower() or isinstance(value, Missing):
        return None
    edits = (Remove(pointer=violation.pointer), Set(pointer=f"{parent}/{violation.better}", value=value))
    return Fix.change(item.ref, *edits, title=f"Rename it to {violation.better}", keeps_meaning=True)
