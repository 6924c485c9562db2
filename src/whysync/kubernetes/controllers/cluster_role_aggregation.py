"""ClusterRole aggregation: the rules of an aggregated ClusterRole come from the roles that it selects.

Mirrors `ClusterRoleAggregationController`, Kubernetes 1.36: a change of any role syncs all aggregated roles,
which are written by forced server-side apply under the controller's own field manager.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Object, dig, fields, items, same
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.client import StatusError, labels_of, name_of
from whysync.kubernetes.controllers.controller import QueueController
from whysync.kubernetes.validation.selectors import selects

_ROLES: Final = ("rbac.authorization.k8s.io", "clusterroles")
_API: Final = "rbac.authorization.k8s.io/v1"
_PATH: Final = f"/apis/{_API}/clusterroles"
MANAGER: Final = "clusterrole-aggregation-controller"
# The fields of a rule in the order in which the controller sends them.
_RULE_FIELDS: Final = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


class ClusterRoleAggregationController(QueueController):
    name = "clusterrole-aggregation"
    main = _ROLES

    def on_event(self, change: Change) -> None:  # noqa: ARG002  any role may be aggregated by any other
        for role in self.client.list(_ROLES):
            if role.get("aggregationRule") is not None:
                self.queue.add(("", name_of(role)))

    def sync(self, obj: Object) -> None:
        if obj.get("aggregationRule") is None:
            return
        rules = self._aggregated_rules(obj)
        if same(rules, items(obj.get("rules"))):
            return
        body: Object = {
            "apiVersion": _API,
            "kind": "ClusterRole",
            "metadata": {"name": name_of(obj)},
            "rules": rules,
        }
        path = f"{_PATH}/{name_of(obj)}"
        response = self.client.api_server.send(
            Request(verb="ssa", path=path, body=body, manager=MANAGER, agent=MANAGER, force=True)
        )
        if not response.ok:
            raise StatusError(response)

    def _aggregated_rules(self, obj: Object) -> list[Json]:
        """The rules of the selected roles, by selector, then by name of the role; each rule once."""
        rules: list[Json] = []
        roles = sorted(self.client.list(_ROLES), key=name_of)
        for selector in items(dig(obj, "aggregationRule", "clusterRoleSelectors")):
            for role in roles:
                if name_of(role) == name_of(obj) or not selects(selector, labels_of(role)):
                    continue
                for rule in items(role.get("rules")):
                    if not any(same(rule, known) for known in rules):
                        rules.append(_apply_configuration(fields(rule)))
        return rules


def _apply_configuration(rule: Object) -> Object:
    return {field: rule[field] for field in _RULE_FIELDS if rule.get(field)}
