"""Engines that search the states of a machine and return a verdict on each property."""
