"""The explorer: any protocol, step by step in the browser, under the plain semantics."""
