"""Write scores in the formats of tracing tools: OpenTelemetry, OpenInference, Phoenix and Langfuse."""
