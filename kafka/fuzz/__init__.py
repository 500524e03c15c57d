"""Random histories of Kafka's own classes: judged without a model, shortened, and attributed to known findings."""
