"""Topics: which losses a topic's settings allow, according to measured figures."""
