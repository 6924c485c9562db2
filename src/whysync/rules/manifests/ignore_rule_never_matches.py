"""An ignore rule that cannot match anything.

## Why
Argo CD passes over it in silence, and the difference that it was meant for stays.

## Bad
```yaml
ignoreDifferences:
  - group: apps/v1
    kind: deployments
    jsonPointers: [.spec.replicas]
```

## Good
```yaml
ignoreDifferences:
  - group: apps
    kind: Deployment
    jsonPointers: [/spec/replicas]
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.argocd.scripts.jq import BadExpression, Deletion
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import Object, fields, items, text
from whysync.manifests.files import finding
from whysync.manifests.schemas.built_in import kinds_of
from whysync.manifests.tree import Tree

_FIELDS = ("jsonPointers", "jqPathExpressions", "managedFieldsManagers")


@rule(layer=Layer.ARGOCD, severity=Severity.WARNING, cause="ignore-rule-miss", since="0.2")
def ignore_rule_never_matches(tree: Tree) -> Iterator[Finding]:
    for app in tree.app_specs:
        for number, raw in enumerate(items(app.spec.get("ignoreDifferences"))):
            rule, at = fields(raw), f"{app.at}/ignoreDifferences/{number}"
            for where, said, hint in (*_of_rule(rule), *_of_pointers(rule), *_of_expressions(rule)):
                yield finding(app.item, said, field=at + where, hint=hint)


def _of_rule(rule: Object) -> Iterator[tuple[str, str, str]]:
    group, kind = text(rule.get("group")), text(rule.get("kind"))
    if "/" in group:
        hint = f"write {group.partition('/')[0]}"
        yield "/group", f"group {group} matches nothing: a group has no version in it", hint
    if kind and not group and kind in _of_groups():
        yield (
            "/kind",
            f"no group means the core group, and {kind} is of {_of_groups()[kind]}",
            "say which group",
        )
    if kind and kind != "*" and kind.islower() and "*" not in kind:
        yield "/kind", f"kind {kind} matches nothing: kinds are written as in manifests", ""
    if not any(items(rule.get(name)) for name in _FIELDS):
        yield "", "this rule names no field, so it hides nothing", f"give it one of {', '.join(_FIELDS)}"
    for name in ("name", "namespace"):
        given = text(rule.get(name))
        if any(char in given for char in "*?[") and "{{" not in given:
            yield f"/{name}", f"{name} {given} is compared as it stands, it is no glob", ""


def _of_groups() -> dict[str, str]:
    """Well-known kinds that are not of the core group."""
    found: dict[str, str] = {}
    for version in ("apps/v1", "batch/v1", "networking.k8s.io/v1", "autoscaling/v2", "policy/v1"):
        for kind in kinds_of(version):
            found[kind] = version.partition("/")[0]
    for version in (
        "rbac.authorization.k8s.io/v1",
        "admissionregistration.k8s.io/v1",
        "apiextensions.k8s.io/v1",
    ):
        for kind in kinds_of(version):
            found[kind] = version.partition("/")[0]
    return found


def _of_pointers(rule: Object) -> Iterator[tuple[str, str, str]]:
    for number, given in enumerate(items(rule.get("jsonPointers"))):
        pointer, at = text(given), f"/jsonPointers/{number}"
        if "{{" in pointer or not pointer:
            continue
        if not pointer.startswith("/"):
            better = "/" + pointer.lstrip(".").replace(".", "/") if pointer.startswith(".") else f"/{pointer}"
            yield (
                at,
                f"{pointer} is no JSON pointer: one starts with /",
                f"write {better}, or use jqPathExpressions",
            )
        elif "[" in pointer or "*" in pointer.split("/"):
            yield (
                at,
                f"{pointer} matches nothing: JSON pointers have no brackets and no wildcards",
                ("use jqPathExpressions"),
            )
        elif pointer.endswith("/") and pointer != "/":
            yield at, f"{pointer} names an empty key at its end", f"write {pointer.rstrip('/')}"
        elif _unescaped(pointer):
            yield at, f"{pointer}: the / inside a key is written ~1", f"write {_unescaped(pointer)}"


def _unescaped(pointer: str) -> str:
    """`/metadata/annotations/example.com/owner`: what is below annotations and labels is one key."""
    for block in ("/metadata/annotations/", "/metadata/labels/"):
        head, found, key = pointer.partition(block)
        if found and "/" in key:
            return f"{head}{block}{key.replace('/', '~1')}"
    return ""


def _of_expressions(rule: Object) -> Iterator[tuple[str, str, str]]:
    for number, given in enumerate(items(rule.get("jqPathExpressions"))):
        expression = text(given)
        if not expression or "{{" in expression:
            continue
        try:
            Deletion(expression)
        except BadExpression as problem:
            yield f"/jqPathExpressions/{number}", f"this jq expression does not compile: {problem}", ""
