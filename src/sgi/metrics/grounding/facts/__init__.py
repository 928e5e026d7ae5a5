"""Extracts facts (quantities, dates, names) from text and checks them against passages."""
