"""What lives on the model: the controllers, the scheduler and the kubelets, on the virtual clock."""
