"""Embedders: texts to unit vectors, by ONNX Runtime, OpenVINO, sentence-transformers or a remote service."""
