"""Registrations, heartbeats and sessions of a broker: how long a dead broker can remain leader."""
