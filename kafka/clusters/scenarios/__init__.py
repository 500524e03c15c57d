"""Scenarios that reproduce findings on clusters."""
