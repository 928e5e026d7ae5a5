"""Collect rows from a LangChain application, and score them."""

from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough

import sgi
from sgi.integrations.langchain import RowCollector

PASSAGES = [
    "The Eiffel Tower is 330 m tall. The company of Gustave Eiffel built it from 1887 to 1889.",
    "Mars is called the red planet, since its dust is full of rust. Its moons are Phobos and Deimos.",
    "William Herschel discovered Uranus in 1781 with a telescope he had built himself.",
]
ANSWERS = {
    "How tall is the Eiffel Tower?": "The Eiffel Tower is 312 m tall.",
    "What are the moons of Mars?": "The moons of Mars are Phobos and Deimos.",
    "Who discovered Uranus?": "",  # the model returned nothing
}


class WordRetriever(BaseRetriever):
    """Your retriever: here it returns the passage that shares the most words with the question."""

    def _get_relevant_documents(self, query, *, run_manager):
        words = set(query.rstrip("?").split())
        return [Document(max(PASSAGES, key=lambda passage: len(words & set(passage.split()))))]


# Your model: here it returns recorded answers, so that the example runs offline.
model = GenericFakeChatModel(messages=iter([AIMessage(text) for text in ANSWERS.values()]))
prompt = ChatPromptTemplate.from_template("Answer from the context.\n{context}\n\nQuestion: {question}")
rag = {"context": WordRetriever(), "question": RunnablePassthrough()} | prompt | model | StrOutputParser()

collector = RowCollector()
for question in ANSWERS:
    rag.invoke(question, config={"callbacks": [collector]})

result = sgi.evaluate(collector.rows, ["grounding", "sgi"])
grounding = result["grounding"]
for number, row in enumerate(collector.rows):
    print(f"{row['question']:30}  {grounding.reasons[number] or f'{grounding.values[number]:.2f}'}")
print(result)
collector.write("rows.jsonl")  # for sgi run
