"""Write scores in the forms that tracing tools take: OpenTelemetry, OpenInference, Phoenix and Langfuse."""
