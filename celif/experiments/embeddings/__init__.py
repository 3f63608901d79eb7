"""The contextual embeddings of the threshold, compared."""
