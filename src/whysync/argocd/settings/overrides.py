"""`resource.customizations`: overrides per kind, in one YAML value or in split keys.

    resource.customizations: |                      resource.customizations.health.<group>_<Kind>: |
      <group>/<Kind>:                                 …
        health.lua: |
          …

Mirrors `GetResourceOverrides` and `GetIgnoreResourceUpdatesOverrides`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import replace

from whysync.argocd.settings.yaml_values import (
    Malformed,
    field,
    flag_field,
    mapping,
    read_yaml,
    sequence,
    text_field,
    texts_field,
)
from whysync.golang.glob import glob_match
from whysync.json_tree import Json, Object, fields

CUSTOMIZATIONS: Final = "resource.customizations"
EVERY_KIND: Final = "*/*"


class IgnoreRule(msgspec.Struct, frozen=True, kw_only=True):
    json_pointers: tuple[str, ...] = ()
    jq_path_expressions: tuple[str, ...] = ()
    managed_fields_managers: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.json_pointers or self.jq_path_expressions or self.managed_fields_managers)

    def __add__(self, other: IgnoreRule) -> IgnoreRule:
        return IgnoreRule(
            json_pointers=self.json_pointers + other.json_pointers,
            jq_path_expressions=self.jq_path_expressions + other.jq_path_expressions,
            managed_fields_managers=self.managed_fields_managers + other.managed_fields_managers,
        )

    def as_json(self) -> Object:
        return {
            "jsonPointers": list(self.json_pointers),
            "jqPathExpressions": list(self.jq_path_expressions),
            "managedFieldsManagers": list(self.managed_fields_managers),
        }


class KnownTypeField(msgspec.Struct, frozen=True, kw_only=True):
    field: str
    """Dotted: `spec.template.spec`."""
    type: str
    """Such as `core/v1/PodSpec`."""


class ResourceOverride(msgspec.Struct, frozen=True, kw_only=True):
    health_lua: str = ""
    use_open_libs: bool = False
    actions: str = ""
    ignore_differences: IgnoreRule = IgnoreRule()
    ignore_resource_updates: IgnoreRule = IgnoreRule()
    known_type_fields: tuple[KnownTypeField, ...] = ()

    def as_json(self) -> Object:
        """As in argocd-cm, but with structured rules."""
        return {
            "health.lua": self.health_lua,
            "health.lua.useOpenLibs": self.use_open_libs,
            "actions": self.actions,
            "ignoreDifferences": self.ignore_differences.as_json(),
            "ignoreResourceUpdates": self.ignore_resource_updates.as_json(),
            "knownTypeFields": [
                {"field": known.field, "type": known.type} for known in self.known_type_fields
            ],
        }


Overrides: TypeAlias = Mapping[str, ResourceOverride]
"""By `<group>/<Kind>`, or `<Kind>` for the core group; a key may be a glob."""


def health_override(overrides: Overrides, group: str, kind: str) -> ResourceOverride | None:
    """The override that has a health script for this kind: the exact key first, then globs.

    Mirrors `GetHealthScript`, Argo CD 3.6; differs: if several globs match, upstream's choice is random; here
    it is the first key in order.
    """
    key = f"{group}/{kind}" if group else kind
    exact = overrides.get(key)
    if exact is not None and exact.health_lua:
        return exact
    if not overrides:
        return None
    scripted = sorted(pattern for pattern, override in overrides.items() if override.health_lua)
    return next((overrides[pattern] for pattern in scripted if glob_match(pattern, key)), None)


def known_type_fields(overrides: Overrides) -> dict[tuple[str, str], tuple[KnownTypeField, ...]]:
    """By group and kind. Mirrors `NewKnownTypesNormalizer`, Argo CD 3.6, with its one preset."""
    type_fields: dict[tuple[str, str], tuple[KnownTypeField, ...]] = {}
    for key in sorted(overrides):
        if overrides[key].known_type_fields and key.count("/") < 2:
            group, _, kind = key.rpartition("/")
            type_fields[group, kind] = overrides[key].known_type_fields
    preset = KnownTypeField(field="spec.template.spec", type="core/v1/PodSpec")
    type_fields.setdefault(("argoproj.io", "Rollout"), (preset,))
    return type_fields


def overrides_from_json(tree: Object) -> dict[str, ResourceOverride]:
    """Overrides by `<group>/<Kind>`, with rules as text (argocd-cm) or structured (the settings API)."""
    return {key: _override(mapping(value, "v1alpha1.rawResourceOverride")) for key, value in tree.items()}


def read_overrides(data: Mapping[str, str]) -> dict[str, ResourceOverride]:
    """All overrides of argocd-cm, before the rule for `/status` is added."""
    overrides: dict[str, ResourceOverride] = {}
    if combined := data.get(CUSTOMIZATIONS):
        tree = mapping(read_yaml(combined), "map[string]v1alpha1.ResourceOverride")
        for value in tree.values():
            _refuse_structured_rules(fields(value))
        overrides = overrides_from_json(tree)
    for key in sorted(data):
        # `resource.customizations.<type>.<group>_<Kind>`; upstream ignores keys with fewer parts
        parts = key.split(".", 3)
        if key.startswith(CUSTOMIZATIONS) and len(parts) == 4:
            try:
                name = _override_key(parts[3])
                override = overrides.get(name, ResourceOverride())
                overrides[name] = _with_split_key(override, parts[2], data[key])
            except Malformed as problem:
                raise Malformed(str(problem), key=key) from None
    return overrides


def with_ignored_pointer(overrides: Overrides, key: str, pointer: str) -> dict[str, ResourceOverride]:
    override = overrides.get(key, ResourceOverride())
    rule = override.ignore_differences + IgnoreRule(json_pointers=(pointer,))
    return {**overrides, key: replace(override, ignore_differences=rule)}


def resource_update_overrides(
    overrides: Overrides, *, ignore_differences_too: bool
) -> dict[str, ResourceOverride]:
    """The rules that decide whether a change of a live object triggers a refresh."""
    changed: dict[str, ResourceOverride] = {}
    for key, override in overrides.items():
        rule = override.ignore_resource_updates
        if ignore_differences_too:
            rule = rule + override.ignore_differences
        changed[key] = replace(override, ignore_differences=rule, ignore_resource_updates=IgnoreRule())
    for name in ("resourceVersion", "generation", "managedFields"):
        changed = with_ignored_pointer(changed, EVERY_KIND, f"/metadata/{name}")
    return changed


def _override_key(group_kind: str) -> str:
    parts = group_kind.split("_")
    if len(parts) == 2:
        return f"{parts[0]}/{parts[1]}"
    if len(parts) == 1 and group_kind:
        return EVERY_KIND if group_kind == "all" else group_kind
    raise Malformed(
        "group kind should be in format `resource.customizations.<type>.<group_kind>` or "
        f"resource.customizations.<type>.<kind>`, got group kind: '{group_kind}'"
    )


def _with_split_key(override: ResourceOverride, kind: str, value: str) -> ResourceOverride:
    match kind:
        case "health":
            return replace(override, health_lua=value)
        case "useOpenLibs":
            return replace(override, use_open_libs=_go_bool(value))
        case "actions":
            return replace(override, actions=value)
        case "ignoreDifferences":
            return replace(override, ignore_differences=_rule(read_yaml(value)))
        case "ignoreResourceUpdates":
            return replace(override, ignore_resource_updates=_rule(read_yaml(value)))
        case "knownTypeFields":
            return replace(override, known_type_fields=_known_types(read_yaml(value)))
        case _:
            raise Malformed(f"resource customization type {kind} not supported")


def _override(raw: Object) -> ResourceOverride:
    owner = "rawResourceOverride"
    return ResourceOverride(
        health_lua=text_field(raw, "health.lua", owner, strict=True),
        use_open_libs=flag_field(raw, "health.lua.useOpenLibs", owner),
        actions=text_field(raw, "actions", owner, strict=True),
        ignore_differences=_rule_in(raw, "ignoreDifferences"),
        ignore_resource_updates=_rule_in(raw, "ignoreResourceUpdates"),
        known_type_fields=_known_types(field(raw, "knownTypeFields")),
    )


def _refuse_structured_rules(raw: Object) -> None:
    """In argocd-cm a rule is a string that contains YAML; nested YAML is a common mistake."""
    for name in ("ignoreDifferences", "ignoreResourceUpdates"):
        text_field(raw, name, "rawResourceOverride", strict=True)


def _rule_in(raw: Object, name: str) -> IgnoreRule:
    value = field(raw, name)
    return _rule(read_yaml(value) if isinstance(value, str) else value)


def _rule(value: Json) -> IgnoreRule:
    owner = "OverrideIgnoreDiff"
    raw = mapping(value, "v1alpha1.OverrideIgnoreDiff")
    return IgnoreRule(
        json_pointers=texts_field(raw, "jsonPointers", owner),
        jq_path_expressions=texts_field(raw, "jqPathExpressions", owner),
        managed_fields_managers=texts_field(raw, "managedFieldsManagers", owner),
    )


def _known_types(value: Json) -> tuple[KnownTypeField, ...]:
    type_fields: list[KnownTypeField] = []
    for item in sequence(value, "[]v1alpha1.KnownTypeField"):
        raw = mapping(item, "v1alpha1.KnownTypeField")
        owner = "KnownTypeField"
        type_fields.append(
            KnownTypeField(field=text_field(raw, "field", owner), type=text_field(raw, "type", owner))
        )
    return tuple(type_fields)


def _go_bool(value: str) -> bool:
    if value in ("1", "t", "T", "TRUE", "true", "True"):
        return True
    if value in ("0", "f", "F", "FALSE", "false", "False"):
        return False
    raise Malformed(f'strconv.ParseBool: parsing "{value}": invalid syntax')
