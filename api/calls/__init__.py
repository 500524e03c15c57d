"""The shelf of calls: what a user asks for, one module a call."""
