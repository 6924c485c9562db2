"""Creates the ServiceAccount `default` and the ConfigMap `kube-root-ca.crt` in every namespace.

Mirrors the ServiceAccounts controller and the root CA certificate publisher, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Object
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.client import NAMESPACES, StatusError, is_terminating, name_of
from whysync.kubernetes.controllers.controller import QueueController
from whysync.kubernetes.controllers.object_index import Kind

_SERVICE_ACCOUNTS: Final = ("", "serviceaccounts")
_CONFIG_MAPS: Final = ("", "configmaps")
_ROOT_CA_CONFIG_MAP: Final = "kube-root-ca.crt"
_CERTIFICATE: Final = "-----BEGIN CERTIFICATE-----\nMIIBmodel\n-----END CERTIFICATE-----\n"
_DESCRIPTION: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints "
    "such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across "
    "distributions of Kubernetes clusters."
)


class ServiceAccountsController(QueueController):
    name = "serviceaccount"
    main = NAMESPACES

    @property
    def watches(self) -> frozenset[Kind] | None:
        return frozenset({NAMESPACES, _SERVICE_ACCOUNTS, _CONFIG_MAPS})

    def on_event(self, change: Change) -> None:
        kind, namespace, name = change.object_key
        if kind == NAMESPACES:
            if change.type == "ADDED":
                self.queue.add(("", name))
        elif change.type == "DELETED" and name in ("default", _ROOT_CA_CONFIG_MAP):
            self.queue.add(("", namespace))

    def sync(self, obj: Object) -> None:
        if is_terminating(obj):
            return
        namespace = name_of(obj)
        if self.client.get(_SERVICE_ACCOUNTS, namespace, "default") is None:
            meta: Object = {"name": "default", "namespace": namespace}
            self._create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
        if self.client.get(_CONFIG_MAPS, namespace, _ROOT_CA_CONFIG_MAP) is None:
            annotations: Object = {"kubernetes.io/description": _DESCRIPTION}
            meta = {"name": _ROOT_CA_CONFIG_MAP, "namespace": namespace, "annotations": annotations}
            data: Object = {"ca.crt": _CERTIFICATE}
            self._create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})

    def _create(self, obj: Object) -> None:
        try:
            self.client.create(obj)
        except StatusError:
            return  # the namespace is terminating
