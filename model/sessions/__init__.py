"""Registrations, heartbeats and sessions of a broker: how long a crashed broker can remain leader."""
