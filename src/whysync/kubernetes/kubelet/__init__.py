"""The kubelets of all nodes: containers, probes, image pulls, Pod status, logs."""
