"""Random histories of Kafka's own classes, which are judged without a model, shortened, and identified."""
