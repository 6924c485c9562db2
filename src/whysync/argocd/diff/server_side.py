"""Server-side diff: compares with the result of a dry run of a server-side apply.

Mirrors gitops-engine `ServerSideDiff`, Argo CD 3.6. By default fields that Argo CD does not own keep their
live value, so that changes of mutating webhooks and defaults are not differences.
"""

from __future__ import annotations

from whysync.argocd.diff.diff import type_for
from whysync.argocd.diff.normalize import normalize
from whysync.argocd.diff.options import DiffOptions, prepared
from whysync.argocd.diff.remarshal import remarshal, scheme_type
from whysync.argocd.diff.result import DiffResult, Sides
from whysync.json_tree import Json, Missing, Object, fields, items, same
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.merge.errors import DiffError
from whysync.kubernetes.merge.last_applied import without_last_applied
from whysync.kubernetes.merge.structured import (
    FieldSet,
    Schemas,
    TypeErrors,
    compare,
    field_set,
    merge,
    remove_items,
    validate,
)
from whysync.kubernetes.merge.structured.fieldset import from_fields_v1, keys_of


def server_side_diff(desired: Object, live: Object, options: DiffOptions) -> DiffResult:
    try:
        sides = _sides(desired, live, options)
    except DiffError as problem:
        raise DiffError(f"error calculating server side diff: serverSideDiff error: {problem}") from None
    return DiffResult(
        modified=not same(sides.live, sides.predicted), way="server-side", compute_sides=lambda: sides
    )


def _sides(desired: Object, live: Object, options: DiffOptions) -> Sides:
    if options.dry_run is None:
        raise DiffError("serverSideDryRunner is null")
    desired = prepared(desired, options, with_rules=False)
    live = prepared(live, options, with_rules=False)
    ref = ref_of(desired)
    try:
        predicted = options.dry_run(desired)
    except DiffError as problem:
        raise DiffError(
            f"error running server side apply in dryrun mode for resource {ref.kind}/{ref.name}: {problem}"
        ) from None
    if options.ignore_mutation_webhook:
        try:
            predicted = without_webhook_mutations(predicted, live, options.manager, options.schemas)
        except DiffError as problem:
            raise DiffError(
                f"error removing non config mutations for resource {ref.kind}/{ref.name}: {problem}"
            ) from None
    return Sides(_finished(live, options), _finished(remarshal(predicted), options), scheme_type(desired))


def _finished(obj: Object, options: DiffOptions) -> Object:
    """Normalized with all rules, without fields that every write changes."""
    obj = normalize(
        obj, ignore_aggregated_roles=options.ignore_aggregated_roles, normalizer=options.normalizer
    )
    obj = without_last_applied(obj)
    meta = fields(obj.get("metadata"))
    if "managedFields" not in meta and "resourceVersion" not in meta:
        return obj
    remaining = {key: value for key, value in meta.items() if key not in {"managedFields", "resourceVersion"}}
    return {**obj, "metadata": remaining}


def without_webhook_mutations(
    predicted: Object, live: Object, manager: str, schemas: Schemas | None = None
) -> Object:
    """The prediction with only the manager's own fields changed.

    Mirrors gitops-engine `removeWebhookMutation`.
    """
    claims = items(fields(predicted.get("metadata")).get("managedFields"))
    if not claims:
        ref = ref_of(predicted)
        raise DiffError(f"predictedLive for resource {ref.kind}/{ref.name} must have the managedFields")
    atom = type_for(predicted, schemas)
    for obj, which in ((predicted, "predicted live"), (live, "live")):
        try:
            validate(obj, atom)
        except TypeErrors as problem:
            ref = ref_of(predicted)
            gvk = f"{ref.group}/{ref.version}, Kind={ref.kind}"
            raise DiffError(f"error converting {which} state from unstructured to {gvk}: {problem}") from None
    owned = _owned(claims, manager)
    if not owned:
        raise DiffError(f"no managed fields found for manager: {manager}")
    foreign = without_owned_ancestors(field_set(predicted, atom).difference(owned), owned)
    try:
        removed = compare(live, predicted, atom).removed.difference(foreign)
    except DiffError as problem:
        raise DiffError(f"error comparing predicted resource to live resource: {problem}") from None
    mine = remove_items(predicted, _without_composite_keys(foreign), atom)
    try:
        merged = merge(live, mine, atom)
    except DiffError as problem:
        raise DiffError(f"error applying predicted live to live state: {problem}") from None
    result = remove_items(_json(merged), removed, atom) if removed else _json(merged)
    if not isinstance(result, dict):
        raise DiffError("error converting live typedValue: expected map got <nil>")
    return result


def _json(value: Json | Missing) -> Json:
    return None if isinstance(value, Missing) else value


def _owned(claims: list[Json], manager: str) -> FieldSet:
    """The fields that the manager owns with any operation."""
    own = FieldSet()
    for claim in claims:
        try:
            owned = from_fields_v1(fields(claim).get("fieldsV1"))
        except ValueError as problem:
            raise DiffError(f"error building managedFields set: {problem}") from None
        if fields(claim).get("manager") == manager:
            own = own.union(owned)
    return own


def without_owned_ancestors(removed: FieldSet, owned: FieldSet) -> FieldSet:
    """The fields that may be removed: none with a field of the manager below it.

    Mirrors gitops-engine `excludeManagerOwnedAncestors`. Below free-form fields the server records only
    leaves, so removing a parent would remove them too.
    """
    members = {step for step in removed.members if not owned.below(step)}
    children = {
        step: without_owned_ancestors(child, owned.below(step)) for step, child in removed.children.items()
    }
    return FieldSet(members, {step: child for step, child in children.items() if child})


def _without_composite_keys(removed: FieldSet) -> FieldSet:
    """Without fields of composite list keys, which identify an item."""
    return FieldSet.of(path for path in removed.paths() if not _is_composite_key(path))


def _is_composite_key(path: tuple[str, ...]) -> bool:
    last = path[-1]
    if not last.startswith("f:"):
        return False
    return any(len(keys) > 1 and last[2:] in keys for keys in map(keys_of, path[:-1]))
