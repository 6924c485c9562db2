"""CustomResourceDefinitions, APIServices, webhook configurations: what extends the API.

Mirrors `apiextensions/validation`, `apiregistration/validation` and `admissionregistration/validation`,
Kubernetes 1.36. Differs: the schemas of a definition are only checked for being there and for naming their
types, and CEL expressions are not compiled.
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.crd_schemas import schema_problems, shared_schema
from whysync.kubernetes.validation.field_error import (
    IMMUTABLE,
    Problems,
    each,
    invalid,
    required,
    unsupported,
)
from whysync.kubernetes.validation.internal_types import internal_list
from whysync.kubernetes.validation.scalars import one_of, optional_one_of
from whysync.kubernetes.validation.selectors import label_selector

_APPROVED = "api-approved.kubernetes.io"
_PRESERVING = (
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
)
_REVIEWS = ("v1", "v1beta1")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")


def definition(obj: Object) -> Problems:
    spec = fields(obj.get("spec"))
    expected = f"{text(dig(spec, 'names', 'plural'))}.{text(spec.get('group'))}"

    def form(name: str) -> Iterator[str]:
        yield from names.dns_subdomain(name)
        if name != expected:
            yield 'must be spec.names.plural+"."+spec.group'

    yield from metadata.on_create_generic(obj, form)
    yield from _definition_spec(spec)
    yield from _stored_versions(obj)
    yield from _approval(obj, None)
    yield from _preserving(obj, None)


def definition_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update_generic(old, new)
    before, after = fields(old.get("spec")), fields(new.get("spec"))
    # What an older server took is not held against a change.
    yield from _definition_spec(after, with_schemas=not any(True for _ in _schemas(before)))
    established = any(
        fields(item).get("type") == "Established" and fields(item).get("status") == "True"
        for item in items(dig(old, "status", "conditions"))
    )
    kept = ("scope", "names.kind", "group", "names.plural") if established else ("group", "names.plural")
    for field in kept:
        was, now = (text(dig(side, *field.split("."))) for side in (before, after))
        if was != now:
            yield invalid(f"spec.{field}", now, IMMUTABLE)
    yield from _stored_versions({**new, "status": old.get("status")})
    yield from _approval(new, old)
    yield from _preserving(new, old)


def api_service(obj: Object) -> Problems:
    spec = fields(obj.get("spec"))
    group, version = text(spec.get("group")), text(spec.get("version"))

    def form(name: str) -> Iterator[str]:
        wrong = tuple(names.path_segment(name))
        yield from wrong
        if not wrong and name != f"{version}.{group}":
            yield f'must be `spec.version+"."+spec.group`: "{version}.{group}"'

    yield from metadata.on_create_generic(obj, form)
    if group:
        yield from each("spec.group", group, names.dns_subdomain(group))
    elif version != "v1":
        yield required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    yield from each("spec.version", version, names.dns_1035_label(version))
    for field, most in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
        value = integer(spec.get(field))
        if not 0 < value <= most:
            yield invalid(f"spec.{field}", value, f"must be positive and less than {most}")
    yield from _api_service_target(spec)


def api_service_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update_generic(old, new)
    yield from api_service(new)


def webhooks(obj: Object) -> Problems:
    yield from metadata.on_create_generic(obj, names.dns_subdomain)
    for index, item in enumerate(items(obj.get("webhooks"))):
        hook, path = fields(item), f"webhooks[{index}]"
        yield from _webhook(hook, path)
        yield from _review_versions(
            items(hook.get("admissionReviewVersions")), f"{path}.admissionReviewVersions"
        )


def webhooks_on_update(_: Object, new: Object) -> Problems:
    yield from webhooks(new)


def _schemas(spec: Object) -> Problems:
    """What is wrong with the schemas: of the versions one by one, or of all together."""
    versions = [fields(item) for item in items(spec.get("versions"))]
    for index, version in enumerate(versions):
        if not isinstance(dig(version, "schema", "openAPIV3Schema"), dict):
            yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
    common = shared_schema(versions)
    if common is not None:
        yield from schema_problems(common, "spec.validation.openAPIV3Schema")
        return
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}].schema.openAPIV3Schema"
        yield from schema_problems(dig(version, "schema", "openAPIV3Schema"), path)


def _definition_spec(spec: Object, *, with_schemas: bool = True) -> Problems:
    group, versions = text(spec.get("group")), [fields(item) for item in items(spec.get("versions"))]
    yield from _domain(group, "spec.group")
    yield from one_of(spec.get("scope"), "spec.scope", ("Cluster", "Namespaced"), sort=False)
    wrong = tuple(_schemas(spec)) if with_schemas else ()
    yield from (problem for problem in wrong if problem.path.startswith("spec.versions"))
    called = [text(version.get("name")) for version in versions]
    for index, name in enumerate(called):
        yield from _version_name(name, f"spec.versions[{index}].name")
    if len(set(called)) < len(called):
        yield invalid("spec.versions", _shown(spec), "must contain unique version names")
    if sum(version.get("storage") is True for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        yield invalid("spec.versions", _shown(spec), detail)
    if called:  # the first version is also kept under the name that it had in older API versions
        yield from _version_name(called[0], "spec.version")
    yield from _definition_names(fields(spec.get("names")))
    yield from (problem for problem in wrong if not problem.path.startswith("spec.versions"))


def _version_name(name: str, path: str) -> Problems:
    wrong = tuple(names.dns_1035_label(name))
    if wrong:
        yield invalid(path, name, ",".join(wrong))


def _shown(spec: Object) -> Json:
    """A schema, subresources or columns that all versions share are held once, above the versions."""
    versions = [fields(item) for item in items(spec.get("versions"))]
    bare = list[Json]()
    common = shared_schema(versions) is not None
    for version in versions:
        bare.append({key: value for key, value in version.items() if key != "schema" or not common})
    return internal_list(bare, "apiextensions/v1.CustomResourceDefinitionVersion")


def _domain(group: str, path: str) -> Problems:
    wrong = tuple(names.dns_subdomain(group))
    if not group:
        yield required(path)
    elif wrong:
        yield invalid(path, group, ",".join(wrong))
    elif "." not in group:
        yield invalid(path, group, "should be a domain with at least one dot")


def _definition_names(crd_names: Object) -> Problems:
    path = "spec.names"
    for field in ("plural", "singular", "kind", "listKind"):
        if not text(crd_names.get(field)) and field in ("plural", "kind"):  # the server fills in the others
            yield required(f"{path}.{field}")
    for field in ("plural", "singular", "kind", "listKind"):
        value = text(crd_names.get(field))
        mixed = field in ("kind", "listKind")
        wrong = tuple(names.dns_1035_label(value.lower() if mixed else value)) if value else ()
        if wrong:
            prefix = "may have mixed case, but should otherwise match: " if mixed else ""
            yield invalid(f"{path}.{field}", value, prefix + ",".join(wrong))
    for field in ("shortNames", "categories"):
        for index, item in enumerate(items(crd_names.get(field))):
            wrong = tuple(names.dns_1035_label(text(item)))
            if wrong:
                yield invalid(f"{path}.{field}[{index}]", text(item), ",".join(wrong))
    if text(crd_names.get("kind")) and crd_names.get("kind") == crd_names.get("listKind"):
        prefix = "kind and listKind may not be the same"
        yield invalid(f"{path}.listKind", text(crd_names.get("listKind")), prefix)


def _stored_versions(obj: Object) -> Problems:
    """The storage version need not be among them: the server itself adds it before it looks."""
    stored = [text(item) for item in items(dig(obj, "status", "storedVersions"))]
    versions = [fields(item) for item in items(dig(obj, "spec", "versions"))]
    if not stored:
        if not any(version.get("storage") is True for version in versions):
            yield invalid("status.storedVersions", None, "must have at least one stored version")
        return
    known = {text(version.get("name")) for version in versions}
    for index, name in enumerate(stored):
        if name not in known:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and "
                f"removes {name} from status.storedVersions"
            )
            yield invalid(f"status.storedVersions[{index}]", name, detail)


def _approval(obj: Object, old: Object | None) -> Problems:
    group = text(dig(obj, "spec", "group"))
    if group not in ("k8s.io", "kubernetes.io") and not group.endswith((".k8s.io", ".kubernetes.io")):
        return
    marks = fields(metadata.meta(obj).get("annotations"))
    if old is not None and (_APPROVED in fields(metadata.meta(old).get("annotations"))) == (
        _APPROVED in marks
    ):
        return
    if not text(marks.get(_APPROVED)):
        detail = (
            f'protected groups must have approval annotation "{_APPROVED}", '
            "see https://github.com/kubernetes/enhancements/pull/1111"
        )
        yield required(f"metadata.annotations[{_APPROVED}]", detail)


def _preserving(obj: Object, old: Object | None) -> Problems:
    if old is not None and dig(old, "spec", "preserveUnknownFields") is True:
        return
    if dig(obj, "spec", "preserveUnknownFields") is True:
        yield invalid("spec.preserveUnknownFields", value=True, detail=_PRESERVING)


def _api_service_target(spec: Object) -> Problems:
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
    wrong = tuple(names.port_number(443 if port is None else integer(port)))
    if wrong:
        yield invalid("spec.service.port", port, f"port is not valid: {', '.join(wrong)}")
    if insecure and text(spec.get("caBundle")):
        yield invalid(
            "spec.insecureSkipTLSVerify", value=True, detail="may not be true if caBundle is present"
        )


def _webhook(hook: Object, path: str) -> Problems:
    name = text(hook.get("name"))
    wrong = tuple(names.dns_subdomain(name))
    if not name:
        yield required(f"{path}.name")
    elif wrong:
        yield invalid(f"{path}.name", name, ",".join(wrong))
    elif name.count(".") < 2:
        detail = "should be a domain with at least three segments separated by dots"
        yield invalid(f"{path}.name", name, detail)
    for index, rule in enumerate(items(hook.get("rules"))):
        yield from _webhook_rule(fields(rule), f"{path}.rules[{index}]")
    yield from optional_one_of(hook.get("failurePolicy"), f"{path}.failurePolicy", ("Fail", "Ignore"))
    yield from optional_one_of(hook.get("matchPolicy"), f"{path}.matchPolicy", ("Equivalent", "Exact"))
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
        yield from label_selector(hook.get(field), f"{path}.{field}")
    target = fields(hook.get("clientConfig"))
    if (target.get("url") is None) == (target.get("service") is None):
        yield required(f"{path}.clientConfig", "exactly one of url or service is required")
    elif target.get("service") is not None:
        # Upstream hands over the two in the wrong order, so each is missed under the other's name.
        for field, told_as in (("namespace", "name"), ("name", "namespace")):
            if not text(fields(target.get("service")).get(field)):
                yield required(f"{path}.clientConfig.service.{told_as}")


def _webhook_rule(rule: Object, path: str) -> Problems:
    operations = items(rule.get("operations"))
    if not operations:
        yield required(f"{path}.operations")
    if len(operations) > 1 and "*" in operations:
        detail = "if '*' is present, must not specify other operations"
        yield invalid(f"{path}.operations", operations, detail)
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            yield unsupported(f"{path}.operations[{index}]", operation, _OPERATIONS)
    for field, called in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = items(rule.get(field))
        if not values:
            yield required(f"{path}.{field}")
        if len(values) > 1 and "*" in values:
            yield invalid(f"{path}.{field}", values, f"if '*' is present, must not specify other {called}")
    if not items(rule.get("resources")):
        yield required(f"{path}.resources")
    yield from optional_one_of(rule.get("scope"), f"{path}.scope", ("*", "Cluster", "Namespaced"))


def _review_versions(versions: list[Json], path: str) -> Problems:
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
