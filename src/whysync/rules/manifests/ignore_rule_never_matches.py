"""An ignore rule that cannot match anything.

## Why
Argo CD silently ignores the rule, and the app stays OutOfSync.

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


@rule(layer=Layer.ARGOCD, severity=Severity.WARNING, cause="ignore-rule-miss", since="0.1")
def ignore_rule_never_matches(tree: Tree) -> Iterator[Finding]:
    for app in tree.app_specs:
        for number, raw in enumerate(items(app.spec.get("ignoreDifferences"))):
            rule, at = fields(raw), f"{app.at}/ignoreDifferences/{number}"
            for where, message, hint in (*_of_rule(rule), *_of_pointers(rule), *_of_expressions(rule)):
                yield finding(app.item, message, field=at + where, hint=hint)


def _of_rule(rule: Object) -> Iterator[tuple[str, str, str]]:
    group, kind = text(rule.get("group")), text(rule.get("kind"))
    if "/" in group:
        hint = f"use {group.partition('/')[0]}"
        yield "/group", f"group {group} matches nothing: a group does not include a version", hint
    if kind and not group and kind in _group_of_kind():
        yield (
            "/kind",
            f"without a group the rule matches the core group, but {kind} is in {_group_of_kind()[kind]}",
            "set the group",
        )
    if kind and kind != "*" and kind.islower() and "*" not in kind:
        yield "/kind", f"kind {kind} matches nothing: use the spelling of the manifests", ""
    if not any(items(rule.get(name)) for name in _FIELDS):
        yield "", "the rule names no field, so it ignores nothing", f"set one of {', '.join(_FIELDS)}"
    for name in ("name", "namespace"):
        value = text(rule.get(name))
        if any(char in value for char in "*?[") and "{{" not in value:
            yield f"/{name}", f"{name} {value} is compared literally: globs are not supported", ""


def _group_of_kind() -> dict[str, str]:
    """The API group of common kinds outside the core group."""
    groups: dict[str, str] = {}
    for version in ("apps/v1", "batch/v1", "networking.k8s.io/v1", "autoscaling/v2", "policy/v1"):
        for kind in kinds_of(version):
            groups[kind] = version.partition("/")[0]
    for version in (
        "rbac.authorization.k8s.io/v1",
        "admissionregistration.k8s.io/v1",
        "apiextensions.k8s.io/v1",
    ):
        for kind in kinds_of(version):
            groups[kind] = version.partition("/")[0]
    return groups


def _of_pointers(rule: Object) -> Iterator[tuple[str, str, str]]:
    for number, given in enumerate(items(rule.get("jsonPointers"))):
        pointer, at = text(given), f"/jsonPointers/{number}"
        if "{{" in pointer or not pointer:
            continue
        if not pointer.startswith("/"):
            corrected = (
                "/" + pointer.lstrip(".").replace(".", "/") if pointer.startswith(".") else f"/{pointer}"
            )
            yield (
                at,
                f"{pointer} is not a JSON pointer: it does not start with /",
                f"use {corrected}, or jqPathExpressions",
            )
        elif "[" in pointer or "*" in pointer.split("/"):
            yield (
                at,
                f"{pointer} matches nothing: JSON pointers support neither brackets nor wildcards",
                ("use jqPathExpressions"),
            )
        elif pointer.endswith("/") and pointer != "/":
            yield at, f"{pointer} ends with an empty key", f"use {pointer.rstrip('/')}"
        elif _escaped(pointer):
            yield at, f"{pointer}: a / inside a key must be escaped as ~1", f"use {_escaped(pointer)}"


def _escaped(pointer: str) -> str:
    """The pointer with the slash in the key of an annotation or label escaped; empty if there is none."""
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
            yield f"/jqPathExpressions/{number}", f"the jq expression is invalid: {problem}", ""
