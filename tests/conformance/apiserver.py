"""Conversations with a kube-apiserver 1.36, played again on the model."""

from __future__ import annotations

import json
import re

from tests.conformance.kubectl import kubectl_apply
from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.apiserver.protocol import Answer, Request
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.controllers.behavior import Behavior
from whysync.kubernetes.controllers.controller_manager import ControllerManager, all_controllers

_RUNNING = frozenset({"deployment", "replicaset", "statefulset", "job", "garbage-collector"})
_MARK = re.compile(r"<(?:uid|rv|time|clusterIP|nodePort|random)>")
_REFERENCE = re.compile(r"<(uid|rv) of step (\d+)>")


def check(record: Object) -> list[str]:
    model = ApiServer()
    for name in ("default", "kube-system", "ns1"):
        body: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        model.send(Request(verb="create", path="/api/v1/namespaces", body=body))
    controllers = _controllers(model) if text(record.get("id")).startswith("apiserver_delete/") else None
    answers: list[Object] = []
    versions: dict[str, str] = {}
    problems: list[str] = []
    for number, raw in enumerate(items(record.get("steps"))):
        step = fields(raw)
        request, expected = fields(step.get("request")), fields(_repeated(step.get("response")))
        request = fields(_filled(request, answers))
        model.clock.advance(1)
        if controllers is not None and request.get("verb") not in {"get", "list"}:
            controllers.reconcile()
        if request.get("verb") == "apply":
            got = kubectl_apply(model, request)
            result = [
                *differences(expected.get("exit"), got.get("exit"), "exit"),
                *differences(text(expected.get("stdout")), text(got.get("stdout")), "stdout"),
                *_object_mismatch(expected.get("object"), fields(got.get("object")) or None),
            ]
            sent = fields(expected.get("sent")).get("body")
            if sent is not None and got.get("sent") is not None:
                result.extend(differences(sent, got["sent"], "sent"))
            answers.append(fields(got.get("object")))
        else:
            answer, result = _sent(model, controllers, expected, request, versions)
            answers.append(answer.body or {})
            other = step.get("otherResponse")
            if result and isinstance(other, dict):
                result = _mismatch(other, answer, versions, request) and result
        problems.extend(f"step {number}: {problem}" for problem in result)
    return problems


def _controllers(model: ApiServer) -> ControllerManager:
    """Those of the recorded cluster: a few of the controller manager, no scheduler, no kubelet."""
    known = {controller.name for controller in all_controllers(ApiServer(), Behavior()).controllers}
    return ControllerManager(model, Behavior(stopped=frozenset(known - _RUNNING)), nodes=0)


def _sent(
    model: ApiServer,
    controllers: ControllerManager | None,
    expected: Object,
    request: Object,
    versions: dict[str, str],
) -> tuple[Answer, list[str]]:
    """Send a request; a read may show an intermediate state, so the controllers step until it matches."""
    reads = controllers is not None and request.get("verb") in {"get", "list"}
    while True:
        known = dict(versions)
        answer = model.send(request_of(request))
        result = _mismatch(expected, answer, known, request)
        if not result or not reads or controllers is None or not controllers.step():
            versions.update(known)
            return answer, result


def request_of(recorded: Object) -> Request:
    manager, force = recorded.get("fieldManager"), recorded.get("force")
    body: Json = recorded.get("body")
    grace = text(fields(recorded.get("query")).get("gracePeriodSeconds"))
    return Request(
        verb=text(recorded.get("verb")),
        path=text(recorded.get("path")),
        body=_repeated(body),
        manager=manager if isinstance(manager, str) else None,
        force=bool(force) if force is not None else None,
        user=text(recorded.get("user")),
        dry_run=bool(recorded.get("dryRun")),
        validation=text(recorded.get("fieldValidation")),
        grace=int(grace) if grace.isdecimal() else None,
    )


def _repeated(value: Json) -> Json:
    """Expand `{"$repeat": [text, n]}` to the text n times."""
    if isinstance(value, dict):
        result = value.get("$repeat")
        if isinstance(result, list) and len(value) == 1:
            unit, count = result[0], result[1]
            assert isinstance(unit, str)
            assert isinstance(count, int)
            return unit * count
        return {key: _repeated(item) for key, item in value.items()}
    return [_repeated(item) for item in value] if isinstance(value, list) else value


def _filled(value: Json, answers: list[Object]) -> Json:
    if isinstance(value, dict):
        return {key: _filled(item, answers) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, answers) for item in value]
    if value == "<rv>":
        return "1"  # any version that is not the object's
    if isinstance(value, str) and " of step " in value:

        def look_up(placeholder: re.Match[str]) -> str:
            meta = fields(answers[int(placeholder[2])].get("metadata"))
            return text(meta.get("uid" if placeholder[1] == "uid" else "resourceVersion"))

        return _REFERENCE.sub(look_up, value)
    return value


def _mismatch(expected: Object, answer: Answer, versions: dict[str, str], request: Object) -> list[str]:
    result: list[str] = []
    if expected.get("code") != answer.code:
        message = text((answer.body or {}).get("message")) or answer.text
        expected_status = json.dumps(expected.get("status"))
        return [f"code: expected {expected.get('code')}, got {answer.code}: {message}; {expected_status}"]
    if "text" in expected:
        if expected["text"] != answer.text:
            result.append(f"text: expected {expected['text']!r}, got {answer.text!r}")
    elif "status" in expected:
        got = {
            key: value
            for key, value in (answer.body or {}).items()
            if key in {"status", "reason", "message", "details"}
        }
        result.extend(differences(expected["status"], got, "status"))
    elif "object" in expected:
        result.extend(_object_mismatch(expected["object"], answer.body))
    meta = fields((answer.body or {}).get("metadata"))
    version, uid = text(meta.get("resourceVersion")), text(meta.get("uid"))
    if version and uid and not request.get("dryRun"):
        changed = expected.get("resourceVersionChanged")
        if uid in versions and isinstance(changed, bool) and changed != (versions[uid] != version):
            result.append(f"resourceVersionChanged: expected {changed}")
        versions[uid] = version
    return result


def _object_mismatch(expected: Json, got: Object | None) -> list[str]:
    return differences(_by_manager(expected), _by_manager(got), "object")


def _by_manager(value: Json) -> Json:
    """Managers in an order of their own: two writes within a second may swap places."""
    if not isinstance(value, dict):
        return value
    meta = fields(value.get("metadata"))
    entries = meta.get("managedFields")
    if isinstance(entries, list):

        def rank(entry: Json) -> tuple[str, ...]:
            return tuple(
                text(fields(entry).get(key)) for key in ("operation", "manager", "apiVersion", "subresource")
            )

        value = {**value, "metadata": {**meta, "managedFields": sorted(entries, key=rank)}}
    if isinstance(value.get("items"), list):
        value = {**value, "items": [_by_manager(item) for item in items(value["items"])]}
    return value


def differences(expected: Json, got: Json, path: str) -> list[str]:
    if isinstance(expected, dict) and isinstance(got, dict):
        result: list[str] = []
        for key in sorted({*expected, *got}):
            inner = f"{path}.{key}"
            if key not in got:
                if not (_MARK.search(key) and any(matches(key, item) for item in got)):
                    result.append(f"{inner}: missing, expected {json.dumps(expected[key])[:300]}")
            elif key not in expected:
                if not any(_MARK.search(item) and matches(item, key) for item in expected):
                    result.append(f"{inner}: not expected: {json.dumps(got[key])[:300]}")
            else:
                result.extend(differences(expected[key], got[key], inner))
        return result
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        return [
            problem
            for at, (left, right) in enumerate(zip(expected, got, strict=True))
            for problem in differences(left, right, f"{path}[{at}]")
        ]
    if isinstance(expected, str) and matches(expected, got):
        return []
    if expected == got and isinstance(expected, bool) == isinstance(got, bool):
        return []
    return [f"{path}: expected {json.dumps(expected)[:600]}, got {json.dumps(got)[:600]}"]


def matches(expected: str, got: Json) -> bool:
    if expected in {"<clusterIP>", "<nodePort>", "<uid>", "<rv>", "<time>"}:
        return got is not None and got != ""
    if not isinstance(got, str):
        return False
    if expected == got:
        return True
    if not _MARK.search(expected):
        return False
    pattern = ".+".join(re.escape(literal) for literal in _MARK.split(expected))
    return re.fullmatch(pattern, got, re.DOTALL) is not None
