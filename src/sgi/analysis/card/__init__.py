"""The detector card: how well a score separates grounded answers from others, with controls."""
