"""The detector card: how well a score separates grounded answers from others, with controls."""

from sgi_lab.card.make_card import detector_card
from sgi_lab.card.run_card import card_of_run

__all__ = ["card_of_run", "detector_card"]
