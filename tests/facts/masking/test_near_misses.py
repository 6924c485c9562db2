"""Ordinary things that sound like secrets stay readable: names, references, settings, words of errors."""

# ruff: noqa: E501 (one document and one message per line)

from __future__ import annotations

import time

import pytest

from whysync.facts.masking import Masker
from whysync.facts.masking.text_patterns import masked_lines
from whysync.json_tree import copy_object, fields
from whysync.kubernetes.api import yaml

TREES = """
metadata: {name: token-controller, labels: {app: secret-store}}
---
{secretName: web-tls, secretKeyRef: {name: db-credentials, key: password}, passwordSecretRef: {name: db-1, key: password}}
---
existingSecret: db-credentials-7t8hk2m9gf
---
auth: {enabled: true, username: bob, mode: oidc, issuer: "https://sso.example.com", database: shop, maxAge: 10m, secretKeys: {adminPasswordKey: admin-password}}
---
{tokenPath: /var/run/token, passwordFile: /etc/pw, tokenUrl: "https://x/token", tokenTTL: 24h, secretsPath: kv/data/shop}
---
secret: {secretName: web-tls, defaultMode: 420, optional: false, items: [{key: tls.crt, path: tls.crt}]}
---
imagePullSecrets: [{name: pull-secret}, registry-creds]
---
secrets: [{name: default-token-x2k4p}]
---
serviceAccountToken: {path: token, audience: "https://vault.example.com", expirationSeconds: 3600}
---
privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Always, encoding: PKCS8}
---
basicAuth: {username: {name: grafana, key: user}, password: {name: grafana, key: password}}
---
kind: CustomResourceDefinition
spec: {schema: {openAPIV3Schema: {properties: {password: {type: string, description: "The password, e.g. Abc123!", pattern: "^[A-Z]{3}$"}, secrets: {type: array, items: {type: string}}}}}}
---
kind: ExternalSecret
spec: {secretStoreRef: {name: vault, kind: ClusterSecretStore}, refreshInterval: 1h, target: {name: db, template: {type: Opaque, data: {url: "{{ .password }}"}}}, data: [{secretKey: password, remoteRef: {key: shop/db, property: password, version: v2}}]}
---
kind: SecretStore
spec: {provider: {vault: {server: "https://vault:8200", path: secret, version: v2, auth: {tokenSecretRef: {name: vault-token, key: token}, kubernetes: {role: shop, mountPath: kubernetes}}}}}
---
env: [{name: DB_PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}, {name: LOG_LEVEL, value: debug}, {name: TOKEN_URL, value: "https://x/token"}, {name: AUTH_MODE, value: SASL_SSL}, {name: KAFKA_AUTH, value: PLAIN}, {name: ENABLE_AUTH, value: "true"}, {name: API_TOKEN, value: $(OTHER)}]
---
args: [--secret-name=web-tls, --auth-mode=oidc, "--token-file=/etc/token", "-p", "8080", "--authentication-token-webhook=true", "--secret", "shop/web-tls", "-p", "8080:80", "--anonymous-auth=false", --credentials, /etc/creds.json, -u, "1000:1000", "--authorization-mode=Node,RBAC"]
---
command: [mkdir, -p, /data/Cache01]
---
helm: {parameters: [{name: auth.enabled, value: "true"}, {name: auth.existingSecret, value: db-credentials}, {name: secret.name, value: web-tls}, {name: image.tag, value: 1.2.3}, {name: redis.auth, value: "false"}]}
---
kind: ConfigMap
data: {token-controller: enabled, authentication: kubernetes, "oidc.config": "clientSecret: $oidc.clientSecret\\nissuer: https://x\\n", "service.slack": "token: $slack-token\\n", policy.csv: "p, role:dev, secrets, get, */*, allow\\n"}
---
rules: [{apiGroups: [""], resources: [secrets, tokenreviews], verbs: [get]}]
---
annotations: {nginx.ingress.kubernetes.io/auth-tls-secret: shop/ca-2, checksum/secret: 9f86d081884c7d659a2feaa0c55ad015, cert-manager.io/private-key-secret: web-key-x7}
---
routingKey: orders.created
---
tokenRequests: [{audience: vault.example.com}]
---
patches: [{op: replace, path: /spec/template/spec/containers/0/env/0/value, value: debug}]
"""

TEXTS = r"""
authentication required
rpc error: code = Unauthenticated desc = invalid token
invalid token: must not be empty
failed to verify token: token expired 3m ago
secret "db-credentials" not found
Secret: v1.Secret.ObjectMeta: v1.ObjectMeta.Annotations: ReadString
error: secret:shop/db-credentials is missing
v1:Secret:shop/db-credentials is OutOfSync
couldn't find key password in Secret shop/db-credentials
token-controller-7f9d8c6b5-x2k4p is not ready
quay.io/acme/token:v1.2.3 cannot be pulled
Failed to pull image "registry/secret-store:v0.9.13@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
http://web:8080/path/x@v1 is refused
dial tcp 10.0.0.1:5432: connect: connection refused for user app@db.example.com
git@github.com:acme/shop.git: Permission denied (publickey)
the flag --password is required
flag provided but not defined: -token
unknown flag: --secret
mkdir -p /data/Cache01
docker run -p 8080:80 web
ssh -p 2222 host
kubectl get secret web-tls -n shop
vault login failed: permission denied
auth: method kubernetes is not enabled
auth=kubernetes mode=oidc
authorization mode RBAC is on
Authorization header is missing
Cookie: none
the password must have 12 characters
password authentication failed for user "app2"
unable to retrieve auth token: invalid username/password: unauthorized
Unexpected token: name (Foo1234xY)
spec.template.spec.containers[0].env[0].value: Invalid value: "debug": must be a URL
spec.ports[0].nodePort: Invalid value: "99999": not in range
spec.tokenTTL: Invalid value: "24x": bad duration
ValidationError(Deployment.spec.replicas): invalid type for Deployment.spec.replicas: got "string", expected "integer"
ValidationError(Secret.data): invalid type for io.k8s.api.core.v1.Secret.data: got "array", expected "map"
at '/replicaCount': got string, want integer
<html><head><title>401 Authorization Required</title></head></html>
<key>name</key>
{"level":"info","msg":"token refreshed","auth":"kubernetes","secret":"shop/web-tls","key":"tls.crt"}
map[app:web secretName:web-tls token:web]
helm dependency build failed: repository "https://charts.example.com" key: charts
key=value sort_key=created_at
secretKeyRef: name=db key=password
resource secrets is forbidden: User "system:serviceaccount:argocd:argocd-server" cannot list
api-key must be provided
tokens are rotated every 24h
x509: certificate signed by unknown authority
error getting credentials - err: exit status 1, out: ``
pass: 12 fail: 0
Status: pass=3 fail=0
tokenreviews.authentication.k8s.io is forbidden
bearer token: authentication failed
"""

# Repeated, each of these has been or could be slow for a pattern that goes back.
HOSTILE = [
    "password:",
    "password=",
    "{Password:",
    'env[0].value: Invalid value: "',
    "set to ",
    "DB_PASSWORD has literal value ",
    r"\"password\":\"",
    r'"password":"a\\',
    '"tokens":["a",',
    "<a b='c' ",
    "<password>",
    "https://a:b c/",
    "http://u:p/ x",
    "a:b@",
    "cookie: a=b;",
    "docker login -p ",
    "redis-cli -a ",
    "--from-literal=a=",
    "ValidationError(a): ",
    "-----BEGIN RSA PRIVATE KEY-----",
    "eyJaaaaaaaa.",
    "$apr1$a$",
    "\\\\",
    "password\n",
]


@pytest.mark.parametrize("tree", TREES.strip().split("\n---\n"))
def test_names_references_and_settings_stay_readable(tree: str) -> None:
    body = fields(yaml.load(tree))
    assert Masker().mask_object(copy_object(body)) == body


@pytest.mark.parametrize("text", TEXTS.strip().split("\n"))
def test_words_of_errors_stay_readable(text: str) -> None:
    assert Masker().masked_text(text) == text


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_text_takes_time_in_proportion_to_its_length(piece: str) -> None:
    text = f"password token {piece * (60_000 // len(piece))}@x:1/"
    start = time.process_time()
    Masker().masked_text(text)
    masked_lines(text, lambda _: "<masked 1>")
    assert time.process_time() - start < 4
