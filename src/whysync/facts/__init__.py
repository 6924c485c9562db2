"""Facts and where they come from: Argo CD's API, the Kubernetes API, bundles. Secrets are masked here."""
