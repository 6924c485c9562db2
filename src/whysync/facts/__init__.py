"""Facts and their sources: Argo CD's API, the Kubernetes API, bundles. Secrets are masked here."""
