"""An ignore rule that hides whole kinds or whole sections of an object.

## Why
Real drift is hidden: if `/spec` of a Deployment is ignored, a changed image is reported as Synced.

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

_SECTIONS = (
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
_SECTIONS_JQ = (
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


@rule(layer=Layer.ARGOCD, severity=Severity.WARNING, cause="ignore-rule-too-broad", since="0.1")
def ignore_rule_too_broad(tree: Tree) -> Iterator[Finding]:
    for app in tree.app_specs:
        for number, raw in enumerate(items(app.spec.get("ignoreDifferences"))):
            rule = fields(raw)
            at = f"{app.at}/ignoreDifferences/{number}"
            name = text(rule.get("name"))
            for list_name, sections in (("jsonPointers", _SECTIONS), ("jqPathExpressions", _SECTIONS_JQ)):
                for index, raw_path in enumerate(items(rule.get(list_name))):
                    path = text(raw_path).strip() or text(raw_path)
                    if path in sections and not (name and path in ("/data", ".data", "/rules", ".rules")):
                        target = f"{text(rule.get('kind')) or 'any kind'}{f' {name}' if name else ''}"
                        yield finding(
                            app.item,
                            f"the ignore rule hides all of {path or 'the object'} of {target}",
                            field=f"{at}/{list_name}/{index}",
                            hint="name only the fields that other programs write",
                        )
            if rule.get("kind") == "*" and items(rule.get("managedFieldsManagers")) and not name:
                yield finding(
                    app.item,
                    "the ignore rule hides all fields of some managers in objects of every kind",
                    field=f"{at}/kind",
                    hint="set the kind",
                    severity=Severity.INFO,
                )
