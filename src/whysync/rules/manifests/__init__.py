"""Mistakes in the files of a repository, found before anything is synced (`lint`)."""
