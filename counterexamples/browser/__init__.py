"""The explorer, with which users step through any protocol in the browser, under the plain semantics."""
