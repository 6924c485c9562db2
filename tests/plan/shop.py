"""A small shop in a Git repository, deployed by one Application."""

from __future__ import annotations

from pathlib import Path

from tests.argocd.repo_server.git.conftest import GitCheckout

APP = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec:
  project: default
  source: {repoURL: "https://git.example.org/team/shop.git", path: apps/shop, targetRevision: main}
  destination: {server: "https://kubernetes.default.svc", namespace: shop}
  syncPolicy:
    automated: {prune: true}
    syncOptions: [CreateNamespace=true]
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: shop}
spec:
  selector: {app: shop}
  ports: [{port: 80, targetPort: 8080}]
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {greeting: hello}\n"
CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
PASSWORD = "correct-horse-battery-staple"
SECRET = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: old-token}}\nstringData: {{token: {PASSWORD}}}\n"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
        - {name: shop, image: "shop:1.0", ports: [{containerPort: 8080}], resources: {requests: {cpu: 100m}}}
"""
HOOK = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: smoke-test
  annotations:
    argocd.argoproj.io/hook: PreSync
    argocd.argoproj.io/sync-wave: "-1"
    argocd.argoproj.io/hook-delete-policy: BeforeHookCreation
spec:
  activeDeadlineSeconds: 600
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: smoke
          image: curl:8
          command: [sh, -c, "until curl -fsS http://shop:80/healthz; do sleep 2; done"]
"""
HPA = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: shop, annotations: {argocd.argoproj.io/sync-wave: "2"}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}
  minReplicas: 2
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
"""


class Shop(GitCheckout):
    """On the branch `feature`, which starts at `main`."""

    def __init__(self, folder: Path, *, base: dict[str, str] | None = None) -> None:
        super().__init__(folder)
        usual = {"service.yaml": SERVICE, "config.yaml": CONFIG, "deployment.yaml": DEPLOYMENT}
        files = {f"apps/shop/{name}": text for name, text in {**usual, **(base or {})}.items()}
        self.commit({"argocd/shop.yaml": APP, **files})
        self.git("checkout", "-q", "-b", "feature")

    def put(self, name: str, text: str) -> None:
        (self.folder / "apps/shop" / name).write_text(text)

    def remove(self, name: str) -> None:
        (self.folder / "apps/shop" / name).unlink()
