"""Random histories of Kafka's own classes, without a model: drawn, judged, shortened and identified."""
