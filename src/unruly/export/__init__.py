"""Models for other programs: an ONNX graph, a folder in Hugging Face's manner, a Dockerfile."""
