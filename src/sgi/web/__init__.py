"""The dashboard and the JSON API: the views of `report` as pages, and the scorer behind a door."""
