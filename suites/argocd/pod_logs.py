"""Logs of scripted Pods: a kubelet on loopback that answers `kubectl logs` with the lines of the scenario."""

from __future__ import annotations

import contextlib
import ssl
import subprocess
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from suites.argocd.kubelet import simulated
from tools.real_cluster.running import ApiServer
from whysync.json_tree import dig, text
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.controllers.behavior import PodBehavior


@contextlib.contextmanager
def log_server(
    behaviors: tuple[PodBehavior, ...], kubernetes: ApiServer, home: Path, openssl: Path
) -> Generator[int]:
    """Serve logs while the block runs, and yield the port for the status of the nodes."""
    certificate, key = home / "kubelet.crt", home / "kubelet.key"
    if not certificate.exists():
        subprocess.run(
            [
                openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-days", "2", "-subj", "/CN=kubelet", "-keyout", key, "-out", certificate,
            ],
            capture_output=True,
            check=True,
        )  # fmt: skip
    server = _Server(behaviors, kubernetes)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, behaviors: tuple[PodBehavior, ...], kubernetes: ApiServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behaviors, self.kubernetes = behaviors, kubernetes

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no error of a test."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the output belongs to the tests."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        _, kind, namespace, name, container = (*url.path.split("/"), "", "", "", "")[:5]
        if kind != "containerLogs":
            self.send_error(404)
            return
        body = self._log(namespace, name, container, parse_qs(url.query)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _log(self, namespace: str, name: str, container: str, query: dict[str, list[str]]) -> str:
        """What the container prints when the model's kubelet runs the Pod."""
        assert isinstance(self.server, _Server)
        client = self.server.kubernetes.another_client()
        try:
            path = f"/api/v1/namespaces/{namespace}/pods/{name}"
            pod = client.send(Request(verb="get", path=path)).body or {}
            logs = simulated(pod, self.server.behaviors, client).logs
        finally:
            client.close()
        lines = logs.lines(namespace, name, container, previous=query.get("previous") == ["true"])
        started = text(dig(pod, "status", "startTime"))
        stamp = f"{started} " if query.get("timestamps") == ["true"] and started else ""
        return "".join(f"{stamp}{line}\n" for line in lines)
