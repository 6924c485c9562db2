"""CEL rules of custom resource schemas, and ValidatingAdmissionPolicies.

Mirrors apiextensions `schema/cel` and the `ValidatingAdmissionPolicy` admission of Kubernetes 1.36. A rule
that uses a part of CEL that is not modeled is ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from whysync.json_tree import MISSING, Json, Missing, Object, dig, fields, items, text
from whysync.kubernetes.admission.matching import covers, in_namespace, variables_of
from whysync.kubernetes.api.ref import group_of
from whysync.kubernetes.apiserver.builtin_kinds import built_in
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.status_errors import Cause, Refused, forbidden
from whysync.kubernetes.apiserver.storage import Store
from whysync.kubernetes.cel.evaluate import evaluate
from whysync.kubernetes.cel.values import CelError, UnknownValue
from whysync.kubernetes.validation.selectors import selects

_RULES: Final = "x-kubernetes-validations"
_GROUP: Final = "admissionregistration.k8s.io"
_CODES: Final = {"Invalid": 422, "Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}


def has_rules(schema: Object) -> bool:
    """Does the schema, or a schema in it, have x-kubernetes-validations?"""
    if schema.get(_RULES):
        return True
    others = (schema.get("items"), schema.get("additionalProperties"))
    children = (*fields(schema.get("properties")).values(), *others)
    return any(has_rules(child) for child in children if isinstance(child, dict))


def rule_problems(
    value: Json, schema: Object, path: str = "", old: Json | Missing = MISSING
) -> Iterator[Cause]:
    """Violations of the x-kubernetes-validations of a schema; parents before their fields."""
    if not isinstance(old, Missing) and old == value:
        return
    for raw in items(schema.get(_RULES)):
        yield from _rule_causes(fields(raw), value, path, old)
    if isinstance(value, dict):
        properties, others = fields(schema.get("properties")), fields(schema.get("additionalProperties"))
        for key in sorted(value):
            inner = fields(properties.get(key)) or others
            if inner:
                key_path = f"{path}.{key}" if path else key
                yield from rule_problems(value[key], inner, key_path, fields(old).get(key, MISSING))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from rule_problems(item, fields(schema.get("items")), f"{path}[{index}]")


def _rule_causes(rule: Object, value: Json, path: str, old: Json | Missing) -> Iterator[Cause]:
    expression = text(rule.get("rule"))
    env: Object = {"self": value}
    if re.search(r"\boldSelf\b", expression):
        if isinstance(old, Missing):
            return
        env["oldSelf"] = old
    message = text(rule.get("message"))
    try:
        if evaluate(expression, env) is True:
            return
    except UnknownValue:
        return
    except CelError as problem:
        kind = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else ""
        value_text = f'"{kind}"' if kind else json.dumps(value)
        yield Cause(path, f"Invalid value: {value_text}: {problem} evaluating rule: {message or expression}")
        return
    field_path = f"{path}{text(rule.get('fieldPath'))}"
    detail = _message_from_expression(rule, env) or message or f"failed rule: {expression}"
    if rule.get("reason") == "FieldValueForbidden":
        yield Cause(field_path, f"Forbidden: {detail}")
    elif isinstance(value, (dict, list)):
        yield Cause(field_path, f"Invalid value: {detail}", "FieldValueInvalid")
    else:
        yield Cause(field_path, f"Invalid value: {json.dumps(value)}: {detail}")


def _message_from_expression(rule: Object, env: Object) -> str:
    """The value of a rule's `messageExpression`; empty if it has none or the evaluation fails."""
    expression = text(rule.get("messageExpression"))
    if not expression:
        return ""
    try:
        message = evaluate(expression, env)
    except (UnknownValue, CelError):
        return ""
    return message.strip() if isinstance(message, str) and "\n" not in message else ""


_NO_PARAMS: Final = "no params found for policy binding with `Deny` parameterNotFoundAction"


def check_policies(
    obj: Object, old: Object | None, call: RequestContext, operation: str, store: Store
) -> None:
    """Raises `Refused` when a policy in the cluster denies the write."""
    if call.resource.group == _GROUP:
        return
    for _, binding in store.within((_GROUP, "validatingadmissionpolicybindings")):
        name = text(dig(binding, "spec", "policyName"))
        policy = store.get(((_GROUP, "validatingadmissionpolicies"), "", name))
        if policy is None or not _applies(policy, binding, obj, call, operation, store):
            continue
        variables = variables_of(obj, old, call, operation, store)
        title = f"ValidatingAdmissionPolicy '{name}' with binding '{text(dig(binding, 'metadata', 'name'))}'"
        actions = [
            text(validation_action) for validation_action in items(dig(binding, "spec", "validationActions"))
        ]
        param_objects = params_of(policy, binding, call, store)
        if not param_objects and dig(binding, "spec", "paramRef", "parameterNotFoundAction") == "Deny":
            why = f"failed to configure binding: {_NO_PARAMS}"
            raise _denied(call, obj, f"{title} denied request: {why}", "")
        for params in param_objects:
            env = _Env(policy, {**variables, "params": params})
            for why, reason in env.verdicts():
                if "Deny" in actions:
                    raise _denied(call, obj, f"{title} denied request: {why}", reason)


class _Env:
    """A policy and the CEL environment of its expressions: the request, and the policy's variables."""

    def __init__(self, policy: Object, variables: Object) -> None:
        self._policy = policy
        self._lenient = dig(policy, "spec", "failurePolicy") == "Ignore"
        self._seen = variables
        self._unknown = False
        policy_variables: Object = {}
        self._seen["variables"] = policy_variables
        for raw in items(dig(policy, "spec", "variables")):
            try:
                policy_variables[text(fields(raw).get("name"))] = evaluate(
                    text(fields(raw).get("expression")), self._seen
                )
            except CelError:
                continue  # expressions that use the variable fail
            except UnknownValue:
                self._unknown = True

    def conditions_hold(self) -> bool:
        """Do all match conditions hold? A condition that cannot be evaluated does not."""
        try:
            return all(
                evaluate(text(fields(match_condition).get("expression")), self._seen) is True
                for match_condition in items(dig(self._policy, "spec", "matchConditions"))
            )
        except (CelError, UnknownValue):
            return False

    def verdicts(self) -> Iterator[tuple[str, str]]:
        """Message and reason of each violated rule."""
        if not self.conditions_hold():
            return
        for raw in items(dig(self._policy, "spec", "validations")):
            why = self.verdict(fields(raw))
            if why:
                yield why, text(fields(raw).get("reason"))

    def verdict(self, rule: Object) -> str:
        """The message of a violated rule; empty if it is satisfied."""
        expression = text(rule.get("expression"))
        if self._unknown and "variables" in expression:
            return ""
        try:
            if evaluate(expression, self._seen) is True:
                return ""
        except UnknownValue:
            return ""
        except CelError as problem:
            return "" if self._lenient else f"expression '{expression}' resulted in error: {problem}"
        return self._message(rule) or text(rule.get("message")) or f"failed expression: {expression}"

    def _message(self, rule: Object) -> str:
        message_expression = text(rule.get("messageExpression"))
        try:
            return text(evaluate(message_expression, self._seen)).strip() if message_expression else ""
        except (CelError, UnknownValue):
            return ""


def _applies(
    policy: Object, binding: Object, obj: Object, call: RequestContext, operation: str, store: Store
) -> bool:
    rules = items(dig(policy, "spec", "matchConstraints", "resourceRules"))
    if not any(covers(fields(rule), call, operation) for rule in rules):
        return False
    labels = fields(dig(obj, "metadata", "labels"))
    for constraints in (
        fields(dig(policy, "spec", "matchConstraints")),
        fields(dig(binding, "spec", "matchResources")),
    ):
        if not selects(constraints.get("objectSelector"), labels):
            return False
        if not in_namespace(constraints.get("namespaceSelector"), call, store):
            return False
    return True


def _denied(call: RequestContext, obj: Object, why: str, reason: str) -> Refused:
    reason = reason or "Invalid"
    plain = forbidden(call.resource.plural, call.resource.group, text(dig(obj, "metadata", "name")), why)
    details: Object = {**(plain.details or {}), "causes": [{"message": why}]}
    return Refused(_CODES.get(reason, 422), reason, plain.message, details)


_DEFINITIONS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")


def params_of(policy: Object, binding: Object, call: RequestContext, store: Store) -> list[Object | None]:
    """The params objects, for each of which the policy is evaluated; `[None]` for a policy without params."""
    param_kind = fields(dig(policy, "spec", "paramKind"))
    reference = fields(dig(binding, "spec", "paramRef"))
    if not param_kind or not reference:
        return [None]
    store_key, namespaced = _storage_key(
        text(param_kind.get("apiVersion")), text(param_kind.get("kind")), store
    )
    space = (text(reference.get("namespace")) or call.address.namespace) if namespaced else ""
    name = text(reference.get("name"))
    if name:
        params = store.get((store_key, space, name))
        return [] if params is None else [params]
    return [
        obj
        for _, obj in store.within(store_key, space)
        if selects(reference.get("selector"), fields(dig(obj, "metadata", "labels")))
    ]


def _storage_key(api_version: str, kind: str, store: Store) -> tuple[tuple[str, str], bool]:
    """The storage key of a kind, and whether the kind is namespaced."""
    for resource in built_in().values():
        if (resource.api_version, resource.kind) == (api_version, kind):
            return resource.store, resource.namespaced
    group = group_of(api_version)
    for _, definition in store.within(_DEFINITIONS):
        spec = fields(definition.get("spec"))
        if spec.get("group") == group and dig(spec, "names", "kind") == kind:
            return (group, text(dig(spec, "names", "plural"))), spec.get("scope") == "Namespaced"
    return ("", ""), False
