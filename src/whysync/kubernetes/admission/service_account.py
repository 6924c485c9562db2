"""ServiceAccounts that Pods run as have to be there.

Mirrors the `ServiceAccount` admission of Kubernetes 1.36. Differs: where a namespace has no `default`
account, as in a part of a cluster that was loaded without them, none is asked for; and no token is mounted.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Object, dig, text
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.status_errors import forbidden
from whysync.kubernetes.apiserver.storage import Store

_ACCOUNTS: Final = ("", "serviceaccounts")


def check_account(pod: Object, told: str, call: RequestContext, store: Store) -> None:
    """`told` is the name as it was asked for: of a generated one, only the beginning is known by then."""
    if call.resource.kind != "Pod" or call.resource.group:
        return
    namespace, name = call.address.namespace, text(dig(pod, "spec", "serviceAccountName"))
    if not name or store.get((_ACCOUNTS, namespace, name)) is not None:
        return
    if store.get((_ACCOUNTS, namespace, "default")) is None:
        return
    why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
    raise forbidden("pods", "", told, why)
