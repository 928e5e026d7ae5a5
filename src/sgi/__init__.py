"""SGI: RAG evaluation that people can trust."""
