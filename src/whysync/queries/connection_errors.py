"""Why a connection failed, as text."""

from __future__ import annotations

from whysync.messages.failure import Network

_TEXTS = {
    Network.DNS: "its name cannot be resolved (DNS)",
    Network.REFUSED: "the connection is refused: nothing listens on that port, or a firewall rejects it",
    Network.TIMEOUT: "it does not respond in time",
    Network.RESET: "the connection is reset",
    Network.NO_ROUTE: "there is no route to it",
    Network.NOT_FOUND: "nothing is found at that address",
    Network.NO_ENDPOINTS: "its Service has no ready Pod",
    Network.SERVICE_MISSING: "its Service does not exist",
    Network.X509: "its certificate is not trusted",
    Network.TLS: "the TLS handshake fails",
    Network.PROXY: "the proxy refuses the request",
    Network.RATE_LIMITED: "it limits the rate of requests (429)",
    Network.UNAVAILABLE: "it reports that it is unavailable",
    Network.SERVER_ERROR: "it responds with a server error (5xx)",
    Network.REMOTE_ERROR: "its server responds with an error",
    Network.BAD_RESPONSE: "its response is invalid",
    Network.NOT_A_CHART: "the artifact at that address and version is no chart that this Helm can read",
    Network.CLOSED: "it closed the connection",
    Network.OTHER_VERSION: "it is another version that does not support the request",
    Network.UNKNOWN: "it cannot be reached",
}


def why_unreachable(reason: Network) -> str:
    return _TEXTS[reason]
