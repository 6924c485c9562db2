"""Argo CD's API on a port of this machine, with faults on demand.

with ArgoCD(snapshot) as argocd:
    argocd.fault("/managed-resources", Fault.GARBLED)
    read_argocd(argocd.server(), Selection())
    assert argocd.request_count("/resource-tree") == 1
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable
from email.utils import format_datetime
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from msgspec.structs import replace

from tests.facts.argocd_api.answers import Answers
from whysync.facts.argocd_api.server import POLITE, ArgoServer
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Object

TOKEN = "token-of-the-tests-0123456789"
# Tests do not wait between two tries. Those with a silent server do not wait for it either.
STEADY = replace(
    POLITE, first_pause_seconds=0.001, longest_pause_seconds=0.005, per_second=10_000, burst=10_000
)
QUICK = replace(STEADY, connect_seconds=2, idle_seconds=0.3, try_seconds=0.5, call_seconds=3)


class Fault(StrEnum):
    REJECTED = "400"
    UNAUTHENTICATED = "401"
    FORBIDDEN = "403"
    MISSING = "404"
    BUSY = "429"
    BROKEN = "500"
    BAD_GATEWAY = "502"
    OVERLOADED = "503"
    RESET = "reset"
    SILENT = "silent"
    CUT_OFF = "cut off"
    GARBLED = "garbled"
    A_PAGE = "a page"
    A_LIST = "a list"
    EMPTY = "empty"
    ELSEWHERE = "elsewhere"
    LEAKING = "leaking"


_SAID = {
    "400": (3, 'app is not allowed in project "web", or the project does not exist'),
    "401": (16, "invalid session: token is expired"),
    "403": (7, "permission denied"),
    "404": (5, "not found"),
    "429": (8, "too many requests"),
    "500": (2, "error getting cached app managed resources: dial tcp 10.0.0.1:6379: i/o timeout"),
    "502": (14, "bad gateway"),
    "503": (14, "upstream connect error"),
}


class ArgoCD:
    """`with ArgoCD(snapshot) as argocd`: the port is open inside, and closed after."""

    def __init__(self, snapshot: Snapshot, *, token: str = TOKEN, root: str = "") -> None:
        self.answers = Answers(snapshot)
        self.snapshot = snapshot
        self.token = token
        self.root = root
        self.log: list[str] = []
        self._news = threading.Condition()
        self.refreshed: list[str] = []
        self.secret = ""
        self.cookie = ""
        self.sent: list[bytes] = []
        self.when_refused: Callable[[], object] = lambda: None
        self._faults: list[tuple[str, Fault, int]] = []
        self._over = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        outer = self

        class Handler(_Handler):
            argocd = outer

        self._http = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        if self._http.crashes:
            raise AssertionError("the server of the tests failed") from self._http.crashes[0]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def server(self, **changes: object) -> ArgoServer:
        default = ArgoServer(
            address=self.url, plaintext=True, token=self.token, root_path=self.root, limits=QUICK
        )
        return replace(default, **changes)

    def fault(self, path: str, fault: Fault, *, times: int = 1_000_000) -> None:
        """Inject a fault for all later requests of paths that match this pattern."""
        self._faults.append((path, fault, times))

    def heal(self) -> None:
        self._faults.clear()

    def request_count(self, path: str) -> int:
        return sum(bool(re.search(path, item)) for item in self.log)

    def wait_for(self, path: str, times: int = 1) -> None:
        """Wait until paths that match this pattern were requested `times` times."""
        with self._news:
            assert self._news.wait_for(lambda: self.request_count(path) >= times, timeout=120), self.log

    def logged(self, line: str) -> None:
        with self._news:
            self.log.append(line)
            self._news.notify_all()

    def fault_for(self, path: str) -> Fault | None:
        with self._lock:
            for at, (pattern, fault, times) in enumerate(self._faults):
                if times and re.search(pattern, path):
                    self._faults[at] = (pattern, fault, times - 1)
                    return fault
        return None

    def wait(self) -> None:
        """What a silent server does."""
        self._over.wait()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.crashes: list[BaseException | None] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is no error here; anything else is one of ours."""
        del request, client_address
        problem = sys.exception()
        if not isinstance(problem, OSError):
            self.crashes.append(problem)


class _Handler(BaseHTTPRequestHandler):
    argocd: ArgoCD
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        pass

    def date_time_string(self, timestamp: float | None = None) -> str:
        """The clock of the situation, not of this machine."""
        now = self.argocd.snapshot.collected_at
        return format_datetime(now, usegmt=True) if now else super().date_time_string(timestamp)

    def do_GET(self) -> None:
        self.argocd.logged(self.path)
        fault = self.argocd.fault_for(self.path)
        if fault is None:
            self._answer()
        else:
            self._fail(fault)

    def do_POST(self) -> None:
        self.argocd.logged(f"POST {self.path}")
        self._send(405, b"{}")

    # --- answers -------------------------------------------------------------------------------------

    def _answer(self) -> None:
        if self.headers.get("Authorization") != f"Bearer {self.argocd.token}":
            self.argocd.when_refused()
            self._refuse("401", "no session information")
            return
        parts = urlsplit(self.path)
        path = parts.path.removeprefix(self.argocd.root)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        projects = parse_qs(parts.query).get("projects", [])
        result = self._found(path, query, projects)
        if isinstance(result, bytes):
            self._send(200, result)
        elif result is None:
            # Of what is not there and what is not allowed Argo CD says the same, unless a project is told.
            self._refuse("404" if "project" in query else "403", "permission denied")
        else:
            self._send(200, json.dumps(result).encode())

    def _found(self, path: str, query: dict[str, str], projects: list[str]) -> Object | bytes | None:
        answers = self.argocd.answers
        match [unquote(segment) for segment in path.split("/")[1:]]:
            case ["api", "version"]:
                return answers.version()
            case ["api", "v1", "settings"]:
                return answers.settings()
            case ["api", "v1", "projects"]:
                return answers.projects()
            case ["api", "v1", "projects", name, "globalprojects"]:
                return answers.global_projects(name)
            case ["api", "v1", "clusters"]:
                return answers.clusters()
            case ["api", "v1", "repositories"]:
                return answers.repositories()
            case ["api", "v1", "session", "userinfo"]:
                return {"loggedIn": True, "username": "reader", "iss": "argocd"}
            case ["api", "v1", "account", "can-i", _, action, *_]:
                return {"value": "yes" if action == "get" else "no"}
            case ["api", "v1", "applications"]:
                return answers.applications(
                    name=query.get("name", ""),
                    namespace=query.get("appNamespace", ""),
                    projects=projects,
                    selector=query.get("selector", ""),
                )
            case ["api", "v1", "applicationsets", name]:
                return answers.application_set(name, query.get("appsetNamespace", answers.home))
            case ["api", "v1", "applications", name, *rest]:
                return self._of_app(f"{query.get('appNamespace', answers.home)}/{name}", rest, query)
            case _:
                return None

    def _of_app(self, app_key: str, rest: list[str], query: dict[str, str]) -> Object | bytes | None:
        answers = self.argocd.answers
        if app_key not in answers.apps:
            return None
        match rest:
            case []:
                if "refresh" in query:
                    self.argocd.refreshed.append(f"{app_key} {query['refresh']}")
                return answers.application(app_key)
            case ["resource-tree"]:
                return answers.tree(app_key)
            case ["managed-resources"]:
                return answers.managed_resources(app_key)
            case ["manifests"]:
                return answers.manifests(app_key)
            case ["resource"]:
                return answers.resource(app_key, query)
            case ["events"]:
                return answers.events(app_key, query)
            case ["syncwindows"]:
                return {"activeWindows": [], "assignedWindows": [], "canSync": True}
            case ["pods", pod, "logs"]:
                return answers.logs(pod, query)
            case _:
                return None

    # --- faults --------------------------------------------------------------------------------------

    def _fail(self, fault: Fault) -> None:
        match fault:
            case Fault.RESET:
                self.close_connection = True
                self.connection.close()
            case Fault.SILENT:
                self.argocd.wait()
                self.close_connection = True
            case Fault.CUT_OFF:
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b'{"items": [{"metadata"')
                self.close_connection = True
            case Fault.GARBLED:
                self._send(200, b'{"items": [{"metadata": {"name": ')
            case Fault.A_PAGE:
                self._send(200, b"<!doctype html><title>Sign in</title>", kind="text/html")
            case Fault.A_LIST:
                self._send(200, b"[1, 2]")
            case Fault.EMPTY:
                self._send(200, b"")
            case Fault.ELSEWHERE:
                self.send_response(302)
                self.send_header("Location", "https://login.example.com/")
                self.send_header("Content-Length", "0")
                self.end_headers()
            case Fault.LEAKING:
                self._refuse("500", f"error: https://argocd:{self.argocd.secret}@git.example.com: refused")
            case _:
                self._refuse(fault.value, _SAID[fault.value][1])

    def _refuse(self, status: str, message: str) -> None:
        body = {"error": message, "code": _SAID[status][0], "message": message}
        self._send(int(status), json.dumps(body).encode(), retry_after="0" if status == "429" else "")

    def _send(
        self, status: int, body: bytes, *, kind: str = "application/json", retry_after: str = ""
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if retry_after:
            self.send_header("Retry-After", retry_after)
        if self.argocd.cookie:
            self.send_header("Set-Cookie", f"argocd.token={self.argocd.cookie}")
        self.end_headers()
        self.argocd.sent.append(body)
        self.wfile.write(body)


def at(argocd: ArgoCD) -> tuple[str, ...]:
    """The flags that lead there."""
    return "--server", argocd.url, "--plaintext", "--auth-token", TOKEN
