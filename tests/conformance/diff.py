"""Judges `diff.jsonl`: is a resource modified, and what would live look like?"""

from __future__ import annotations

import json

import msgspec

from tests.conformance.checks import failed_checks, mismatch
from tests.conformance.unreached.secret_masking import mask_secrets
from whysync.argocd import ignore_differences as ignore
from whysync.argocd.api.application import IgnoreDifference
from whysync.argocd.diff.diff import diff, strip_namespace
from whysync.argocd.diff.normalize import Normalizer, normalize, normalize_secret
from whysync.argocd.diff.options import DiffOptions, Strategy
from whysync.argocd.diff.remarshal import remarshal
from whysync.argocd.diff.result import DiffResult
from whysync.argocd.diff.server_side import without_owned_ancestors
from whysync.argocd.ignore_differences.remove_ignored import atom_for
from whysync.json_tree import Json, Object, copy_object, dig, fields, items, text
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.merge.last_applied import last_applied
from whysync.kubernetes.merge.structured import FieldSet, Schemas

_STRATEGIES = {
    "two-way": Strategy.LEGACY,
    "three-way": Strategy.LEGACY,
    "structured-merge": Strategy.STRUCTURED_MERGE,
    "server-side": Strategy.SERVER_SIDE,
}


def check(record: Object) -> list[str]:
    expect = fields(record.get("expect"))
    match record.get("op"):
        case "diff":
            return _check_result(_compared(record), expect)
        case "diff-array":
            pairs = zip(items(record.get("desired")), items(record.get("live")), strict=True)
            modified = any(diff(_object(desired), _object(live)).modified for desired, live in pairs)
            return mismatch("modified", expect.get("modified"), modified)
        case "state-diff":
            return _check_result(_state_compared(record), expect)
        case "mask-secret":
            return _check_masks(record, expect)
        case "normalize-secret":
            return failed_checks(normalize_secret(fields(record.get("object"))), expect.get("result"))
        case "remarshal":
            canonical = normalize(remarshal(fields(record.get("object"))))
            return failed_checks(canonical, expect.get("result"))
        case "strip-namespace":
            return failed_checks(strip_namespace(fields(record.get("object"))), expect.get("result"))
        case "exclude-owned-ancestors":
            return _check_ancestors(record, expect)
        case op:
            return [f"unknown op {op!r}"]


def _object(value: Json) -> Object | None:
    return value if isinstance(value, dict) else None


def _check_result(result: DiffResult, expect: Object) -> list[str]:
    failures = mismatch("modified", expect["modified"], result.modified) if "modified" in expect else []
    failures += failed_checks(result.predicted_live, expect.get("predicted_live"))
    return failures + failed_checks(result.normalized_live, expect.get("normalized_live"))


def _compared(record: Object, normalizer: Normalizer | None = None) -> DiffResult:
    options = fields(record.get("options"))
    ignored = [text(pointer) for pointer in items(options.get("ignore_json_pointers"))]
    answer = options.get("dry_run_result")
    return diff(
        _object(record.get("desired")),
        _object(record.get("live")),
        DiffOptions(
            strategy=_STRATEGIES[text(record.get("strategy"))],
            normalizer=normalizer or (_without(ignored) if ignored else None),
            ignore_aggregated_roles=bool(options.get("ignore_aggregated_roles")),
            manager=text(options.get("manager"), "argocd-controller"),
            schemas=_schemas(options.get("schema")),
            dry_run=(lambda _: fields(answer)) if isinstance(answer, dict) else None,
            ignore_mutation_webhook=options.get("ignore_mutation_webhook") is not False,
        ),
    )


def _schemas(openapi: Json) -> Schemas:
    """The vectors have an OpenAPI document where whysync reads CustomResourceDefinitions."""
    schemas = Schemas()
    for schema in fields(dig(openapi, "definitions")).values():
        for gvk in items(fields(schema).get("x-kubernetes-group-version-kind")):
            version: Object = {
                "name": text(fields(gvk).get("version")),
                "schema": {"openAPIV3Schema": schema},
            }
            names: Object = {"kind": text(fields(gvk).get("kind"))}
            spec: Object = {"group": text(fields(gvk).get("group")), "names": names, "versions": [version]}
            schemas.add_definitions([{"spec": spec}])
    return schemas


def _without(ignored: list[str]) -> Normalizer:
    def remove(obj: Object) -> Object:
        tree = copy_object(obj)
        for pointer in ignored:
            *parents, last = pointers.split(pointer)
            holder = pointers.resolve(tree, pointers.join(parents))
            fields(holder).pop(last, None)
        return tree

    return remove


def _state_compared(record: Object) -> DiffResult:
    """With the rules of an Application. Trusted managers come first: what they changed leaves both sides."""
    raw = items(fields(record.get("options")).get("ignore_differences"))
    rules = ignore.Normalizer.build(msgspec.convert(raw, tuple[IgnoreDifference, ...]))
    desired, live = fields(record.get("desired")), fields(record.get("live"))
    managers = rules.trusted_managers(ref_of(desired))
    live, desired = ignore.without_trusted_changes(live, desired, managers, atom_for(desired))
    return _compared({**record, "desired": desired, "live": live}, rules.normalize)


def _check_masks(record: Object, expect: Object) -> list[str]:
    hidden = [text(key) for key in items(fields(record.get("options")).get("hide_annotations"))]
    target, live = mask_secrets(
        _object(record.get("desired")), _object(record.get("live")), hide_annotations=hidden
    )
    failures = failed_checks(target, expect.get("desired")) + failed_checks(live, expect.get("live"))
    for side, name in ((target, "desired_last_applied"), (live, "live_last_applied")):
        if name in expect:
            applied = last_applied(side) if side is not None else None
            failures += failed_checks(applied, expect[name])
    return failures


def _check_ancestors(record: Object, expect: Object) -> list[str]:
    remaining = without_owned_ancestors(_field_set(record.get("to_remove")), _field_set(record.get("owned")))
    failures = [
        f"{path}: should stay" for path in items(expect.get("kept")) if not remaining.has(_path(path))
    ]
    failures += [f"{path}: should go" for path in items(expect.get("dropped")) if remaining.has(_path(path))]
    if expect.get("exact"):
        expected = sorted(_path(path) for path in items(expect.get("kept")))
        failures += mismatch("kept", json.dumps(expected), json.dumps(sorted(remaining.paths())))
    return failures


def _field_set(paths: Json) -> FieldSet:
    return FieldSet.of(_path(path) for path in items(paths))


def _path(path: Json) -> tuple[str, ...]:
    return tuple(f"f:{text(step)}" for step in items(path))
