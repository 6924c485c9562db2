"""Admission webhooks of a scenario that really answer: on a port of loopback, as the lab has them."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

from whysync.json_tree import Json, Object, copy_object, dig, fields, items, text
from whysync.kubernetes.admission.webhooks import Denied

Judge = Callable[[Object], Object]


class Answering:
    """One server for all webhooks: the path is the name of the webhook."""

    def __init__(self, home: Path) -> None:
        key, certificate = home / "webhook.key", home / "webhook.crt"
        request = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1")
        output_flags = (
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            str(key),
            "-out",
            str(certificate),
        )
        subprocess.run(["openssl", *request, *output_flags], check=True, capture_output=True)
        self.judges: dict[str, Judge] = {}
        self._ca = base64.b64encode(certificate.read_bytes()).decode()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def pointed_here(self, configuration: Object) -> Object:
        """The same configuration, with this server behind all its webhooks."""
        body = copy_object(configuration)
        for hook in map(fields, items(body.get("webhooks"))):
            url = f"https://127.0.0.1:{self._server.server_address[1]}/{text(hook.get('name'))}"
            hook["clientConfig"] = {"url": url, "caBundle": self._ca}
        return body

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        judges = self.judges

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                document = fields(cast(Json, json.loads(self.rfile.read(length))))
                name = self.path.partition("?")[0].strip("/")
                encoded = json.dumps(_reviewed(document, judges.get(name))).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(encoded)))
                self.end_headers()
                self.wfile.write(encoded)

            def log_message(self, format: str, *args: object) -> None: ...

        return Handler


def _reviewed(review: Object, judge: Judge | None) -> Object:
    request = fields(review.get("request"))
    answer: Object = {"uid": request.get("uid"), "allowed": True}
    before = fields(request.get("object"))
    try:
        after = judge(copy_object(before)) if judge is not None else before
    except Denied as reason:
        answer |= {"allowed": False, "status": {"message": str(reason), "code": 400}}
        after = before
    changes: list[Json] = [
        {"op": "add", "path": f"/{key}", "value": after[key]}
        for key in after
        if after[key] != before.get(key)
    ]
    if changes:
        patch = base64.b64encode(json.dumps(changes).encode()).decode()
        answer |= {"patchType": "JSONPatch", "patch": patch}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}


def is_configuration(obj: Object) -> bool:
    return text(obj.get("kind")).endswith("WebhookConfiguration")


def hooks_of(obj: Object) -> list[str]:
    return [text(dig(webhook, "name")) for webhook in items(obj.get("webhooks"))]
