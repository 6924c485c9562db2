"""An ignore rule that hides whole kinds or whole sections.

## Why
Nobody sees real drift in there any more: with `/spec` of a Deployment ignored, another image is Synced.

## Bad
```yaml
ignoreDifferences:
  - group: "*"
    kind: "*"
    jsonPointers: [/spec]
```

## Good
```yaml
ignoreDifferences:
  - group: apps
    kind: Deployment
    name: web
    jsonPointers: [/spec/replicas]
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import fields, items, text
from whysync.manifests.files import finding
from whysync.manifests.tree import Tree

_WHOLE = (
    "",
    "/",
    "/spec",
    "/metadata",
    "/data",
    "/spec/template",
    "/spec/template/spec",
    "/stringData",
    "/rules",
)
_WHOLE_JQ = (
    ".",
    ".spec",
    ".metadata",
    ".data",
    ".spec.template",
    ".spec.template.spec",
    ".[]",
    "..",
    ".rules",
)


@rule(layer=Layer.ARGOCD, severity=Severity.WARNING, cause="ignore-rule-too-broad", since="0.2")
def ignore_rule_too_broad(tree: Tree) -> Iterator[Finding]:
    for app in tree.app_specs:
        for number, raw in enumerate(items(app.spec.get("ignoreDifferences"))):
            rule = fields(raw)
            at = f"{app.at}/ignoreDifferences/{number}"
            named = text(rule.get("name"))
            for place, known in (("jsonPointers", _WHOLE), ("jqPathExpressions", _WHOLE_JQ)):
                for index, given in enumerate(items(rule.get(place))):
                    written = text(given).strip() or text(given)
                    if written in known and not (named and written in ("/data", ".data", "/rules", ".rules")):
                        whose = f"{text(rule.get('kind')) or 'any kind'}{f' {named}' if named else ''}"
                        yield finding(
                            app.item,
                            f"this ignore rule hides all of {written or 'the object'} of {whose}",
                            field=f"{at}/{place}/{index}",
                            hint="name the fields that others write",
                        )
            if rule.get("kind") == "*" and items(rule.get("managedFieldsManagers")) and not named:
                yield finding(
                    app.item,
                    "this ignore rule hides what some managers write in objects of every kind",
                    field=f"{at}/kind",
                    hint="name the kind",
                    severity=Severity.INFO,
                )
