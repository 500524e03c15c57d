"""What a real cluster's metadata log shows, judged by the guarantees."""
