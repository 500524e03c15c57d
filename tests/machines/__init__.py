"""Small machines whose state spaces are known, for tests of the engines."""
