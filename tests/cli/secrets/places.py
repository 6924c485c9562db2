"""Where secret values can be: templates of texts and objects, with a placeholder in place of each value.

`@@` is a value of letters and digits. `@az24@` has 24 letters, `@hex32@` 32 hexadecimal digits, `@up16@` 16
capitals and digits, `@num18@` 18 digits, `@mix40@` 40 letters and digits, `@words@` five words. `@x=az24@` gives a
value the name x, and `@x@` repeats it.
"""

# ruff: noqa: E501 (one place per line)

from __future__ import annotations

# Lines of logs and messages of Argo CD, Kubernetes and programs.
TEXTS = r"""
config loaded: {Password:@@ Token:@@}
config loaded: &{Host:db Port:5432 Password:@@}
settings map[host:db password:@@ token:@@]
connecting with password:@@
using pass:@@ for the keystore
openssl rsa -passin pass:@@ -in key.pem
aws_secret_access_key = @@
[default] aws_secret_access_key=@@
AWS_SECRET_ACCESS_KEY=@@
password := @@
password = @@
password => @@
password: @@
password is @@
the password @@ was refused
login failed, pwd=@@
api_key=@@ sent
apiKey: @@
client_secret=@@
token @@ password=@@
{"level":"info","secret":"@@"}
{"level":"info","credentials":"@@"}
{"level":"info","auth":"@@"}
{"level":"info","password":"@@","tokens":["@@","@@"]}
{"level":"info","apiKeys":["@@"]}
{"password": 839201746500@num18@}
{'password': '@@', 'user': 'bob'}
msg="{\"password\":\"@@\"}"
outer {"a":"{\"b\":\"{\\\"password\\\":\\\"@@\\\"}\"}"}
outer {"a":"{\"b\":\"{\\\"c\\\":\\\"{\\\\\\\"token\\\\\\\":\\\\\\\"@@\\\\\\\"}\\\"}\"}"}
app:@@@tcp(db:3306)/shop?parseTime=true
app:@@@unix(/run/mysqld.sock)/shop
app:@@@db.example.com:5432/shop
postgres://app:@@@db:5432/shop
postgres://app:@@/x@db:5432/shop
postgres://app:@@ x@db:5432/shop
amqp://app:ab/@@@mq:5672/
mongodb+srv://app:@@@cluster0.example.net/shop
redis://:@@@redis:6379/0
jdbc:postgresql://db/shop?user=app&password=@@
jdbc:sqlserver://db:1433;user=app;password=@@;encrypt=true
Server=db;Database=shop;User Id=app;Password=@@;
DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=@@==;EndpointSuffix=core.windows.net
Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey=@@=
fatal: unable to access 'https://bob:@@@git.example.com/x.git/': 401
fatal: https://@@:x-oauth-basic@github.com/x.git not found
fatal: https://@mix40@@github.com/x.git not found
fatal: https://x-access-token:@@@github.com/x.git not found
fatal: https://oauth2:@@@gitlab.com/x.git not found
GET /x?access_token=@@&y=1
GET /x?api_key=@@
GET /x?sig=@@&se=2026
GET https://s3.example.com/x?X-Amz-Signature=@@&X-Amz-Credential=@@
POST https://hooks.slack.com/services/T0/B0/@@
POST https://discord.com/api/webhooks/123/@@
POST https://acme.webhook.office.com/webhookb2/@@
POST https://chat.googleapis.com/v1/spaces/AAA/messages?key=@@&token=@@
Authorization: Bearer @@
Authorization: Basic @@
Authorization: @@
authorization=@@
"authorization": "Bearer @@"
{"Authorization":["Bearer @@"]}
Proxy-Authorization: Basic @@
curl -H 'Authorization: token @@' https://api.example.com
curl -H "X-Api-Key: @@" https://api.example.com
curl -H "PRIVATE-TOKEN: @@" https://gitlab.example.com
X-Vault-Token: @@
X-Auth-Token: @@
Cookie: session=@@; csrf=@@; theme=@@
Set-Cookie: argocd.token=@@; path=/; HttpOnly
curl -b x -H 'Cookie: a=@@; b=@@' https://example.com
curl -u admin:@@ https://example.com
curl --user admin:@@ https://example.com
curl --proxy-user admin:@@ https://example.com
wget --password=@@ https://example.com
run --requirepass @@
run --masterauth @@
run --secret @@
run --secret=@@
run --auth=@@
run --auth @@
run --basic-auth=u:@@
run --basic-auth u:@@
run --password @@
run --password=@@
run --db-password=@@ --api-token=@@
run --token "@@"
run -token @@
run --client-secret=@@
run --credentials=@@
redis-cli -h redis -a @@ ping
redis-cli -a '@@' ping
redis-server --requirepass @@ --port 6379
mongo -u root -p @@ --eval 1
mongosh --username root -p @@
mongodump -p=@@
ldapsearch -x -D cn=admin -w @@ -b dc=x
ldapadd -w @@
mysql -h db -p@@ shop
mysqldump -uroot -p@@ shop
mariadb -p@@
sshpass -p @@ ssh host
sshpass -p@@ ssh host
docker login -u bob -p @@ registry.example.com
helm registry login -u bob -p @@ registry.example.com
az login -u bob -p @@
oc login -u bob -p @@
sqlcmd -S db -U sa -P @@
cqlsh -u cassandra -p @@
vault login @@
vault login -method=token token=@@
kubectl create secret generic x --from-literal=k=@@ --from-literal=other=@@
kubectl create secret generic x --from-literal k=@@
argocd login argocd.example.com --username admin --password @@
export GITHUB_TOKEN=@@
GH_PAT=@@ DB_CREDS=@@ PROXY_AUTH=@@ LICENSE_KEY=@@
SECRET_KEY_BASE=@@
//npm.example.com/:_authToken=@@
machine git.example.com login bob password @@
<config><password>@@</password></config>
<db:password>@@</db:password>
<add key="Password" value="@@"/>
<add value="@@" key="ApiKey" />
<property name="db.password" value="@@"></property>
<entry key="client.secret">@@</entry>
<user name="bob" password="@@"/>
spec.password: Invalid value: "@@": too short
spec.containers[0].env[0].value: Invalid value: "@@": must be a URL
spec.secretEnv.X: Invalid value: "@@": no
Secret "a" is invalid: data[x]: Invalid value: "@@"
env DB_PASSWORD has literal value '@@'
validation error: variable DB_PASSWORD has literal value "@@", use a secretKeyRef
error validating data: ValidationError(Secret.data.password): invalid type for io.k8s.api.core.v1.Secret.data: got "@@", expected "map"
error validating data: ValidationError(Secret.stringData.x): invalid type: got "@@", expected "string"
values don't meet the specifications: at '/auth/password': '@@' does not match pattern '^[a-z]+$'
yaml: unknown anchor '@@' referenced
log: {"kind":"Secret","data":{"a":"@@"}}
Secret in version "v1" cannot be handled: error found in #2 byte of ...|a":12@@|..., bigger context ...|"data":{"a":"@@","b":|...
htpasswd admin:$2y$10$@mix40@@mix40@
htpasswd admin:$apr1$ab$@mix40@
pushed with ghp_@mix40@
pushed with gho_@mix40@
pushed with github_pat_@mix40@
pushed with glpat-@mix40@
pushed with gldt-@mix40@
uploaded with pypi-@mix40@
identity AGE-SECRET-KEY-1@up16@@up16@
charged with rk_live_@mix40@
charged with sk_live_@mix40@
charged with sk_test_@mix40@
shop shpat_@mix40@
jira ATATT3x@mix40@
linear lin_api_@mix40@
databricks dapi@hex32@
google GOCSPX-@mix40@
google AIza@mix40@
google ya29.@mix40@
square sq0csp-@mix40@
slack xoxb-@mix40@
slack xapp-1-@mix40@
aws AKIA@up16@
aws ASIA@up16@
npm npm_@mix40@
openai sk-@mix40@
docker dckr_pat_@mix40@
vault hvs.@mix40@
sendgrid SG.@mix40@.@mix40@
jwt eyJhbGciOiJIUzI1NiJ9.@mix40@.@mix40@
digitalocean dop_v1_@hex32@@hex32@
stripe whsec_@mix40@
grafana glsa_@mix40@
huggingface hf_@mix40@
postman PMAK-@hex24@-@hex34@
newrelic NRAK-@up16@@up16@
terraform @hex14@.atlasv1.@mix40@@mix40@
""".strip("\n").split("\n")

BLOCKS = [
    "-----BEGIN RSA PRIVATE KEY-----\n@mix40@\n@mix40@\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\n@mix40@\n-----END OPENSSH PRIVATE KEY-----",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n@mix40@\n-----END PGP PRIVATE KEY BLOCK-----",
]

# Helm values, as a text in `values`, as an object in `valuesObject`, and as a file of a ConfigMap.
VALUES = """
db: {password: "@@", host: db, existingSecret: db-credentials}
adminPassword: "@@"
secretEnv: {X: "@@", Y: "@@"}
envSecrets: {X: "@@"}
extraSecrets: {a: {X: "@@"}, b: {nested: {deep: "@@"}}}
secret: {create: true, name: web-secret, data: {x: "@@", y: "@az24@"}}
password: {value: "@@"}
apiToken: {plain: "@@"}
secrets: ["@@", "@@"]
tokens: ["@@"]
passwords: {alice: "@@", bob: "@@"}
credentials: {username: bob, key1: "@@"}
secureJsonData: {basicAuthValue: "@@"}
secretConfig: [{a: "@@"}]
redis: {auth: "@@"}
jwt: "@@"
githubPat: "@@"
license: {licenseKey: "@@"}
dsn: "postgres://app:@@@db/x"
env: {DB_PASSWORD: {value: "@@"}, GH_PAT: "@@"}
extraEnv: [{name: API_TOKEN, value: "@@"}, {name: DB_CREDS, value: {a: "@@"}}]
secretGenerator: [{name: x, literals: ["k=@@", "token=@@"]}]
signing: {signingKey: "@@", encryptionKey: "@@"}
smtp: {pass: "@@", pwd: "@@"}
"""

SOURCE = """
repoURL: https://@@:x-oauth-basic@github.com/acme/shop.git
path: apps/shop
targetRevision: main
helm:
  parameters:
  - {name: redis.auth, value: "@@"}
  - {name: db.password, value: "@@"}
  - {name: secretEnv.X, value: "@@"}
  - {name: "extraSecrets[0].x", value: "@@"}
  - {name: api.key, value: "@@"}
kustomize:
  patches:
  - target: {kind: Deployment}
    patch: |-
      - {op: replace, path: /spec/template/spec/containers/0/env/0/value, value: "@@"}
      - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: DB_PASSWORD, value: "@@"}}
  - target: {kind: Secret, name: x}
    patch: '[{"op": "replace", "path": "/data/x", "value": "@@"}]'
  - patch: |-
      apiVersion: v1
      kind: Secret
      metadata: {name: x}
      stringData: {x: "@@"}
  - target: {kind: ConfigMap}
    patch: '[{"op": "replace", "path": "/data/password", "value": "@@"}]'
  commonAnnotations: {token: "@@"}
plugin:
  env: [{name: TOKEN, value: "@@"}, {name: VAULT_CREDS, value: "@@"}]
  parameters:
  - {name: password, string: "@@"}
  - {name: tokens, array: ["@@"]}
  - {name: secrets, map: {a: "@@"}}
"""

# The data of argocd-cm and argocd-notifications-cm.
ARGOCD_CM = {
    "dex.config": """
connectors:
- type: ldap
  id: ldap
  config: {host: "ldap.example.com:636", bindDN: cn=admin, bindPW: "@@"}
- type: github
  id: github
  config: {clientID: abc, clientSecret: "@@"}
- type: saml
  config: {caData: x, ssoURL: https://sso.example.com}
staticClients:
- {id: cli, secret: "@@"}
staticPasswords:
- {email: a@example.com, hash: $2y$10$@mix40@@mix40@}
""",
    "oidc.config": "name: Okta\nissuer: https://x.okta.com\nclientID: a\nclientSecret: '@@'\n",
    "repositories": "- url: https://bob:@@@git.example.com/x.git\n  password: '@@'\n",
    "repository.credentials": "- url: https://git.example.com\n  sshPrivateKey: '@@'\n",
    "webhook.github.secret": "@@",
    "webhook.gitlab.secret": "@@",
    "webhook.bitbucket.uuid.secret": "@@",
    "accounts.ci.token": "@@",
    "admin.password": "@@",
    "server.secretkey": "@@",
    "statusbadge.url": "https://bob:@@@badges.example.com",
}
NOTIFICATIONS = {
    "service.slack": "token: '@@'\nsigningSecret: '@@'\n",
    "service.email": "host: smtp\nusername: bob\npassword: '@@'\n",
    "service.webhook.ci": """
url: https://ci.example.com/hook?token=@@
headers:
- {name: Authorization, value: Bearer @@}
- {name: X-Api-Key, value: "@@"}
basicAuth: {username: bob, password: "@@"}
""",
    "service.grafana": "apiUrl: https://grafana.example.com/api\napiKey: '@@'\n",
    "service.opsgenie": "apiUrl: https://api.opsgenie.com\napiKeys: {team: '@@'}\n",
    "service.pagerduty": "token: '@@'\nserviceKeys: {shop: '@@'}\n",
    "service.pagerdutyv2": "serviceKeys:\n  shop: '@@'\n",
    "service.telegram": "token: '@@'\n",
    "service.teams": "recipientUrls:\n  ch: https://acme.webhook.office.com/webhookb2/@@\n",
    "service.googlechat": "webhooks:\n  s: https://chat.googleapis.com/v1/spaces/A/messages?key=@@&token=@@\n",
    "service.github": "appID: 1\nprivateKey: '@@'\n",
    "service.rocketchat": "email: a@b.c\npassword: '@@'\n",
    "service.awssqs": "queue: q\nkey: AKIA@up16@\nsecret: '@@'\n",
    "service.alertmanager": "targets: [a:9093]\nbearerToken: '@@'\n",
    "service.newrelic": "apiKey: '@@'\n",
    "service.pushover": "token: '@@'\n",
}

POD = """
initContainers:
- name: init
  image: mongo
  command: [mongo]
  args: [-u, root, -p, "@@"]
containers:
- name: web
  image: web:1.0
  command: [sh, -c, "redis-cli -a @@ ping && exec web --token @@"]
  args: ["--requirepass", "@@", "--secret", "@@", "--auth=@@", "--basic-auth=u:@@", "-p", "@@", "--user", "u:@@", "--db-password=@@"]
  livenessProbe: {exec: {command: [redis-cli, -a, "@@", ping]}}
  env:
  - {name: DB_PASSWORD, value: "@@"}
  - {name: GH_PAT, value: "@@"}
  - {name: DB_CREDS, value: "@@"}
  - {name: PROXY_AUTH, value: "@@"}
  - {name: LICENSE_KEY, value: "@@"}
  - {name: APP_SECRET, value: "@@"}
  - {name: AWS_SECRET_ACCESS_KEY, value: "@@"}
  - {name: SESSION_KEY, value: "@@"}
  - {name: API_CREDENTIALS, value: "@@"}
  - {name: DATABASE_URL, value: "postgres://app:@@@db/x"}
  - {name: SENTRY_DSN, value: "https://@mix40@@sentry.example.com/1"}
  - {name: JAVA_OPTS, value: "-Xmx1g -Djavax.net.ssl.keyStorePassword=@@ -Ddb.password=@@"}
  - {name: CONFIG, value: '{"db":{"password":"@@"}}'}
- name: vault
  image: vault
  command: [vault, login, "@@"]
- name: redis
  image: redis
  args: [redis-server, --requirepass, "@@"]
- name: ldap
  image: ldap
  command: [/usr/bin/ldapsearch]
  args: [-x, -w, "@@"]
"""

CONFIG_MAP = {
    "DB_PASSWORD": "@@",
    "API_KEY": "@@",
    "GH_PAT": "@@",
    "app.yaml": "db:\n  host: db\n  password: '@@'\nsecretEnv:\n  X: '@@'\n",
    "app.properties": "db.url=jdbc:x\ndb.password=@@\n[x\n",
    "app.ini": "[aws]\naws_secret_access_key = @@\nregion = eu\n[x\n",
    "web.config": '<configuration>\n<add key="Password" value="@@"/>\n<password>@@</password>\n</configuration>\n',
    "settings.xml": "<servers>\n<server><id>x</id><password>@@</password></server>\n</servers>\n",
    "app.toml": '[db]\npassword = "@@"\n[[x]]\ntoken = "@@"\n',
    "app.json": '{"db": {"password": "@@", "tokens": ["@@"]}, "secretEnv": {"X": "@@"}}',
    "one-line.yaml": "{db: {password: '@@'}}",
    "redis.conf": "port 6379\nrequirepass @@\nmasterauth @@\n",
    ".npmrc": "//npm.example.com/:_authToken=@@\n",
    ".netrc": "machine x login bob password @@\n",
    "kubeconfig": "apiVersion: v1\nkind: Config\nusers:\n- name: x\n  user: {token: '@@', client-key-data: '@@'}\n",
    "start.sh": "#!/bin/sh\nexport TOKEN=@@\nmysql -p@@ shop\ncurl -u bob:@@ https://x\n",
    "secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata: {x: '@@'}\n",
    "alertmanager.yml": "receivers:\n- name: x\n  slack_configs:\n  - api_url: https://hooks.slack.com/services/T/B/@@\n",
}

# Objects from which Secrets are made, and others with documented secret fields.
OBJECTS = [
    """
apiVersion: bitnami.com/v1alpha1
kind: SealedSecret
metadata: {name: sealed, namespace: shop}
spec:
  encryptedData: {x: AgBy3i4OJSWK}
  template: {type: Opaque, data: {x: "@@"}, stringData: {y: "@@"}, metadata: {name: sealed}}
""",
    """
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: external, namespace: shop}
spec:
  secretStoreRef: {name: store, kind: SecretStore}
  target: {name: x, template: {data: {config: "password: @@", url: "https://u:@@@x"}}}
  data: [{secretKey: password, remoteRef: {key: db/password, property: value}}]
""",
    """
apiVersion: external-secrets.io/v1
kind: ClusterExternalSecret
metadata: {name: clusters}
spec: {externalSecretSpec: {target: {template: {data: {x: "@@"}}}}}
""",
    """
apiVersion: external-secrets.io/v1
kind: SecretStore
metadata: {name: fake, namespace: shop}
spec: {provider: {fake: {data: [{key: /db, value: "@@"}, {key: /x, valueMap: {a: "@@"}}]}}}
""",
    """
apiVersion: external-secrets.io/v1
kind: ClusterSecretStore
metadata: {name: fake}
spec: {provider: {fake: {data: [{key: /db, value: "@@", version: v1}]}}}
""",
    """
apiVersion: generators.external-secrets.io/v1alpha1
kind: Fake
metadata: {name: generator, namespace: shop}
spec: {data: {any: "@@"}}
""",
    """
apiVersion: isindir.github.com/v1alpha3
kind: SopsSecret
metadata: {name: sops, namespace: shop}
spec: {secretTemplates: [{name: x, stringData: {a: "@@"}, data: {b: "@@"}}]}
""",
    """
apiVersion: v1
kind: Secret
metadata:
  name: db
  namespace: shop
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"kind":"Secret","stringData":{"a":"@@"}}'
stringData: {a: "@@", letters: "@letters=az24@", number: "@number=num18@", phrase: "@phrase=words@", mixed: "@mixed=az12@", plain: "@plain=mix40@"}
""",
    """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: build, namespace: shop}
spec:
  arguments: {parameters: [{name: password, value: "@@"}, {name: mode, value: fast}]}
  templates: [{inputs: {parameters: [{name: api-token, default: "@@"}]}}]
""",
    """
apiVersion: monitoring.coreos.com/v1alpha1
kind: AlertmanagerConfig
metadata: {name: alerts, namespace: shop}
spec: {receivers: [{name: x, webhookConfigs: [{url: "https://u:@@@x/y"}], emailConfigs: [{authPassword: "@@"}]}]}
""",
    """
apiVersion: grafana.integreatly.org/v1beta1
kind: GrafanaDatasource
metadata: {name: source, namespace: shop}
spec: {datasource: {name: x, secureJsonData: {httpHeaderValue1: "@@", password: "@@"}}}
""",
    """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    example.com/token: "@@"
    nginx.ingress.kubernetes.io/configuration-snippet: 'proxy_set_header Authorization "Bearer @@";'
spec: {rules: []}
""",
]

# Values of the Secret above, found again in messages.
AGAIN = [
    "could not log in with @letters@",
    "refused: @number@",
    "phrase @phrase@ is wrong",
    "got @mixed@ instead",
    "bad value @plain@",
]
