"""The next step for an error that an operator reports about one of its objects."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING, Final

from whysync.diagnosis.fix import Fix
from whysync.diagnosis.sentences import both_ends, one_line
from whysync.json_tree import dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.operator_errors import Demand, OperatorError, challenge_type, operator_error
from whysync.queries.check_commands import pods_and_logs
from whysync.queries.commands import comment, kubectl, on_object, with_comment

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_SHORT: Final = 100
_EXTERNAL_SECRETS: Final = "external-secrets.io"


def remedy(case: Case, ref: Ref, reason: str, *then: str, title_end: str = "") -> Fix:
    """The fix for what `ref` reports: what to grant, create or raise, where the text names it."""
    error = operator_error(reason)
    live = case.live_of(ref.key) or case.live_named(ref.kind, ref.namespace, ref.name)
    key = _remote_key(live)
    if error is None and (ref.group, ref.kind) == ("acme.cert-manager.io", "Challenge"):
        return _challenge(ref, live, reason, *then, title_end=title_end)
    if error is None and (ref.group, ref.kind) == ("cert-manager.io", "Certificate"):
        return _not_issued(ref, *then, title_end=title_end)
    return Fix.run(
        on_object("describe", ref),
        *(pods_and_logs(ref) if error is None else ()),
        *_stores(live),
        *((comment(_step(error, key)),) if error is not None else ()),
        *_at_once(ref),
        *then,
        title=(_title(error, ref, key) if error is not None else _unknown(ref, reason)) + title_end,
        risk="a new permission applies to everything that uses this identity"
        if error is not None and error.demand is Demand.PERMISSION
        else "",
    )


def _not_issued(ref: Ref, *then: str, title_end: str) -> Fix:
    """A Certificate reports that it is being issued; why that takes long is reported further down."""
    requests = "certificaterequests,orders.acme.cert-manager.io,challenges.acme.cert-manager.io"
    return Fix.run(
        on_object("describe", ref),
        kubectl("get", requests, namespace=ref.namespace),
        kubectl("describe", requests, namespace=ref.namespace),
        *then,
        title=f"Find out why {ref} is not issued: its request, order or challenge reports it" + title_end,
    )


def _challenge(ref: Ref, live: Manifest | None, reason: str, *then: str, title_end: str) -> Fix:
    """The check of cert-manager before it asks the ACME server: does the name answer with the token?"""
    spec = live.spec if live is not None else {}
    name = text(spec.get("dnsName")) or "DNS_NAME"
    solver = text(spec.get("type")) or challenge_type(reason)
    issuer = _stores(live, "its solvers: class, provider, credentials")
    look = () if spec.get("dnsName") else (with_comment(on_object("describe", ref), "its spec.dnsName"),)
    if solver == "HTTP-01":
        return Fix.run(
            *look,
            with_comment(f"dig +short {quote(name)}", "the address of the ingress controller?"),
            with_comment(
                kubectl(
                    "get",
                    "ingress,svc,pods",
                    "-l",
                    "acme.cert-manager.io/http01-solver=true",
                    namespace=ref.namespace,
                ),
                "the solver: does it run, and does its Ingress have the right class?",
            ),
            with_comment(
                f"curl -sI http://{quote(name)}/.well-known/acme-challenge/TOKEN",
                "TOKEN: spec.token of the Challenge; a redirect or a catch-all rule must not answer it",
            ),
            *issuer,
            *then,
            title=f"Let http://{name}/.well-known/acme-challenge/ reach the solver: DNS, class, redirects"
            + title_end,
        )
    if solver == "DNS-01":
        record = f"_acme-challenge.{name.removeprefix('*.')}"
        return Fix.run(
            *look,
            with_comment(f"dig +short TXT {quote(record)}", "is the record there? at all name servers?"),
            with_comment(f"dig +short CNAME {quote(record)}", "delegated to another zone?"),
            *issuer,
            *then,
            title=f"Let the solver write {record}: zone, provider credentials, name servers" + title_end,
        )
    return Fix.run(on_object("describe", ref), *issuer, *then, title=_unknown(ref, reason) + title_end)


def _unknown(ref: Ref, reason: str) -> str:
    """A long reason is not repeated: it is the root cause above."""
    if len(reason) > _SHORT:
        return f"Solve what {ref} reports; its controller then tries again"
    return f"Solve what {ref} reports: {one_line(reason)}"


def in_short(reason: str) -> str:
    """`role eso-prod is not allowed secretsmanager:GetSecretValue on prod/db`, or the text itself."""
    error = operator_error(reason)
    if error is None or error.demand is not Demand.PERMISSION or not (error.who and error.action):
        return both_ends(reason)
    code = f" ({error.code})" if error.code else ""
    on = f" on {error.subject}" if error.subject else ""
    return f"{error.who} is not allowed {error.action}{on}{code}"


def _title(error: OperatorError, ref: Ref, key: str) -> str:
    subject = error.subject or key
    on = f" on {subject}" if subject else ""
    match error.demand:
        case Demand.PERMISSION:
            return f"Allow {error.who or 'the identity that its controller uses'} {error.action}{on}"
        case Demand.MISSING:
            return (
                f"Create {subject or 'the object that is missing'} in the store, or correct its name in {ref}"
            )
        case Demand.QUOTA:
            return (
                f"Raise the quota{' ' + error.subject if error.subject else ''}, or delete what is not needed"
            )
        case Demand.LOGIN:
            return f"Renew the credentials with which the controller of {ref} logs in"


def _step(error: OperatorError, key: str) -> str:
    subject = error.subject or key
    match error.demand:
        case Demand.PERMISSION:
            allowed = f"{error.action} on {subject}" if subject else error.action
            return f"allow it in the policy of {error.who or 'the identity in the message'}: {allowed}"
        case Demand.MISSING:
            return f"the service has no {subject or 'such object'}: create it there, or correct it in Git"
        case Demand.QUOTA:
            return "raise the limit where it is set, or delete there what is no longer needed"
        case Demand.LOGIN:
            return "renew the Secret or the identity that the store or provider refers to"


def _stores(live: Manifest | None, has: str = "the credentials that it uses") -> Iterator[str]:
    """The store or issuer that the object refers to, which has the credentials."""
    for name in ("secretStoreRef", "issuerRef", "providerConfigRef"):
        reference = fields(live.spec.get(name)) if live is not None else {}
        kind, target = text(reference.get("kind")), text(reference.get("name"))
        if live is not None and kind and target:
            namespace = "" if kind.startswith("Cluster") else live.ref.namespace
            yield with_comment(
                kubectl("get", kind.lower(), target, "-o", "yaml", namespace=namespace),
                has,
            )


def _remote_key(live: Manifest | None) -> str:
    """The key that an ExternalSecret reads from its store, if it reads only one."""
    if live is None or live.ref.group != _EXTERNAL_SECRETS:
        return ""
    keys = {text(dig(item, "remoteRef", "key")) for item in items(live.spec.get("data"))}
    keys |= {text(dig(item, "extract", "key")) for item in items(live.spec.get("dataFrom"))}
    keys.discard("")
    return keys.pop() if len(keys) == 1 else ""


def _at_once(ref: Ref) -> Iterator[str]:
    """Operators try again by themselves; External Secrets only after its refresh interval."""
    if (ref.group, ref.kind) == (_EXTERNAL_SECRETS, "ExternalSecret"):
        yield with_comment(
            on_object("annotate", ref, "force-sync=1", "--overwrite"),
            "any value that differs from the last one: reads it again now instead of after refreshInterval",
        )
