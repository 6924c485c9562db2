"""Results for CI: one row type (`Annotation`), one writer per format: SARIF, JUnit, GitHub, GitLab."""
