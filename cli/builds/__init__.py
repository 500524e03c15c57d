"""Files and annotations for CI builds: JUnit XML, SARIF, and GitHub workflow annotations."""
