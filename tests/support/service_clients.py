"""Embedding clients of an application, and functions that call the service."""

import asyncio

PARIS = ("Paris is the capital of France.", "The capital of France is Paris.")
PRIVATE = "sk-0123456789"
IDS = ("id", "test_run_id", "qa_pair_id")


class Client:
    """An embedding client that returns or raises ``result``."""

    def __init__(self, result=None):
        self.result = [[3.0, 4.0], [4.0, 3.0]] if result is None else result
        self.requests = []

    def embed_texts(self, texts):
        self.requests.append(texts)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


class AsyncClient(Client):
    async def embed_texts(self, texts):
        await asyncio.sleep(0)
        return Client.embed_texts(self, texts)


class RejectedKeyError(Exception):
    status_code = 401

    def __str__(self):
        return f"Incorrect API key provided: {PRIVATE}"


def evaluate(service, question="Capital of France?", reference=PARIS[0], **options):
    async def work():
        async with service:
            return await service.generate_and_evaluate(question, reference, **options)

    return asyncio.run(work())


def similarity(service, *texts, **options):
    async def work():
        async with service:
            return await service.calculate_semantic_similarity(*texts, **options)

    return asyncio.run(work())


def save_and_read(service, *arguments, **values):
    """Save one evaluation, and read it from the database."""
    service.save_evaluation_to_db("nightly", "q1", *arguments, **values)
    return service.get_full_by_run_and_qa("nightly", "q1")
