"""Binding of the model `topic-deltas` to Kafka's MetadataBatchLoader, ReplicaManager and AssignmentsManager."""
