"""Quotas: the hard limits that a workload needs, and how many of its replicas run now."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import msgspec

from whysync.diagnosis.rule import Fact
from whysync.facts.snapshot import Gap, GapKind
from whysync.golang.quantity import canonical_quantity, quantity_value
from whysync.json_tree import Missing, Object, dig, integer
from whysync.kubernetes.api.ref import Ref
from whysync.queries.commands import kubectl

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_MI: Final = 2**20
_LOSSES: Final = {
    "services": "its address and the traffic to it",
    "persistentvolumeclaims": "its data, unless its PersistentVolume is retained",
    "secrets": "its data, which others may read",
    "configmaps": "its data, which others may read",
}
_SERVICE_TYPES: Final = {"services.loadbalancers": "LoadBalancer", "services.nodeports": "NodePort"}
_COUNTED: Final = frozenset({*_LOSSES, *_SERVICE_TYPES, "replicationcontrollers", "resourcequotas"})


class CountedResource(msgspec.Struct, frozen=True, kw_only=True):
    """A limit on the number of objects, and the objects that count."""

    name: str
    """As in the quota: `services.loadbalancers`, `count/deployments.apps`."""
    kind: str
    """As an argument of kubectl."""
    service_type: str = ""
    loss: str
    """What is lost with such an object."""


def not_seen(case: Case, kind: str, namespace: str, name: str = "") -> tuple[Gap, ...]:
    """A gap for the object that rejected something before, if the facts have live objects but not this one.

    Argo CD's API shows no quotas and no LimitRanges: what they permit now is not known.
    """
    if not case.has(Fact.LIVE):
        return ()
    plural = f"{kind.lower()}s"
    command = kubectl("get", plural, *([name] if name else []), "-o", "yaml", namespace=namespace)
    gap = Gap(
        kind=GapKind.NOT_COLLECTED,
        what=f"{kind} {namespace}/{name}" if name else f"{kind}s of namespace {namespace}",
        why="something was rejected before; what is permitted now was not seen",
        how_to_get=command,
    )
    return (gap,)


def counted_resources(requested: str) -> Iterator[CountedResource]:
    """The limits on numbers of objects in `services.loadbalancers=1,requests.cpu=500m`; not of Pods."""
    for pair in requested.split(","):
        name = pair.strip().partition("=")[0]
        plain = name.removeprefix("count/")
        if name not in _COUNTED and (plain == name or plain == "pods"):
            continue
        kind = plain.partition(".")[0] if name in _SERVICE_TYPES else plain
        yield CountedResource(
            name=name,
            kind=kind,
            service_type=_SERVICE_TYPES.get(name, ""),
            loss=_LOSSES.get(kind, "with everything that it owns"),
        )


class AmountLeft(msgspec.Struct, frozen=True, kw_only=True):
    """A resource of which a quota has less left than was requested."""

    name: str
    left: str
    needed: str
    """The hard limit that the request would need."""

    @property
    def is_empty(self) -> bool:
        return not quantity_value(self.left)

    @property
    def field(self) -> str:
        """Where a container or claim requests it; `cpu` and `memory` count requests."""
        of_class = ".storageclass." in self.name  # gold.storageclass.storage.k8s.io/requests.storage
        side, _, resource = (self.name.rpartition("/")[2] if of_class else self.name).partition(".")
        return f"resources.{side}.{resource}" if resource else f"resources.requests.{side}"


def amounts_left(requested: str, used: str, limited: str) -> tuple[AmountLeft, ...]:
    """What a quota has left of each resource of `limits.memory=8Gi,pods=1`, where that is not enough."""
    of_used, of_limited = (dict(_amounts(text)) for text in (used, limited))
    result: list[AmountLeft] = []
    for name, amount in _amounts(requested):
        used_amount, limited_amount = of_used.get(name), of_limited.get(name)
        if used_amount is None or limited_amount is None or used_amount + amount <= limited_amount:
            continue
        left = max(limited_amount - used_amount, Fraction())
        needed = _quantity_text(name, used_amount + amount)
        result.append(AmountLeft(name=name, left=_quantity_text(name, left), needed=needed))
    return tuple(result)


def _amounts(amounts: str) -> Iterator[tuple[str, Fraction]]:
    for pair in amounts.split(","):
        name, _, amount = pair.strip().partition("=")
        value = quantity_value(amount)
        if value is not None:
            yield name, value


def ready_and_desired(case: Case, ref: Ref) -> tuple[int, int] | None:
    """Ready and desired replicas of a workload that has too few; `None` during a rollout.

    During a rollout, Pods of the previous version count too.
    """
    live = case.live_of(ref.key)
    if live is None or ref.kind not in ("Deployment", "ReplicaSet", "StatefulSet"):
        return None
    desired, ready = integer(live.spec.get("replicas"), 1), integer(live.status.get("readyReplicas"))
    current = integer(live.status.get("replicas"))
    if ref.kind == "Deployment" and integer(live.status.get("updatedReplicas")) != current:
        return None
    return (ready, desired) if ready == current < desired else None


def has_room(quota: Object, requested: str) -> bool:
    """Does the quota have room for `services=1,requests.cpu=500m`?"""
    return required_hard_limits(quota, requested, 1) == {}


def required_hard_limits(quota: Object, requested: str, times: int) -> dict[str, str] | None:
    """The hard limits that `times` more of the requested amounts need; only those that are too low.

    Empty if everything fits; `None` if an amount is unknown.
    """
    result: dict[str, str] = {}
    for pair in requested.split(","):
        name, _, amount = pair.strip().partition("=")
        hard, used = dig(quota, "spec", "hard", name), dig(quota, "status", "used", name)
        hard_value, used_value, requested_value = (
            quantity_value(hard),
            quantity_value(used),
            quantity_value(amount),
        )
        if isinstance(hard, Missing) or hard_value is None or used_value is None or requested_value is None:
            return None
        needed = used_value + requested_value * times
        if needed > hard_value:
            result[name] = _quantity_text(name, needed)
    return result


def _quantity_text(name: str, value: Fraction) -> str:
    """A readable quantity: bytes in Mi if possible, fractions of a CPU in thousandths."""
    if ("memory" in name or "storage" in name) and value.denominator == 1 and value.numerator % _MI == 0:
        return canonical_quantity(f"{value.numerator // _MI}Mi")
    if value.denominator == 1:
        return canonical_quantity(str(value.numerator))
    return canonical_quantity(f"{-(-value.numerator * 1000 // value.denominator)}m")
