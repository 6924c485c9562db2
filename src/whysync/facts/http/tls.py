"""TLS: trusted CAs and client certificates."""

from __future__ import annotations

import contextlib
import os
import ssl
import tempfile
from collections.abc import Generator
from functools import cache
from pathlib import Path

import msgspec

from whysync.errors import Unreadable


class Tls(msgspec.Struct, frozen=True, kw_only=True):
    """Certificates as PEM text or as files; text has precedence, as in a kubeconfig."""

    ca_pem: str = ""
    ca_file: str = ""
    certificate_pem: str = ""
    certificate_file: str = ""
    key_pem: str = ""
    key_file: str = ""
    # the expected name in the certificate, if it is not that of the URL
    server_name: str = ""
    insecure: bool = False

    @property
    def has_certificate(self) -> bool:
        return bool(self.certificate_pem or self.certificate_file)


def ssl_context(tls: Tls) -> ssl.SSLContext:
    if tls == Tls(server_name=tls.server_name):
        return _default_context()
    return _create_context(tls)


@cache
def _default_context() -> ssl.SSLContext:
    """Trusts the system's CAs; cached, because loading them takes longer than a request."""
    return _create_context(Tls())


def _create_context(tls: Tls) -> ssl.SSLContext:
    context = _context_with_ca(tls)
    # Many cluster CAs lack extensions that Python requires since 3.13; Go does not require them.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if tls.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls.has_certificate:
        _load_client_certificate(context, tls)
    return context


def _context_with_ca(tls: Tls) -> ssl.SSLContext:
    try:
        if tls.ca_pem:
            return ssl.create_default_context(cadata=tls.ca_pem)
        if tls.ca_file:
            return ssl.create_default_context(cafile=tls.ca_file)
        return ssl.create_default_context()
    except (OSError, ValueError) as problem:  # an SSLError is an OSError
        source = "the CA certificate in the configuration" if tls.ca_pem else f"the CA file {tls.ca_file}"
        raise Unreadable(
            what=f"{source} cannot be used",
            why=_reason(problem),
            next="give a PEM file with the CA's certificate",
        ) from problem


def _load_client_certificate(context: ssl.SSLContext, tls: Tls) -> None:
    with contextlib.ExitStack() as stack:
        certificate = tls.certificate_file
        if tls.certificate_pem:
            certificate = stack.enter_context(_as_file(tls.certificate_pem))
        key = stack.enter_context(_as_file(tls.key_pem)) if tls.key_pem else tls.key_file
        try:
            # Without a callback OpenSSL would prompt for the password on the terminal.
            context.load_cert_chain(certificate, key or None, password=lambda: "")
        except (OSError, ValueError) as problem:
            files = " and ".join(file for file in (tls.certificate_file, tls.key_file) if file)
            raise Unreadable(
                what=f"the client certificate {files or 'in the configuration'} cannot be used",
                why=_reason(problem),
                next="check certificate and key: both PEM, matching, and without a password",
            ) from problem


@contextlib.contextmanager
def _as_file(pem: str) -> Generator[str]:
    """OpenSSL reads keys from files only; uses an in-memory file if the system supports it."""
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        handle = os.memfd_create("pem", os.MFD_CLOEXEC)
        try:
            with os.fdopen(os.dup(handle), "wb") as out:
                out.write(pem.encode())
            yield f"/proc/self/fd/{handle}"
        finally:
            os.close(handle)
        return
    with tempfile.TemporaryDirectory(prefix="whysync-") as folder:
        path = Path(folder) / "pem"
        path.touch(mode=0o600)
        path.write_text(pem, encoding="utf-8")
        yield str(path)


def _reason(problem: Exception) -> str:
    if isinstance(problem, ssl.SSLError):
        return problem.reason or str(problem)
    return problem.strerror or str(problem) if isinstance(problem, OSError) else str(problem)
