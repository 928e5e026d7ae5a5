"""Texts to unit rows: ONNX Runtime, sentence-transformers or a remote service, behind one protocol.

``load.load_embedder`` opens any of them by name; ``cached.CachedEmbedder`` keeps what they computed.
"""
