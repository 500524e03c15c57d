"""Files and annotations for builds: JUnit XML, SARIF, and the annotations of a GitHub workflow."""
