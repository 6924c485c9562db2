"""Certificates made on the spot: a CA, a server, a client. Without `openssl` the tests of TLS are skipped."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest


class Certificates:
    def __init__(self, home: Path) -> None:
        program = shutil.which("openssl")
        if program is None:
            pytest.skip("no openssl here to make certificates with")
        self._program, self._home = program, home
        self.ca = self._make("ca", "/CN=test-ca", None, "basicConstraints=critical,CA:TRUE")
        self.server = self._make("server", "/CN=server", "ca", "subjectAltName=IP:127.0.0.1,DNS:api.inside")
        self.client = self._make("client", "/O=team/CN=somebody", "ca", "extendedKeyUsage=clientAuth")

    def path(self, name: str) -> Path:
        return self._home / name

    def serving(self, *, asks_clients: bool = False) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path("server.crt"), self.path("server.key"))
        if asks_clients:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.path("ca.crt"))
        return context

    def text(self, name: str) -> str:
        return self.path(name).read_text()

    def _make(self, name: str, subject: str, signer: str | None, extension: str) -> Path:
        key, certificate = self.path(f"{name}.key"), self.path(f"{name}.crt")
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        signing = (
            ("-CA", str(self.path(f"{signer}.crt")), "-CAkey", str(self.path(f"{signer}.key")))
            if signer
            else ()
        )
        command = [self._program, "req", "-x509", *curve, "-keyout", str(key), "-out", str(certificate)]
        command += ["-days", "2", "-subj", subject, "-addext", extension, *signing]
        subprocess.run(command, check=True, capture_output=True)
        return certificate
