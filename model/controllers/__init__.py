"""The metadata quorum and the cluster's brokers in one machine: failover of the active controller."""
