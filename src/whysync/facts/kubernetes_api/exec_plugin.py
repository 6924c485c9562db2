"""Exec plugins for credentials, as kubeconfigs of EKS, GKE, AKS and OIDC providers use them.

Mirrors client-go `exec.Authenticator`, Kubernetes 1.36: credentials are kept until they expire, and requested
again after a 401.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from whysync.deadline import Deadline
from whysync.errors import SourceError, UsageError
from whysync.facts.http.hide_credentials import hide_credentials
from whysync.facts.http.limits import INTERACTIVE_LOGIN_SECONDS, LOGIN_SECONDS, MIB, PROGRAM_OUTPUT
from whysync.facts.kubernetes_api.kubeconfig import Entry
from whysync.facts.masking import Masker
from whysync.json_tree import Json, Object, fields, items, text
from whysync.processes.children import Bounds, Canceller, Finished, NotStarted, TooMuchOutput, TooSlow, run

GROUP = "client.authentication.k8s.io"
_VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
_EXPIRY_MARGIN = timedelta(seconds=10)


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    token: str = ""
    certificate_pem: str = ""
    key_pem: str = ""
    expires: datetime | None = None

    def is_fresh(self, now: datetime) -> bool:
        return self.expires is None or now + _EXPIRY_MARGIN < self.expires


class ExecPlugin:
    """`exec` of a kubeconfig's user. `cluster` is passed to the plugin if it requests that."""

    def __init__(self, user: Entry, cluster: Entry, environment: Mapping[str, str] | None = None) -> None:
        self._spec = fields(user.body.get("exec"))
        self._user_values = tuple(_strings(user.body))
        # set by the connection that it logs in to
        self.deadline = Deadline()
        self._folder = user.folder
        self._cluster = cluster
        self._environment = dict(os.environ if environment is None else environment)
        self._cached_credential: Credential | None = None
        self._lock = asyncio.Lock()
        self.version = text(self._spec.get("apiVersion"))
        self.command = text(self._spec.get("command"))
        self._mode = text(self._spec.get("interactiveMode"))
        self._check()

    async def headers(self) -> Mapping[str, str]:
        credential = await self.credential()
        return {"Authorization": f"Bearer {credential.token}"} if credential.token else {}

    async def renew(self) -> bool:
        before, self._cached_credential = self._cached_credential, None
        after = await self.credential()
        if before is not None and after.certificate_pem != before.certificate_pem:
            return False  # a certificate is only sent when a connection is opened; existing ones keep theirs
        return before is None or after.token != before.token

    def secrets(self) -> Iterable[str]:
        """All values of this user in the kubeconfig except the name of the plugin, and its output."""
        yield from (
            value for value in self._user_values if value not in (self.command, self.version, self._mode)
        )
        if self._cached_credential is not None:
            yield from (self._cached_credential.token, self._cached_credential.key_pem)

    async def credential(self) -> Credential:
        async with self._lock:
            if self._cached_credential is None or not self._cached_credential.is_fresh(datetime.now(UTC)):
                canceller = Canceller()
                try:
                    self._cached_credential = await asyncio.to_thread(self._run, canceller)
                except asyncio.CancelledError:  # Ctrl-C: the thread ends when its child does
                    canceller.cancel()
                    raise
            return self._cached_credential

    def _check(self) -> None:
        if self.version not in _VERSIONS:
            raise UsageError(
                what=f"the exec plugin {self.command!r} has the apiVersion {self.version!r}",
                why=f"supported are {' and '.join(_VERSIONS)}",
                next="regenerate the kubeconfig with the tool that wrote it",
            )
        if not self.command:
            raise UsageError(what="the exec plugin of the kubeconfig has no command")
        if self._mode not in ("", "Never", "IfAvailable", "Always"):
            raise UsageError(what=f"the kubeconfig has an unknown interactiveMode {self._mode!r}")

    def _run(self, canceller: Canceller) -> Credential:
        interactive = self._is_interactive()
        arguments = [arg for arg in items(self._spec.get("args")) if isinstance(arg, str)]
        own_limit = INTERACTIVE_LOGIN_SECONDS if interactive else LOGIN_SECONDS
        seconds = min(own_limit, self.deadline.remaining())
        try:
            finished = run(
                [self._program(), *arguments],
                folder=Path(),
                env=self._variables(interactive=interactive),
                bounds=Bounds(seconds=seconds, output=PROGRAM_OUTPUT),
                terminal=interactive,
                canceller=canceller,
            )
        except TooSlow:
            limit = (
                f"its limit of {own_limit:.0f} s" if seconds == own_limit else "the time given with --timeout"
            )
            raise self._failed(f"it was killed: it did not finish within {limit}") from None
        except TooMuchOutput:
            raise self._failed(f"it was killed: it wrote more than {PROGRAM_OUTPUT / MIB:.0f} MiB") from None
        except NotStarted as problem:
            raise self._failed(str(problem)) from problem
        if interactive and finished.code == -signal.SIGINT:
            os.kill(os.getpid(), signal.SIGINT)  # Ctrl-C was meant for us too
        if finished.code != 0:
            raise self._failed(f"it exited with {finished.code}{self._complaint(finished)}")
        return self._read(finished.out)

    def _complaint(self, finished: Finished) -> str:
        """The end of standard error. Values are hidden before truncating, which would split them."""
        complaint = hide_credentials(" ".join(finished.complaint.split()), self.secrets())
        stderr_end = Masker().masked_text(complaint)[-400:]
        return f": {stderr_end}" if stderr_end else ""

    def _is_interactive(self) -> bool:
        """Is standard input the user's terminal?"""
        on_terminal = sys.stdin is not None and sys.stdin.isatty()
        if self._mode == "Always" and not on_terminal:
            raise self._failed("it is interactive, but standard input is not a terminal")
        return on_terminal and self._mode != "Never"

    def _program(self) -> str:
        if "/" in self.command:
            return str(self._folder / self.command)
        program = shutil.which(self.command, path=self._environment.get("PATH"))
        if program is None:
            hint = " ".join(text(self._spec.get("installHint")).split())
            raise UsageError(
                what=f"the exec plugin {self.command!r} of the kubeconfig is not installed",
                why="it is not on the PATH",
                next=hint[:600] or "install it, or use another way to log in",
            )
        return program

    def _variables(self, *, interactive: bool) -> dict[str, str]:
        variables = {
            text(fields(variable).get("name")): text(fields(variable).get("value"))
            for variable in items(self._spec.get("env"))
            if text(fields(variable).get("name"))
        }
        spec: Object = {"interactive": interactive}
        if self._spec.get("provideClusterInfo") is True:
            spec["cluster"] = self._cluster_info()
        info: Object = {"kind": "ExecCredential", "apiVersion": self.version, "spec": spec}
        return {**self._environment, **variables, "KUBERNETES_EXEC_INFO": json.dumps(info)}

    def _cluster_info(self) -> Object:
        body = self._cluster.body
        info: Object = {}
        for key in (
            "server",
            "tls-server-name",
            "insecure-skip-tls-verify",
            "certificate-authority-data",
            "proxy-url",
        ):
            if body.get(key):
                info[key] = body[key]
        for raw in items(body.get("extensions")):
            if fields(raw).get("name") == f"{GROUP}/exec":
                info["config"] = fields(raw).get("extension")
        return info

    def _read(self, output: bytes) -> Credential:
        try:
            body: Json = msgspec.json.decode(output)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise self._failed("it did not write an ExecCredential in JSON") from None
        credential_body = fields(body)
        if (
            credential_body.get("kind") != "ExecCredential"
            or credential_body.get("apiVersion") != self.version
        ):
            raise self._failed(f"it did not return an ExecCredential of {self.version}")
        status = fields(credential_body.get("status"))
        credential = Credential(
            token=text(status.get("token")),
            certificate_pem=text(status.get("clientCertificateData")),
            key_pem=text(status.get("clientKeyData")),
            expires=_time(text(status.get("expirationTimestamp"))),
        )
        if not credential.token and not (credential.certificate_pem and credential.key_pem):
            raise self._failed("its output has neither a token nor a certificate with its key")
        return credential

    def _failed(self, why: str) -> SourceError:
        return SourceError(
            what=f"the exec plugin {self.command!r} of the kubeconfig returned no credentials",
            why=why,
            next=f"run it to see the error: {self.command}",
        )


def _strings(value: Json) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        # The `name` of an `env` entry and the install hint are not secret.
        for key, item in value.items():
            if key not in ("name", "installHint"):
                yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _time(timestamp: str) -> datetime | None:
    try:
        parsed = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
