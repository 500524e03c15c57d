"""Topics that are created, deleted and created again, as brokers learn it."""
