import pytest

from sgi.service.service import RAGEvalService
from sgi.testing import HashEmbedder


@pytest.fixture
def service(database_url):
    made = RAGEvalService(database=database_url, embedder=HashEmbedder())
    yield made
    made.close()
