"""An idempotent producer and the leaders that recognize its batches."""
