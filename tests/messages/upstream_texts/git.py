"""Texts of Git, as the repo-server reports them."""

from __future__ import annotations

from tests.messages.upstream_texts.group import REPO_SERVER, Group
from whysync.messages.pasted import Origin

INITIALIZE = REPO_SERVER + (
    "failed to initialize repository resources: rpc error: code = Internal desc = Failed to fetch default: "
)
FETCH = INITIALIZE + ("`git fetch origin --tags --force --prune` failed exit status 128: ")
CHECKOUT = REPO_SERVER + (
    "failed to initialize repository resources: rpc error: code = Internal desc = "
    "Failed to checkout revision 4f2c9d1e: `git checkout --force 4f2c9d1e` failed exit "
    "status 128: "
)
LIST_REFS = REPO_SERVER + ("failed to list refs: ")

GROUPS: tuple[Group, ...] = (
    Group(
        Origin.CONDITION,
        "ComparisonError",
        REPO_SERVER + "Manifest generation error (cached): ",
        (
            ("repo-unreachable", "`git fetch origin --tags` failed exit status 128: fatal: the moon is down"),
            (
                "helm-dependency repo-unreachable",
                "'helm repo add charts' failed exit status 1: Error: could not find protocol handler for: ",
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        FETCH,
        (
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': Could "
                "not resolve host: git.example.com",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': "
                "Failed to connect to git.example.com port 443 after 130412 ms: Couldn't "
                "connect to server",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': "
                "Operation too slow. Less than 1000 bytes/sec transferred the last 30 "
                "seconds",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': Empty reply from server",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': "
                "OpenSSL SSL_read: Connection reset by peer, errno 104",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': "
                "Received HTTP code 407 from proxy after CONNECT",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': "
                "CONNECT tunnel failed, response 503",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': The "
                "requested URL returned error: 502",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': "
                "gnutls_handshake() failed: The TLS connection was non-properly terminated.",
            ),
            (
                "tls-trust",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': "
                "server certificate verification failed. CAfile: none CRLfile: none",
            ),
            (
                "tls-trust",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': SSL "
                "certificate problem: unable to get local issuer certificate",
            ),
            (
                "tls-trust",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': SSL: "
                "no alternative certificate subject name matches target host name "
                "'git.example.com'",
            ),
            (
                "repo-auth",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': The "
                "requested URL returned error: 403",
            ),
            (
                "repo-auth",
                "remote: HTTP Basic: Access denied. The provided password or token is "
                "incorrect or your account has 2FA enabled\nfatal: Authentication failed "
                "for 'https://git.example.com/team/deploy.git/'",
            ),
            (
                "repo-auth",
                "fatal: could not read Username for 'https://git.example.com': terminal prompts disabled",
            ),
            (
                "repo-auth",
                "remote: Your token has expired\nfatal: Authentication failed for "
                "'https://git.example.com/team/deploy.git/'",
            ),
            (
                "repo-auth",
                "remote: The 'team' organization has enabled or enforced SAML SSO. To "
                "access this repository, you must re-authorize the OAuth "
                "application.\nfatal: unable to access "
                "'https://git.example.com/team/deploy.git/': The requested URL returned "
                "error: 403",
            ),
            (
                "repo-auth",
                "git@git.example.com: Permission denied (publickey).\nfatal: Could not read "
                "from remote repository.\n\nPlease make sure you have the correct access "
                "rights\nand the repository exists.",
            ),
            (
                "repo-auth",
                'Load key "/dev/shm/8812": error in libcrypto\ngit@git.example.com: '
                "Permission denied (publickey).\nfatal: Could not read from remote "
                "repository.",
            ),
            (
                "repo-auth repo-unreachable",
                "ERROR: Repository not found.\nfatal: Could not read from remote "
                "repository.\n\nPlease make sure you have the correct access rights\nand the "
                "repository exists.",
            ),
            (
                "repo-auth",
                "ERROR: The deploy key you are authenticating with has been "
                "disabled.\nfatal: Could not read from remote repository.",
            ),
            (
                "repo-unreachable",
                "ssh: connect to host git.example.com port 22: Connection timed out\nfatal: "
                "Could not read from remote repository.",
            ),
            (
                "repo-unreachable",
                "kex_exchange_identification: Connection closed by remote host\nConnection "
                "closed by 192.0.2.10 port 22\nfatal: Could not read from remote repository.",
            ),
            (
                "tls-trust",
                "No ED25519 host key is known for git.example.com and you have requested "
                "strict checking.\nHost key verification failed.\nfatal: Could not read from "
                "remote repository.",
            ),
            (
                "repo-unreachable repo-auth",
                "Unable to negotiate with 192.0.2.10 port 22: no matching host key type "
                "found. Their offer: ssh-rsa\nfatal: Could not read from remote repository.",
            ),
            (
                "repo-unreachable",
                "error: RPC failed; curl 92 HTTP/2 stream 5 was not closed cleanly: CANCEL "
                "(err 8)\nfatal: early EOF\nfatal: fetch-pack: invalid index-pack output",
            ),
            ("repo-unreachable", "fatal: the remote end hung up unexpectedly"),
            (
                "repo-unreachable",
                "remote: Internal Server Error\nfatal: unable to access "
                "'https://git.example.com/team/deploy.git/': The requested URL returned "
                "error: 500",
            ),
            ("repo-unreachable", "fatal: protocol error: bad line length character: <!DO"),
            (
                "repo-unreachable repo-auth",
                "fatal: https://git.example.com/team/deploy.git/info/refs not valid: is "
                "this a git repository?",
            ),
            (
                "repo-unreachable repo-auth",
                "remote: The project you were looking for could not be found or you don't "
                "have permission to view it.\nfatal: repository "
                "'https://git.example.com/team/deploy.git/' not found",
            ),
            (
                "repo-unreachable repo-auth",
                "remote: Not Found\nfatal: repository 'https://git.example.com/team/deploy.git/' not found",
            ),
            (
                "repo-unreachable",
                "remote: This repository is currently disabled.\nfatal: unable to access "
                "'https://git.example.com/team/deploy.git/': The requested URL returned "
                "error: 503",
            ),
            (
                "repo-server-down argocd-disk-full",
                "fatal: write error: No space left on device\nfatal: fetch-pack: unpack-objects failed",
            ),
            (
                "repo-server-down",
                "error: cannot lock ref 'refs/remotes/origin/main': Unable to create "
                "'/tmp/_argocd-repo/8f/.git/refs/remotes/origin/main.lock': File exists.",
            ),
            (
                "repo-server-down repo-unreachable",
                "error: cannot lock ref 'refs/remotes/origin/feature/x': "
                "'refs/remotes/origin/feature' exists; cannot create "
                "'refs/remotes/origin/feature/x'",
            ),
            (
                "repo-server-down",
                "fatal: unable to create thread: Resource temporarily unavailable\nfatal: "
                "fetch-pack: invalid index-pack output",
            ),
            ("repo-server-down", "error: cannot fork() for rev-list: Cannot allocate memory"),
            ("repo-server-down", "fatal: Out of memory, malloc failed (tried to allocate 524288000 bytes)"),
            (
                "repo-server-down",
                "fatal: detected dubious ownership in repository at "
                "'/tmp/_argocd-repo/8f'\nTo add an exception for this directory, "
                "call:\n\n\tgit config --global --add safe.directory /tmp/_argocd-repo/8f",
            ),
            (
                "repo-server-down",
                "error: object file .git/objects/1f/2a is empty\nfatal: loose object 1f2a "
                "(stored in .git/objects/1f/2a) is corrupt",
            ),
            ("repo-server-down", "fatal: bad object refs/remotes/origin/main"),
            ("repo-server-down", "error: could not write config file .git/config: Read-only file system"),
            (
                "repo-server-down",
                "error: insufficient permission for adding an object to repository database .git/objects",
            ),
            ("revision-not-found", "fatal: couldn't find remote ref refs/heads/release-9"),
            (
                "revision-not-found",
                "fatal: remote error: upload-pack: not our ref 4f2c9d1e0b7e4a8c9f6d5e4c3b2a190817263544",
            ),
            ("repo-unreachable repo-server-down", "fatal: fetch-pack: invalid index-pack output"),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        INITIALIZE,
        (
            (
                "generation-timeout repo-unreachable",
                "`git fetch origin --tags --force --prune` failed timeout after 1m30s",
            ),
            ("repo-server-down", "`git fetch origin --tags --force --prune` failed signal: killed"),
            ("repo-server-down", "fork/exec /usr/bin/git: resource temporarily unavailable"),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        CHECKOUT,
        (
            ("revision-not-found", "fatal: reference is not a tree: 4f2c9d1e"),
            ("revision-not-found", "error: pathspec '4f2c9d1e' did not match any file(s) known to git"),
            (
                "repo-auth repo-unreachable",
                "error: external filter 'git-lfs filter-process' failed\nfatal: "
                "charts/big.tgz: smudge filter lfs failed",
            ),
            (
                "repo-server-down",
                "error: Your local changes to the following files would be overwritten by "
                "checkout:\n\tvalues.yaml\nPlease commit your changes or stash them before "
                "you switch branches.\nAborting",
            ),
            (
                "repo-server-down",
                "fatal: Unable to create '/tmp/_argocd-repo/8f/.git/index.lock': File "
                "exists.\n\nAnother git process seems to be running in this repository",
            ),
            (
                "repo-server-down argocd-disk-full",
                "error: unable to create file app/values.yaml: No space left on device",
            ),
            ("repo-server-down", "error: unable to create file app/values.yaml: Permission denied"),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        LIST_REFS,
        (
            ("repo-auth", "authentication required"),
            ("repo-auth repo-unreachable", "authentication required: Repository not found."),
            ("repo-auth repo-unreachable", "repository not found"),
            ("repo-auth", "authorization failed"),
            (
                "repo-unreachable",
                'Get "https://git.example.com/team/deploy.git/info/refs?service=git-upload-'
                'pack": dial tcp: lookup git.example.com on 10.96.0.10:53: no such host',
            ),
            (
                "repo-unreachable",
                'Get "https://git.example.com/team/deploy.git/info/refs?service=git-upload-'
                'pack": dial tcp 192.0.2.10:443: connect: connection refused',
            ),
            (
                "repo-unreachable",
                'Get "https://git.example.com/team/deploy.git/info/refs?service=git-upload-'
                'pack": net/http: request canceled while waiting for connection '
                "(Client.Timeout exceeded while awaiting headers)",
            ),
            (
                "repo-unreachable",
                'Get "https://git.example.com/team/deploy.git/info/refs?service=git-upload-pack": EOF',
            ),
            (
                "repo-unreachable",
                'Get "https://git.example.com/team/deploy.git/info/refs?service=git-upload-'
                'pack": proxyconnect tcp: dial tcp 192.0.2.3:3128: i/o timeout',
            ),
            (
                "repo-unreachable",
                "unexpected requesting "
                '"https://git.example.com/team/deploy.git/info/refs?service=git-upload-pack'
                '" status code: 503',
            ),
            (
                "repo-unreachable",
                "unexpected client error: unexpected requesting "
                '"https://git.example.com/team/deploy.git/info/refs?service=git-upload-pack'
                '" status code: 429',
            ),
            (
                "tls-trust",
                'Get "https://git.example.com/team/deploy.git/info/refs?service=git-upload-'
                'pack": tls: failed to verify certificate: x509: certificate signed by '
                "unknown authority",
            ),
            (
                "tls-trust",
                'Get "https://git.example.com/team/deploy.git/info/refs?service=git-upload-'
                'pack": x509: certificate has expired or is not yet valid: current time '
                "2026-01-01T00:00:00Z is after 2025-12-31T23:59:59Z",
            ),
            ("tls-trust", "ssh: handshake failed: knownhosts: key is unknown"),
            ("tls-trust", "ssh: handshake failed: knownhosts: key mismatch"),
            (
                "repo-auth",
                "ssh: handshake failed: ssh: unable to authenticate, attempted methods "
                "[none publickey], no supported methods remain",
            ),
            (
                "repo-unreachable repo-auth tls-trust",
                "ssh: handshake failed: ssh: no common algorithm for host key; we offered: "
                "[ssh-ed25519], peer offered: [ssh-dss]",
            ),
            ("repo-auth", "ssh: this private key is passphrase protected"),
            ("repo-auth", 'error creating SSH agent: "SSH agent requested but SSH_AUTH_SOCK not-specified"'),
            ("repo-unreachable", "dial tcp 192.0.2.10:22: connect: no route to host"),
            ("repo-unreachable", "remote repository is empty"),
            (
                "repo-auth",
                "failed to get access token from creds: could not refresh installation id "
                '7\'s token: received non 2xx response status "401 Unauthorized" when '
                "fetching https://api.example.com/app/installations/7/access_tokens",
            ),
            (
                "repo-auth",
                "failed to get access token from creds: failed to get Azure access token: "
                "WorkloadIdentityCredential: no client ID specified. Check pod "
                "configuration or set ClientID in the options",
            ),
            ("repo-unreachable", 'unsupported scheme "htps"'),
            (
                "repo-unreachable",
                'parse "https://git.example.com:team/deploy.git": invalid port ":team" after host',
            ),
        ),
    ),
)
