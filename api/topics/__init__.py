"""Advice on topics: the losses that a topic's settings allow, according to measured figures."""
