"""Replication of the metadata log: a quorum of voters and its observers (KRaft: KIP-595, KIP-1166)."""
