"""Plans against what then happens: commits are planned on the model, and synced onto a real server."""
