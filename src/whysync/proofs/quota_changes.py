"""After a fix: which of the refusals that are replayed from texts has lost its reason.

Their reasons are often outside of the model (a policy, an account of another cluster). So each is looked at
anew after every deed; where nobody can know whether it is gone, that is said as a gap.
"""

from __future__ import annotations

from collections.abc import Iterable

from whysync.json_tree import dig, fields, items, text
from whysync.kubernetes.api.ref import Key
from whysync.kubernetes.apiserver.rbac_authorizer import AccessQuestion, may
from whysync.kubernetes.controllers.pod_control import is_ready
from whysync.messages.failure import Failure, Network
from whysync.messages.patterns.admission import AdmissionDenied, WebhookDown
from whysync.messages.patterns.apply import LimitRange, QuotaExceeded
from whysync.messages.patterns.rbac import Forbidden
from whysync.proofs.refusals import Refusal
from whysync.proofs.world import SimulatedCase
from whysync.queries.service_backends import is_selected


def lift(world: SimulatedCase, changed: Iterable[Key] = (), *, written: bool = True) -> list[str]:
    """Gives the gaps: what was taken for granted. `changed` are manifests that ask for something else now.

    What says the same as the live object is not `written`: nobody judges it.
    """
    touched = frozenset(changed)
    gaps: list[str] = []

    def is_over(refusal: Refusal) -> bool:
        failure = refusal.failure
        match failure:
            case Forbidden():
                return _is_permitted(world, failure)
            case WebhookDown():
                if failure.webhook and not _is_configured(world, failure.webhook):
                    return True
                if _is_answered(world, failure):
                    name = failure.webhook or "the webhook"
                    gaps.append(f"whether {name} accepts {refusal.ref} once it answers")
                    return True
                return False
            case _ if refusal.ref.key in touched:
                if written:
                    gaps.append(f"whether {_judge(failure)} accepts {refusal.ref} as it is then")
                return True
            case _:
                return False

    world.writers.refusals.lift(is_over)
    return gaps


def _is_permitted(world: SimulatedCase, failure: Forbidden) -> bool:
    asked = AccessQuestion(
        user=failure.user,
        groups=(),
        verb=failure.verb,
        group=failure.group,
        plural=failure.resource,
        subresource="",
        namespace=failure.namespace,
        name=failure.name,
    )
    return bool(failure.user) and may(world.simulation.model.store, asked)


def _is_answered(world: SimulatedCase, failure: WebhookDown) -> bool:
    """Nobody stood behind its Service, and a ready Pod does now."""
    if failure.reason is not Network.NO_ENDPOINTS:
        return False
    objects = [
        obj
        for obj in world.simulation.model.objects()
        if dig(obj, "metadata", "namespace") == failure.namespace
    ]
    service = next(
        (
            obj
            for obj in objects
            if obj.get("kind") == "Service" and dig(obj, "metadata", "name") == failure.service
        ),
        None,
    )
    chosen = fields(dig(service, "spec", "selector")) if service is not None else {}
    return any(
        obj.get("kind") == "Pod"
        and is_ready(obj)
        and is_selected(fields(dig(obj, "metadata", "labels")), chosen)
        for obj in objects
    )


def _is_configured(world: SimulatedCase, webhook: str) -> bool:
    return any(
        text(dig(one, "name")) == webhook
        for obj in world.simulation.model.objects()
        if text(obj.get("kind")).endswith("WebhookConfiguration")
        for one in items(obj.get("webhooks"))
    )


def _judge(failure: Failure) -> str:
    match failure:
        case AdmissionDenied():
            return failure.policy or failure.webhook or "the admission policy"
        case QuotaExceeded():
            return f"quota {failure.quota}" if failure.quota else "the quota"
        case LimitRange():
            return "the LimitRange"
        case _:
            return "the API server"
