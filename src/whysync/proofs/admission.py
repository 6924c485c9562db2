"""Admission as the facts show it: changes by webhooks and defaults, refusals, quotas.

The facts show what a webhook does only through live objects: fields that live has in addition to Git are
added whenever Git's value is written. All other webhooks allow everything. A refusal whose reason is not in
the facts is replayed from its message, as long as the same object is requested.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from whysync.argocd.simulation.simulation import Simulation
from whysync.diagnosis.case import Case
from whysync.diagnosis.drift import Drift
from whysync.diagnosis.failures import ReportedFailure
from whysync.diagnosis.fix import Remove, Set
from whysync.fixes.edit import edited
from whysync.json_tree import MISSING, Json, Missing, Object, dig, fields, items, same, text
from whysync.kubernetes.admission.webhooks import Webhook
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.ref import Key, Ref, ref_of
from whysync.kubernetes.apiserver.status_errors import Refused
from whysync.kubernetes.controllers.resource_quota import QUOTAS
from whysync.messages.failure import Failure
from whysync.messages.patterns.admission import AdmissionDenied, WebhookDown
from whysync.messages.patterns.apply import AlreadyExists, LimitRange, QuotaExceeded
from whysync.messages.patterns.rbac import Forbidden
from whysync.messages.patterns.schema import SecretEncoding
from whysync.proofs.partial_objects import unmasked
from whysync.queries.already_fixed import proof_of_fix
from whysync.queries.quotas import has_room

_MUTATING_WEBHOOK: Final = "seen.whysync.dev"
_CONFIGURATIONS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


class AdmissionChange(msgspec.Struct, frozen=True, kw_only=True):
    """A field of one object that admission changes from `desired` to `live`."""

    key: Key
    pointer: str
    desired: Json | Missing
    live: Json | Missing


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """Webhooks of a cluster: their configurations and their responses."""

    objects: tuple[Object, ...] = ()
    webhooks: Mapping[str, Webhook] = msgspec.field(default_factory=dict[str, Webhook])


def admission_of(case: Case, changes: Iterable[AdmissionChange], drifts: Iterable[Drift]) -> Admission:
    """Webhooks in the facts allow everything; one more makes the changes that live objects show."""
    webhooks: dict[str, Webhook] = {
        text(fields(raw).get("name")): _allow
        for kind in _CONFIGURATIONS
        for live_object in case.live_of_kind(kind)
        for raw in items(live_object.body.get("webhooks"))
    }
    by_key: defaultdict[Key, list[AdmissionChange]] = defaultdict(list)
    for change in changes:
        by_key[change.key].append(change)
    if not by_key:
        return Admission(webhooks=webhooks)
    names = {drift.key: drift.ref.key for drift in drifts}

    def mutate(obj: Object) -> Object:
        key = ref_of(obj).key
        for change in by_key.get(names.get(key, key), ()):
            obj = _mutated(obj, change)
        return obj

    return Admission(
        objects=(webhook_configuration(_MUTATING_WEBHOOK, "MutatingWebhookConfiguration"),),
        webhooks={**webhooks, _MUTATING_WEBHOOK: mutate},
    )


def _allow(obj: Object) -> Object:
    return obj


def webhook_configuration(name: str, kind: str) -> Object:
    """Configuration of a webhook that receives all requests."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": name,
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Ignore",
                "clientConfig": {"url": "https://seen.whysync.dev"},
                "rules": [
                    {
                        "apiGroups": ["*"],
                        "apiVersions": ["*"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": ["*"],
                    }
                ],
            }
        ],
    }


def _mutated(obj: Object, change: AdmissionChange) -> Object:
    if isinstance(change.desired, Missing):
        return obj if isinstance(change.live, Missing) else _added(obj, change.pointer, change.live)
    if not same(pointers.resolve(obj, change.pointer), change.desired):
        return obj
    if isinstance(change.live, Missing):
        return edited(obj, [Remove(pointer=change.pointer)])
    return edited(obj, [Set(pointer=change.pointer, value=change.live)])


def _added(obj: Object, pointer: str, value: Json) -> Object:
    """Add a value that only the live object has, unless the field or list element exists."""
    parts = pointers.split(pointer)
    parent = pointers.resolve(obj, pointers.join(parts[:-1]))
    if isinstance(parent, list):
        name = dig(value, "name")
        exists = value in parent or (
            name is not MISSING and any(dig(element, "name") == name for element in parent)
        )
        end = pointers.join((*parts[:-1], str(len(parent))))
        return obj if exists else edited(obj, [Set(pointer=end, value=value)])
    if isinstance(pointers.resolve(obj, pointer), Missing):
        return edited(obj, [Set(pointer=pointer, value=value)])
    return obj


_VALIDATING_WEBHOOK: Final = "refused.whysync.dev"
_KUBECTL_PREFIX: Final = re.compile(r'\Aerror when (?:patching|replacing) "[^"]*": ')
"""The prefix that kubectl adds to the server's message, and adds again in the simulation."""
_CODES: Final[dict[type[Failure], tuple[int, str]]] = {
    Forbidden: (403, "Forbidden"),
    QuotaExceeded: (403, "Forbidden"),
    LimitRange: (403, "Forbidden"),
    AdmissionDenied: (400, ""),
    WebhookDown: (500, "InternalError"),
    AlreadyExists: (409, "AlreadyExists"),
    # Values are masked in the facts, so the simulation cannot detect invalid base64.
    SecretEncoding: (400, "BadRequest"),
}


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was refused for a reason outside the simulation."""

    ref: Ref
    failure: Failure
    message: str
    requested: Object
    """The refused object; a different one may be accepted."""


class Refusals:
    """The refusals that still apply, by object."""

    def __init__(self, case: Case) -> None:
        self._by_key: dict[Key, Refusal] = {}
        for result in case.results:
            if result.status != "SyncFailed" and result.hook_phase not in ("Failed", "Error"):
                continue
            desired = case.desired_of(result.key)
            reported = _reported(case, result.ref)
            if desired is None or reported is None:
                continue
            if proof_of_fix(case, reported.failure, result.ref.namespace) is not None:
                continue
            self._by_key[(reported.ref or result.ref).key] = Refusal(
                ref=result.ref,
                failure=reported.failure,
                message=result.message,
                requested=_requested(unmasked(desired.body)),
            )

    @property
    def admission(self) -> Admission:
        """A validating webhook that repeats the refusals."""
        if not self._by_key:
            return Admission()
        objects = (webhook_configuration(_VALIDATING_WEBHOOK, "ValidatingWebhookConfiguration"),)
        return Admission(objects=objects, webhooks={_VALIDATING_WEBHOOK: self._review})

    @property
    def all(self) -> tuple[Refusal, ...]:
        return tuple(self._by_key.values())

    def lift(self, which: Callable[[Refusal], bool]) -> int:
        """Remove the refusals that `which` selects, and return their number."""
        lifted = [key for key, refusal in self._by_key.items() if which(refusal)]
        for key in lifted:
            del self._by_key[key]
        return len(lifted)

    def _review(self, obj: Object) -> Object:
        refusal = self._by_key.get(ref_of(obj).key)
        if refusal is not None and _requests_same(refusal.requested, obj):
            code, reason = _CODES[type(refusal.failure)]
            raise Refused(code, reason, _KUBECTL_PREFIX.sub("", refusal.message))
        return obj


def _reported(case: Case, ref: Ref) -> ReportedFailure[Failure] | None:
    for kind in _CODES:
        for failure in case.failures(kind):
            # Sync results have a namespace even for cluster-scoped objects.
            if failure.ref is not None and failure.ref.key in (ref.key, ref.key._replace(namespace="")):
                return failure
    return None


def _requested(body: Object) -> Object:
    return {key: value for key, value in body.items() if key not in ("metadata", "status")}


def _requests_same(requested: Object, obj: Object) -> bool:
    """Does the object still have every field that was refused? The server may have added others."""
    return all(_is_subset(value, obj.get(key)) for key, value in requested.items())


def _is_subset(small: Json, large: Json) -> bool:
    if isinstance(small, dict) and isinstance(large, dict):
        return all(_is_subset(value, large.get(key)) for key, value in small.items())
    if isinstance(small, list) and isinstance(large, list):
        return len(small) <= len(large) and all(map(_is_subset, small, large))
    return small == large or str(small) == str(large)


class Quotas:
    """Makes raised quotas effective immediately, and lifts the refusals that they caused.

    `used` stays as it was read: most of what a quota counts is not part of the simulation.
    """

    def __init__(self, case: Case, refusals: Refusals) -> None:
        self._case = case
        self._refusals = refusals
        self._seen = -1

    def start(self, simulation: Simulation) -> None:
        self._store = simulation.api_server.store

    def reconcile(self) -> bool:
        if self._store.writes(QUOTAS) == self._seen:
            return False
        written = False
        for key, obj in list(self._store.within(QUOTAS)):
            hard, status = fields(dig(obj, "spec", "hard")), fields(obj.get("status"))
            if hard != fields(status.get("hard")):
                self._store.put(key, {**obj, "status": {**status, "hard": hard}})
                written = True
        self._refusals.lift(self._is_resolved)
        self._seen = self._store.writes(QUOTAS)
        return written

    def next_wakeup(self) -> None:
        """Acts only on changes."""

    def _is_resolved(self, refusal: Refusal) -> bool:
        failure = refusal.failure
        if not isinstance(failure, QuotaExceeded) or not failure.quota or not failure.requested:
            return False
        quota = self._quota(refusal.ref.namespace or self._case.destination_namespace, failure.quota)
        return quota is not None and has_room(quota, failure.requested)

    def _quota(self, namespace: str, name: str) -> Object | None:
        return self._store.get((QUOTAS, namespace, name))
