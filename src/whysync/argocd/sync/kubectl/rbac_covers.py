"""Which permissions a list of RBAC rules lacks. Mirrors `validation.Covers`, Kubernetes 1.36."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from whysync.json_tree import Json, Object, fields, items


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    @staticmethod
    def of(raw: Json) -> Rule:
        rule = fields(raw)
        return Rule(
            verbs=_texts(rule.get("verbs")),
            groups=_texts(rule.get("apiGroups")),
            resources=_texts(rule.get("resources")),
            names=_texts(rule.get("resourceNames")),
            urls=_texts(rule.get("nonResourceURLs")),
        )

    @property
    def body(self) -> Object:
        rule_fields: dict[str, tuple[str, ...]] = {
            "apiGroups": self.groups,
            "resources": self.resources,
            "verbs": self.verbs,
            "resourceNames": self.names,
            "nonResourceURLs": self.urls,
        }
        return {key: list(values) for key, values in rule_fields.items() if values}

    def __str__(self) -> str:
        """As Go prints the struct."""
        return (
            f"{{Verbs:{_go(self.verbs)} APIGroups:{_go(self.groups)} Resources:{_go(self.resources)} "
            f"ResourceNames:{_go(self.names)} NonResourceURLs:{_go(self.urls)}}}"
        )


def missing_rules(existing: Sequence[Rule], desired: Sequence[Rule]) -> list[Rule]:
    """The single permissions of `desired` that `existing` does not cover."""
    permissions = (permission for rule in desired for permission in _breakdown_rule(rule))
    return [
        permission for permission in permissions if not any(_covers(rule, permission) for rule in existing)
    ]


def _breakdown_rule(rule: Rule) -> Iterator[Rule]:
    for group in rule.groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                if not rule.names:
                    yield Rule(verbs=(verb,), groups=(group,), resources=(resource,))
                for name in rule.names:
                    yield Rule(verbs=(verb,), groups=(group,), resources=(resource,), names=(name,))
    for url in rule.urls:
        for verb in rule.verbs:
            yield Rule(verbs=(verb,), urls=(url,))


def _covers(owner: Rule, permission: Rule) -> bool:
    return (
        ("*" in owner.verbs or set(permission.verbs) <= set(owner.verbs))
        and ("*" in owner.groups or set(permission.groups) <= set(owner.groups))
        and (
            "*" in owner.resources or all(_has_resource(owner, resource) for resource in permission.resources)
        )
        and (not owner.names or (bool(permission.names) and set(permission.names) <= set(owner.names)))
        and all(any(_covers_url(own, url) for own in owner.urls) for url in permission.urls)
    )


def _has_resource(owner: Rule, resource: str) -> bool:
    """Does the rule cover the resource? `*/scale` matches that subresource of all resources."""
    if resource in owner.resources:
        return True
    _, slash, sub = resource.partition("/")
    return bool(slash) and f"*/{sub}" in owner.resources


def _covers_url(owner: str, url: str) -> bool:
    return owner == url or (owner.endswith("*") and url.startswith(owner.rstrip("*")))


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(item for item in items(value) if isinstance(item, str))


def _go(values: tuple[str, ...]) -> str:
    return f"[{' '.join(values)}]"
