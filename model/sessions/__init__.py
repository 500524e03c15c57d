"""Registrations, heartbeats and sessions of a broker: how long a dead broker leads a partition."""
