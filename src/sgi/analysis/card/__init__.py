"""The detector card: how well a score tells grounded answers from others, beside all that could fake it."""
