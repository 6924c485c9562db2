"""The controllers of kube-controller-manager, on a virtual clock."""
