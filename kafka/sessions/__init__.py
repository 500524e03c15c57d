"""Binding of the model `broker-sessions` to Kafka's BrokerLifecycleManager and BrokerHeartbeatManager."""
