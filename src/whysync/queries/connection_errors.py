"""Why a connection did not come about, in words, and what a person can look at."""

from __future__ import annotations

from whysync.messages.failure import Network

_WORDS = {
    Network.DNS: "its name cannot be resolved (DNS)",
    Network.REFUSED: "the connection is refused: nothing listens there",
    Network.TIMEOUT: "it does not answer in time",
    Network.RESET: "the connection is cut off",
    Network.NO_ROUTE: "there is no route to it",
    Network.NOT_FOUND: "there is nothing at that address",
    Network.NO_ENDPOINTS: "its Service has no ready Pod behind it",
    Network.SERVICE_MISSING: "its Service does not exist",
    Network.X509: "its certificate is not trusted",
    Network.TLS: "the TLS handshake fails",
    Network.PROXY: "the proxy in between refuses",
    Network.RATE_LIMITED: "it answers: too many requests",
    Network.UNAVAILABLE: "it says that it is unavailable",
    Network.SERVER_ERROR: "it answers with an error of its own (5xx)",
    Network.BAD_RESPONSE: "its answer makes no sense",
    Network.CLOSED: "it closes the connection",
    Network.OTHER_VERSION: "it is of another version, and does not know what it is asked",
    Network.UNTOLD: "it cannot be reached",
}


def why_unreachable(reason: Network) -> str:
    return _WORDS[reason]
