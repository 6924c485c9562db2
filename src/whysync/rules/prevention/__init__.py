"""Settings of running apps that will cause problems later."""
