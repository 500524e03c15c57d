"""Random histories of Kafka's own classes that no model made: drawn, judged, shortened and recognised."""
