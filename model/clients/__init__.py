"""How clients learn about the cluster: metadata reads with consistency tokens, and discovery of leaders (KIP-951)."""
