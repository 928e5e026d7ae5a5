"""Presentation: pages, files, figures and notebook output made from views."""
