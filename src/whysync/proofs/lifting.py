"""After a fix: which of the refusals that are replayed from texts has lost its reason.

Their reasons are often outside of the model (a policy, an account of another cluster). So each is looked at
anew after every deed; where nobody can know whether it is gone, that is said as a gap.
"""

from __future__ import annotations

from collections.abc import Iterable

from whysync.cluster.model.access import Question, may
from whysync.contracts.ref import Key
from whysync.contracts.tree import dig, items, text
from whysync.proofs.ground import Simulated
from whysync.proofs.refusals import Refusal
from whysync.semantics.messages import (
    AdmissionDenied,
    Failure,
    Forbidden,
    LimitRange,
    QuotaExceeded,
    WebhookDown,
)


def lift(world: Simulated, changed: Iterable[Key] = ()) -> list[str]:
    """Gives the gaps: what was taken for granted. `changed` are manifests that ask for something else now."""
    touched = frozenset(changed)
    gaps: list[str] = []

    def is_over(refusal: Refusal) -> bool:
        failure = refusal.failure
        match failure:
            case Forbidden():
                return _is_permitted(world, failure)
            case WebhookDown():
                return bool(failure.webhook) and not _is_configured(world, failure.webhook)
            case _ if refusal.ref.key in touched:
                gaps.append(f"whether {_judge(failure)} accepts {refusal.ref} as it is then")
                return True
            case _:
                return False

    world.writers.refusals.lift(is_over)
    return gaps


def _is_permitted(world: Simulated, failure: Forbidden) -> bool:
    asked = Question(
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


def _is_configured(world: Simulated, webhook: str) -> bool:
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
