"""kubectl, as far as the vectors record it: `apply` with some flags, its words and its exit code."""

from __future__ import annotations

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.apiserver.protocol import Answer, Request
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.kubectl.client_side_apply import client_side_apply


def kubectl_apply(model: ApiServer, recorded: Object) -> Object:
    """The result of a run in the terms of the record: `exit`, `stdout`, `object`."""
    args = [text(arg) for arg in items(recorded.get("args"))]
    body = fields(recorded.get("body"))
    meta = fields(body.get("metadata"))
    namespace = text(recorded.get("namespace"))
    if namespace and text(meta.get("namespace"), namespace) != namespace:
        return {"exit": 1, "object": None}
    manifest: Object = {**body, "metadata": {**meta, "namespace": namespace}} if namespace else body
    resource = model.discovery.of_object(body)
    assert resource is not None
    prefix = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    space = f"/namespaces/{namespace}" if resource.namespaced else ""
    collection = f"{prefix}{space}/{resource.plural}"
    ref = ref_of(body)
    sent: Json = None
    if "--server-side" in args:
        outcome, answer = _server_side(model, manifest, f"{collection}/{ref.name}", args)
    else:
        done = client_side_apply(model, manifest, collection=collection)
        outcome, answer, sent = done.outcome, done.answer, done.sent
        if answer.code in {409, 422} and "--force" in args:
            delete_options: Json = {"propagationPolicy": "Background"}
            model.send(Request(verb="delete", path=f"{collection}/{ref.name}", body=delete_options))
            outcome, answer = "configured", client_side_apply(model, manifest, collection=collection).answer
    result = model.send(Request(verb="get", path=f"{collection}/{ref.name}"))
    name = f"{resource.singular}{'.' + resource.group if resource.group else ''}/{ref.name}"
    return {
        "exit": 0 if answer.ok else 1,
        "stdout": f"{name} {outcome}\n" if answer.ok else "",
        "object": result.body if result.ok else None,
        "sent": sent,
    }


def _server_side(model: ApiServer, manifest: Object, path: str, args: list[str]) -> tuple[str, Answer]:
    manager = next((arg.partition("=")[2] for arg in args if arg.startswith("--field-manager=")), "kubectl")
    answer = model.send(
        Request(
            verb="ssa",
            path=path,
            body=manifest,
            manager=manager,
            force="--force-conflicts" in args,
            validation="Strict",
        )
    )
    return "serverside-applied", answer
