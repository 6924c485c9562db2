"""Admission webhooks of a scenario as a server on loopback."""

from __future__ import annotations

import base64
import contextlib
import json
import ssl
import subprocess
import threading
from collections.abc import Generator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.admission.webhooks import Denied
from whysync.lab.admission import configurations_of, reviewed
from whysync.lab.scenario import Webhook


@contextlib.contextmanager
def webhook_server(webhooks: tuple[Webhook, ...], home: Path, openssl: Path) -> Generator[list[Object]]:
    """Serve the webhooks, and yield their configurations with the URL of this server."""
    if not webhooks:
        yield []
        return
    certificate, key = home / "webhooks.crt", home / "webhooks.key"
    subprocess.run(
        [
            openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
            "-keyout", key, "-out", certificate,
        ],
        capture_output=True,
        check=True,
    )  # fmt: skip
    server = _Server({webhook.name: webhook for webhook in webhooks})
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        trust = base64.b64encode(certificate.read_bytes()).decode()
        behind_service = {webhook.name for webhook in webhooks if webhook.service}
        yield [_with_url(body, server.port, trust, behind_service) for body in configurations_of(webhooks)]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _with_url(configuration: Object, port: int, trust: str, behind_service: set[str]) -> Object:
    """Webhooks that the scenario puts behind a Service stay there: its Pods do not run."""
    for webhook in map(fields, items(configuration["webhooks"])):
        if text(webhook.get("name")) in behind_service:
            continue
        url = f"https://127.0.0.1:{port}/{text(webhook.get('name'))}"
        webhook["clientConfig"] = {"url": url, "caBundle": trust}
    return configuration


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, webhooks: Mapping[str, Webhook]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.webhooks = webhooks

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no error of a test."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the output belongs to the tests."""

    def do_POST(self) -> None:
        assert isinstance(self.server, _Server)
        review = cast(Object, json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0))))
        webhook = self.server.webhooks[self.path.partition("?")[0].strip("/")]
        response = _response(webhook, fields(dig(review, "request", "object")))
        response["uid"] = text(dig(review, "request", "uid"))
        body = json.dumps(
            {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _response(webhook: Webhook, obj: Object) -> Object:
    try:
        after = reviewed(webhook, obj)
    except Denied as denied:
        return {"allowed": False, "status": {"message": str(denied)}}
    patch: list[Json] = [
        {"op": "replace" if key in obj else "add", "path": f"/{key}", "value": value}
        for key, value in after.items()
        if obj.get(key) != value
    ]
    if not patch:
        return {"allowed": True}
    encoded = base64.b64encode(json.dumps(patch).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": encoded}
