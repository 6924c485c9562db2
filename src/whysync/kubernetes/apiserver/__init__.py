"""The API server in memory: requests, storage, discovery, status errors."""
