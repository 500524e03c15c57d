"""The explorer, which lets users step through any protocol in the browser, under the plain semantics."""
