"""The metadata quorum and the brokers of the cluster in one machine: fail-over of the active controller."""
