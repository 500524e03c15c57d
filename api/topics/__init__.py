"""Topics: the losses that a topic's settings allow, from measured figures."""
