"""Registrations, heartbeats and sessions of a broker: how long a partition is led by a dead one."""
