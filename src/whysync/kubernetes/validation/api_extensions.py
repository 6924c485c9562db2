"""CustomResourceDefinitions, APIServices and webhook configurations.

Mirrors `apiextensions/validation`, `apiregistration/validation` and `admissionregistration/validation`,
Kubernetes 1.36. Differs: of schemas only the checks in `crd_schemas` are made, and CEL expressions are not
compiled.
"""

from __future__ import annotations

from whysync.json_tree import Json, Missing, Object, dig, fields, integer, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.crd_schemas import shared_schema, validate_schema
from whysync.kubernetes.validation.field_error import (
    IMMUTABLE,
    Problems,
    each,
    invalid,
    required,
    unsupported,
)
from whysync.kubernetes.validation.internal_types import internal_list
from whysync.kubernetes.validation.scalars import validate_enum, validate_optional_enum
from whysync.kubernetes.validation.selectors import validate_label_selector

_APPROVED = "api-approved.kubernetes.io"
_PRESERVING = (
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
)
_REVIEWS = ("v1", "v1beta1")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")


def validate_custom_resource_definition(obj: Object) -> Problems:
    spec = fields(obj.get("spec"))
    expected = f"{text(dig(spec, 'names', 'plural'))}.{text(spec.get('group'))}"

    def form(name: str) -> tuple[str, ...]:
        errors = names.dns_subdomain(name)
        return errors if name == expected else (*errors, 'must be spec.names.plural+"."+spec.group')

    yield from metadata.validate_object_meta_accessor(obj, form)
    yield from _validate_custom_resource_definition_spec(spec)
    yield from _validate_stored_versions(obj)
    yield from _validate_api_approval(obj, None)
    yield from _validate_preserve_unknown_fields(obj, None)


def validate_custom_resource_definition_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_accessor_update(old, new)
    old_spec, new_spec = fields(old.get("spec")), fields(new.get("spec"))
    # Schemas that were invalid before the change (accepted by an older server) are not validated again.
    yield from _validate_custom_resource_definition_spec(
        new_spec, with_schemas=not any(True for _ in _validate_schemas(old_spec))
    )
    established = any(
        fields(item).get("type") == "Established" and fields(item).get("status") == "True"
        for item in items(dig(old, "status", "conditions"))
    )
    immutable_fields = (
        ("scope", "names.kind", "group", "names.plural") if established else ("group", "names.plural")
    )
    for field in immutable_fields:
        old_value, new_value = (text(dig(side, *field.split("."))) for side in (old_spec, new_spec))
        if old_value != new_value:
            yield invalid(f"spec.{field}", new_value, IMMUTABLE)
    yield from _validate_stored_versions({**new, "status": old.get("status")})
    yield from _validate_api_approval(new, old)
    yield from _validate_preserve_unknown_fields(new, old)


def validate_api_service(obj: Object) -> Problems:
    spec = fields(obj.get("spec"))
    group, version = text(spec.get("group")), text(spec.get("version"))

    def form(name: str) -> tuple[str, ...]:
        errors = tuple(names.path_segment(name))
        if errors or name == f"{version}.{group}":
            return errors
        return (f'must be `spec.version+"."+spec.group`: "{version}.{group}"',)

    yield from metadata.validate_object_meta_accessor(obj, form)
    if group:
        yield from each("spec.group", group, names.dns_subdomain(group))
    elif version != "v1":
        yield required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    yield from each("spec.version", version, names.dns_1035_label(version))
    for field, maximum in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
        value = integer(spec.get(field))
        if not 0 < value <= maximum:
            yield invalid(f"spec.{field}", value, f"must be positive and less than {maximum}")
    yield from _validate_api_service_target(spec)


def validate_api_service_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_accessor_update(old, new)
    yield from validate_api_service(new)


def validate_webhook_configuration(obj: Object) -> Problems:
    yield from metadata.validate_object_meta_accessor(obj, names.dns_subdomain)
    for index, item in enumerate(items(obj.get("webhooks"))):
        hook, path = fields(item), f"webhooks[{index}]"
        yield from _validate_webhook(hook, path)
        yield from _validate_admission_review_versions(
            items(hook.get("admissionReviewVersions")), f"{path}.admissionReviewVersions"
        )


def validate_webhook_configuration_update(_: Object, new: Object) -> Problems:
    yield from validate_webhook_configuration(new)


def _validate_schemas(spec: Object) -> Problems:
    """Problems of the schemas, of each version or of the schema that all versions share."""
    versions = [fields(item) for item in items(spec.get("versions"))]
    for index, version in enumerate(versions):
        if not isinstance(dig(version, "schema", "openAPIV3Schema"), dict):
            yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
    common = shared_schema(versions)
    if common is not None:
        yield from validate_schema(common, "spec.validation.openAPIV3Schema")
        return
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}].schema.openAPIV3Schema"
        yield from validate_schema(dig(version, "schema", "openAPIV3Schema"), path)


def _validate_custom_resource_definition_spec(spec: Object, *, with_schemas: bool = True) -> Problems:
    group, versions = text(spec.get("group")), [fields(item) for item in items(spec.get("versions"))]
    yield from _validate_group(group, "spec.group")
    yield from validate_enum(spec.get("scope"), "spec.scope", ("Cluster", "Namespaced"), sort=False)
    schema_problems = tuple(_validate_schemas(spec)) if with_schemas else ()
    yield from (problem for problem in schema_problems if problem.path.startswith("spec.versions"))
    version_names = [text(version.get("name")) for version in versions]
    for index, name in enumerate(version_names):
        yield from _validate_version_name(name, f"spec.versions[{index}].name")
    if len(set(version_names)) < len(version_names):
        yield invalid("spec.versions", _internal_versions(spec), "must contain unique version names")
    if sum(version.get("storage") is True for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        yield invalid("spec.versions", _internal_versions(spec), detail)
    if version_names:  # internally `spec.version` is a copy of the first version's name
        yield from _validate_version_name(version_names[0], "spec.version")
    yield from _validate_custom_resource_definition_names(fields(spec.get("names")))
    yield from _validate_subresources_and_columns(versions)
    yield from (problem for problem in schema_problems if not problem.path.startswith("spec.versions"))


_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_REPLICA_PATHS = (
    ("specReplicasPath", (".spec.",), "should be a json path under .spec"),
    ("statusReplicasPath", (".status.",), "should be a json path under .status"),
    ("labelSelectorPath", (".spec.", ".status."), "should be a json path under either .spec or .status"),
)


def _validate_subresources_and_columns(versions: list[Object]) -> Problems:
    """What all versions share is reported at the spec, where the server stores it then."""
    for key, validate in (("subresources", _validate_scale), ("additionalPrinterColumns", _validate_columns)):
        values = [version.get(key) for version in versions]
        if values and all(value == values[0] for value in values):
            yield from validate(values[0], f"spec.{key}")
            continue
        for index, value in enumerate(values):
            yield from validate(value, f"spec.versions[{index}].{key}")


def _validate_scale(subresources: Json | Missing, path: str) -> Problems:
    scale = fields(subresources).get("scale")
    if not isinstance(scale, dict):
        return
    for key, prefixes, detail in _REPLICA_PATHS:
        value, key_path = text(scale.get(key)), f"{path}.scale.{key}"
        if not value:
            if key != "labelSelectorPath":
                yield required(key_path)
        elif not value.startswith("."):
            yield invalid(key_path, value, "must be a simple json path starting with .")
        elif not value.startswith(prefixes):
            yield invalid(key_path, value, detail)


def _validate_columns(columns: Json | Missing, path: str) -> Problems:
    for index, raw in enumerate(items(columns)):
        column, column_path = fields(raw), f"{path}[{index}]"
        if not column.get("name"):
            yield required(f"{column_path}.name")
        kind, form, json_path = (text(column.get(key)) for key in ("type", "format", "jsonPath"))
        one_of = f"must be one of {','.join(_COLUMN_TYPES)}"
        if not kind:
            yield required(f"{column_path}.type", one_of)
        elif kind not in _COLUMN_TYPES:
            yield invalid(f"{column_path}.type", kind, one_of)
        if form and form not in _COLUMN_FORMATS:
            yield invalid(f"{column_path}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}")
        if not json_path:
            yield required(f"{column_path}.JSONPath")
        elif not json_path.startswith("."):
            yield invalid(f"{column_path}.JSONPath", json_path, "must be a simple json path starting with .")


def _validate_version_name(name: str, path: str) -> Problems:
    errors = tuple(names.dns_1035_label(name))
    if errors:
        yield invalid(path, name, ",".join(errors))


def _internal_versions(spec: Object) -> Json:
    """The versions as the server prints them: a schema that all versions share is not part of them."""
    versions = [fields(item) for item in items(spec.get("versions"))]
    bare = list[Json]()
    common = shared_schema(versions) is not None
    for version in versions:
        bare.append({key: value for key, value in version.items() if key != "schema" or not common})
    return internal_list(bare, "apiextensions/v1.CustomResourceDefinitionVersion")


def _validate_group(group: str, path: str) -> Problems:
    errors = tuple(names.dns_subdomain(group))
    if not group:
        yield required(path)
    elif errors:
        yield invalid(path, group, ",".join(errors))
    elif "." not in group:
        yield invalid(path, group, "should be a domain with at least one dot")


def _validate_custom_resource_definition_names(crd_names: Object) -> Problems:
    path = "spec.names"
    for field in ("plural", "singular", "kind", "listKind"):
        if not text(crd_names.get(field)) and field in ("plural", "kind"):  # the server fills in the others
            yield required(f"{path}.{field}")
    for field in ("plural", "singular", "kind", "listKind"):
        value = text(crd_names.get(field))
        mixed = field in ("kind", "listKind")
        errors = tuple(names.dns_1035_label(value.lower() if mixed else value)) if value else ()
        if errors:
            prefix = "may have mixed case, but should otherwise match: " if mixed else ""
            yield invalid(f"{path}.{field}", value, prefix + ",".join(errors))
    for field in ("shortNames", "categories"):
        for index, item in enumerate(items(crd_names.get(field))):
            errors = tuple(names.dns_1035_label(text(item)))
            if errors:
                yield invalid(f"{path}.{field}[{index}]", text(item), ",".join(errors))
    if text(crd_names.get("kind")) and crd_names.get("kind") == crd_names.get("listKind"):
        prefix = "kind and listKind may not be the same"
        yield invalid(f"{path}.listKind", text(crd_names.get("listKind")), prefix)


def _validate_stored_versions(obj: Object) -> Problems:
    """The storage version may be missing: the server adds it before validation."""
    stored = [text(item) for item in items(dig(obj, "status", "storedVersions"))]
    versions = [fields(item) for item in items(dig(obj, "spec", "versions"))]
    if not stored:
        if not any(version.get("storage") is True for version in versions):
            yield invalid("status.storedVersions", None, "must have at least one stored version")
        return
    version_names = {text(version.get("name")) for version in versions}
    for index, name in enumerate(stored):
        if name not in version_names:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and "
                f"removes {name} from status.storedVersions"
            )
            yield invalid(f"status.storedVersions[{index}]", name, detail)


def _validate_api_approval(obj: Object, old: Object | None) -> Problems:
    group = text(dig(obj, "spec", "group"))
    if group not in ("k8s.io", "kubernetes.io") and not group.endswith((".k8s.io", ".kubernetes.io")):
        return
    annotations = fields(metadata.meta(obj).get("annotations"))
    if old is not None and (_APPROVED in fields(metadata.meta(old).get("annotations"))) == (
        _APPROVED in annotations
    ):
        return
    if not text(annotations.get(_APPROVED)):
        detail = (
            f'protected groups must have approval annotation "{_APPROVED}", '
            "see https://github.com/kubernetes/enhancements/pull/1111"
        )
        yield required(f"metadata.annotations[{_APPROVED}]", detail)


def _validate_preserve_unknown_fields(obj: Object, old: Object | None) -> Problems:
    if old is not None and dig(old, "spec", "preserveUnknownFields") is True:
        return
    if dig(obj, "spec", "preserveUnknownFields") is True:
        yield invalid("spec.preserveUnknownFields", value=True, detail=_PRESERVING)


def _validate_api_service_target(spec: Object) -> Problems:
    service, insecure = spec.get("service"), spec.get("insecureSkipTLSVerify") is True
    if not isinstance(service, dict):
        if insecure:
            detail = "local APIServices may not have insecureSkipTLSVerify"
            yield invalid("spec.insecureSkipTLSVerify", value=True, detail=detail)
        return
    for field in ("namespace", "name"):
        if not text(service.get(field)):
            yield required(f"spec.service.{field}")
    port = service.get("port")
    errors = tuple(names.port_number(443 if port is None else integer(port)))
    if errors:
        yield invalid("spec.service.port", port, f"port is not valid: {', '.join(errors)}")
    if insecure and text(spec.get("caBundle")):
        yield invalid(
            "spec.insecureSkipTLSVerify", value=True, detail="may not be true if caBundle is present"
        )


def _validate_webhook(hook: Object, path: str) -> Problems:
    name = text(hook.get("name"))
    errors = tuple(names.dns_subdomain(name))
    if not name:
        yield required(f"{path}.name")
    elif errors:
        yield invalid(f"{path}.name", name, ",".join(errors))
    elif name.count(".") < 2:
        detail = "should be a domain with at least three segments separated by dots"
        yield invalid(f"{path}.name", name, detail)
    for index, rule in enumerate(items(hook.get("rules"))):
        yield from _validate_rule_with_operations(fields(rule), f"{path}.rules[{index}]")
    yield from validate_optional_enum(hook.get("failurePolicy"), f"{path}.failurePolicy", ("Fail", "Ignore"))
    yield from validate_optional_enum(hook.get("matchPolicy"), f"{path}.matchPolicy", ("Equivalent", "Exact"))
    effects = hook.get("sideEffects")
    if effects is None:
        yield required(f"{path}.sideEffects", "must specify one of None, NoneOnDryRun")
    elif effects not in ("None", "NoneOnDryRun"):
        yield unsupported(f"{path}.sideEffects", effects, ("None", "NoneOnDryRun"))
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= integer(seconds) <= 30:
        detail = "the timeout value must be between 1 and 30 seconds"
        yield invalid(f"{path}.timeoutSeconds", integer(seconds), detail)
    for field in ("namespaceSelector", "objectSelector"):
        yield from validate_label_selector(hook.get(field), f"{path}.{field}")
    target = fields(hook.get("clientConfig"))
    if (target.get("url") is None) == (target.get("service") is None):
        yield required(f"{path}.clientConfig", "exactly one of url or service is required")
    elif target.get("service") is not None:
        # Upstream passes the two arguments in the wrong order, so the reported paths are swapped.
        for field, reported_as in (("namespace", "name"), ("name", "namespace")):
            if not text(fields(target.get("service")).get(field)):
                yield required(f"{path}.clientConfig.service.{reported_as}")


def _validate_rule_with_operations(rule: Object, path: str) -> Problems:
    operations = items(rule.get("operations"))
    if not operations:
        yield required(f"{path}.operations")
    if len(operations) > 1 and "*" in operations:
        detail = "if '*' is present, must not specify other operations"
        yield invalid(f"{path}.operations", operations, detail)
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            yield unsupported(f"{path}.operations[{index}]", operation, _OPERATIONS)
    for field, plural in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = items(rule.get(field))
        if not values:
            yield required(f"{path}.{field}")
        if len(values) > 1 and "*" in values:
            yield invalid(f"{path}.{field}", values, f"if '*' is present, must not specify other {plural}")
    if not items(rule.get("resources")):
        yield required(f"{path}.resources")
    yield from validate_optional_enum(rule.get("scope"), f"{path}.scope", ("*", "Cluster", "Namespaced"))


def _validate_admission_review_versions(versions: list[Json], path: str) -> Problems:
    if not versions:
        yield required(path, f"must specify one of {', '.join(_REVIEWS)}")
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid(f"{path}[{index}]", version, "duplicate version")
            continue
        yield from each(f"{path}[{index}]", text(version), names.dns_1035_label(text(version)))
    if not any(version in _REVIEWS for version in versions):
        yield invalid(path, versions, f"must include at least one of {', '.join(_REVIEWS)}")
