"""What the records of sync_run.jsonl give: a request, a cluster, and a state to start from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from tests.argocd.sync.stub import StubClusterOps
from whysync.argocd.api.application import HealthCode, Phase
from whysync.argocd.compare.reconcile_pairs import Pair
from whysync.argocd.health.assess import Assessment
from whysync.argocd.health.verdict import HealthVerdict
from whysync.argocd.sync.cluster_ops import Reason, Refused
from whysync.argocd.sync.options import SyncOptions
from whysync.argocd.sync.request import NamespaceMaker, NamespaceProblem, Request
from whysync.argocd.sync.results import Result, State
from whysync.json_tree import Json, Object, fields, integer, items, text
from whysync.kubernetes.api.ref import Key, ref_of

_NOW: Final = datetime(2024, 3, 13, 12, tzinfo=UTC)
_STATUS: Final = {401: Reason.UNAUTHORIZED, 404: Reason.NOT_FOUND, 409: Reason.CONFLICT}
_EVER: Final = 1_000


def object_or_none(value: Json) -> Object | None:
    return value if isinstance(value, dict) else None


def pairs_of(value: Json) -> tuple[Pair, ...]:
    result = (fields(item) for item in items(value))
    return tuple(
        Pair(object_or_none(item.get("target")), object_or_none(item.get("live"))) for item in result
    )


def _hooks(record: Object) -> tuple[Object, ...]:
    return tuple(fields(hook) for hook in items(record.get("hooks")))


def request_of(record: Object, pairs: Json) -> Request:
    document = fields(record.get("options"))
    option = document.get("default_prune_option")
    options = SyncOptions(
        prune=document.get("prune") is True,
        prune_option=option if isinstance(option, str) else None,
        prune_last=document.get("prune_last") is True,
        validate=document.get("validate") is not False,
        skip_hooks=document.get("skip_hooks") is True,
        out_of_sync_only=document.get("apply_out_of_sync_only") is True,
        skip_dry_run_on_missing=document.get("skip_dry_run_on_missing_resource") is True,
    )
    refusal = record.get("permission_error")
    known = [fields(modification) for modification in items(record.get("modifications"))]
    return Request(
        namespace=text(document.get("namespace")),
        revision=text(document.get("revision")),
        pairs=pairs_of(pairs),
        hooks=_hooks(record),
        options=options,
        started_at=_NOW,
        manager=text(document.get("server_side_apply_manager")),
        modified={_key(item): item.get("modified") is True for item in known},
        permission_problem=lambda _obj, _kind: text(refusal) or None,
        make_namespace=_namespace_maker(document),
    )


def _key(raw: Object) -> Key:
    return Key(*(text(raw.get(field)) for field in ("group", "kind", "namespace", "name")))


def _namespace_maker(inputs: Object) -> NamespaceMaker | None:
    """As in Argo CD's own tests, the default accepts every Namespace unchanged."""
    document = fields(inputs.get("namespace_modifier"))
    if inputs.get("create_namespace") is not True and not document:
        return None

    def make(namespace: Object, _live: Object | None) -> Object | None:
        if "error" in document:
            raise NamespaceProblem(text(document["error"]))
        return None if document.get("returns") is False else namespace

    return make


def ground_of(record: Object) -> StubClusterOps:
    objects = (fields(cluster_obj) for cluster_obj in items(record.get("cluster_objects")))
    verdicts = {
        name: Assessment(
            verdict=HealthVerdict(
                HealthCode(text(fields(value).get("status"))), text(fields(value).get("message"))
            )
        )
        for name, value in fields(record.get("health")).items()
    }
    delete_error = text(record.get("delete_error"))
    update_error = text(record.get("update_error"))
    pause_error = text(record.get("wave_callback_error"))
    return StubClusterOps(
        objects={ref_of(obj): obj for obj in objects},
        verdicts=verdicts,
        apply_errors=_texts(record.get("apply_errors")),
        dry_run_errors=_texts(record.get("dry_run_errors")),
        discovery_errors=_discovery_errors(fields(record.get("discovery"))),
        unknown_kinds=frozenset() if items(record.get("custom_kinds_served")) else frozenset({"TestCrd"}),
        delete_error=Refused(delete_error, reason=_reason(delete_error)) if delete_error else None,
        update_error=Refused(update_error) if update_error else None,
        pause_error=Refused(pause_error) if pause_error else None,
    )


def _texts(value: Json) -> dict[str, str]:
    return {name: text(result) for name, result in fields(value).items()}


def _reason(name: str) -> Reason:
    return Reason(name) if name in list(Reason) else Reason.OTHER


def _discovery_errors(result: Object) -> list[Refused]:
    if not result:
        return []
    reason = _STATUS.get(integer(result.get("http_status")), Reason.OTHER)
    message = text(result.get("error"), "discovery is refused")
    return [Refused(message, reason=reason) for _ in range(integer(result.get("failures"), _EVER))]


def state_of(recorded: Object) -> State:
    return State(
        phase=text(recorded.get("phase"), Phase.RUNNING.value),
        message=text(recorded.get("message")),
        results=tuple(result_of(fields(result)) for result in items(recorded.get("results"))),
    )


def result_of(recorded: Object) -> Result:
    return Result(
        group=text(recorded.get("group")),
        kind=text(recorded.get("kind")),
        namespace=text(recorded.get("namespace")),
        name=text(recorded.get("name")),
        status=text(recorded.get("status")),
        message=text(recorded.get("message")),
        hook_phase=text(recorded.get("hook_phase")),
        sync_phase=text(recorded.get("sync_phase")),
    )
