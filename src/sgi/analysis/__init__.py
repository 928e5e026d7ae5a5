"""Reads finished runs: comparison, gate, calibration, detector card, agreement with labels, rescoring."""
