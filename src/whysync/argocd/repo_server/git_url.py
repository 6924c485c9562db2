"""Normalized repository URLs: `git@host:org/repo.git` equals `ssh://git@host/org/repo`.

Mirrors `git.NormalizeGitURL`, Argo CD 3.6, with the relevant parts of Go's `net/url`. A URL that Go cannot
parse becomes empty and equals nothing: a pattern with braces in its host never matches, and braces in a path
are escaped, so they are not alternatives any more.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

# not compiled at import time: most runs do not need them
_SSH = r"(ssh://)?[^/:]*?@[^@]+"
_SCHEME = r"(?s)([a-z][a-z0-9+.-]*):(.*)"
# what must not be in it: a class with all that may be takes milliseconds to compile
_HOST = r"[^\x00-\x20#/?@A-Z\\^`{|}\x7f]*"
_PORT = r":[0-9]*"
_BAD_ESCAPE = r"%(?![0-9a-f]{2})"
_PATH_AS_WRITTEN = r"[a-z0-9\-_.~$&+,/:;=@!'()*\[\]%]*"
_USER_OF_HOST = r"^([a-z][a-z0-9+.-]*://)?[^/]*@"
# `host:path`, an address of ssh without a user
_SCP = r"^([^/:]+):(?:\d+/|/)?(?!/)(.*)$"
_USER = r"[a-z0-9\-._:~!$&'()*+,;=%@]*"


def normalize_git_url(url: str) -> str:
    """The normalized URL; empty if it is invalid."""
    url = url.strip().lower()
    if re.fullmatch(_SSH, url) and not url.startswith("ssh://"):
        url = f"ssh://{url.replace(':', '/', 1)}"
    return _parsed(url.removesuffix(".git")).removeprefix("ssh://")


def repository_key(url: str) -> str:
    """The normalized URL without user name, or the lower-case text if the URL is invalid."""
    plain = url.strip().rstrip("/")
    return re.sub(_USER_OF_HOST, r"\1", normalize_git_url(plain) or plain.lower(), count=1)


def repository_path(url: str) -> str:
    """`host/path`, equal for all addresses of one repository: HTTPS and SSH, with and without user or port.

    Differs from `repository_key`, which mirrors Argo CD: there the scheme matters.
    """
    key = repository_key(url)
    _, has_scheme, plain = key.rpartition("://")
    if not has_scheme:
        plain = re.sub(_SCP, r"\1/\2", key)
    host, slash, path = plain.partition("/")
    return f"{host.partition(':')[0]}{slash}{path.strip('/').removesuffix('.git')}"


def _parsed(url: str) -> str:
    """The URL as Go prints it after parsing; empty if it cannot be parsed."""
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in url):
        return ""
    rest, has_fragment, fragment = url.partition("#")
    scheme = ""
    if matched := re.fullmatch(_SCHEME, rest):
        scheme, rest = f"{matched[1]}:", matched[2]
    elif rest.startswith(":"):
        return ""
    rest, has_query, query = rest.partition("?")
    if scheme and not rest.startswith("/"):
        written = scheme + rest
    elif not scheme and ":" in rest.partition("/")[0]:
        return ""
    else:
        authority = ""
        if rest.startswith("//"):
            host, slash, path = rest[2:].partition("/")
            if not _is_authority(host):
                return ""
            authority, rest = f"//{host}", slash + path
        path = _path(rest)
        if path is None:
            return ""
        written = f"{scheme}{authority}{path}"
    return written + has_query + query + (f"#{fragment}" if has_fragment and fragment else "")


def _is_authority(authority: str) -> bool:
    user, at, host = authority.rpartition("@")
    if at and not re.fullmatch(_USER, user):
        return False
    if host.startswith("["):
        closing = host.rfind("]")
        return closing >= 0 and (
            re.fullmatch(_PORT, host[closing + 1 :]) is not None or closing == len(host) - 1
        )
    if ":" in host and not re.fullmatch(_PORT, host[host.rindex(":") :]):
        return False
    return re.fullmatch(_HOST, host) is not None


def _path(path: str) -> str | None:
    """The path, escaped again if it contains invalid characters; `None` if an escape is invalid."""
    if re.search(_BAD_ESCAPE, path):
        return None
    return path if re.fullmatch(_PATH_AS_WRITTEN, path) else quote(unquote(path), safe="$&+,/:;=@~")
