"""What builds read: JUnit XML, SARIF, and the annotations of a GitHub workflow."""
