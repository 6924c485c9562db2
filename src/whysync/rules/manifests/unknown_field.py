"""A field that the kind does not have.

## Why
Argo CD asks the API server for strict validation: the sync fails with `unknown field`. Where validation is
off, the field is dropped, and what it was meant to say never happens.

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


@rule(layer=Layer.SCHEMA, severity=Severity.CRITICAL, cause="unknown-field-dropped", since="0.2")
def unknown_field(tree: Tree) -> Iterator[Finding]:
    for item, misfit in tree.misfits:
        if misfit.how is ViolationKind.UNKNOWN:
            yield finding(
                item,
                _told(item, misfit, tree.configuration.release),
                field=misfit.pointer,
                hint=_hint(misfit, tree.configuration),
                fix=_fix(item, misfit),
            )


def _told(item: Item, misfit: SchemaViolation, release: int) -> str:
    if misfit.span is None:
        return f"{item.ref.kind} has {misfit.text.replace('unknown field', 'no field')}"
    field = f"{misfit.text.removeprefix('unknown field ')} of {item.ref.kind}"
    if release < misfit.span.first:
        return f"{field} exists since Kubernetes 1.{misfit.span.first}; this is 1.{release}"
    return f"Kubernetes 1.{misfit.span.last + 1} removed {field}; this is 1.{release}"


def _hint(misfit: SchemaViolation, configuration: Configuration) -> str:
    if misfit.span is not None:
        return configuration.release_hint if configuration.release < misfit.span.first else ""
    return f"did you mean {misfit.better}?" if misfit.better else ""


def _fix(item: Item, misfit: SchemaViolation) -> Fix | None:
    """Another spelling only where upper and lower case is all that differs."""
    above, _, name = misfit.pointer.rpartition("/")
    value = resolve(item.body, misfit.pointer)
    if not misfit.better or misfit.better.lower() != name.lower() or isinstance(value, Missing):
        return None
    edits = (Remove(pointer=misfit.pointer), Set(pointer=f"{above}/{misfit.better}", value=value))
    return Fix.change(item.ref, *edits, title=f"Call it {misfit.better}", keeps_meaning=True)
