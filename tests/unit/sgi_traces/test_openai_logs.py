"""Logs of OpenAI's API: forms that the files in tests/data/exports lack."""

import json

import pytest

from sgi.io import open_dataset
from sgi.kernel.errors import DataError
from sgi.kernel.sample import Field
from support.export_files import COMPLETION, QUESTION, REPLY, only, read, rows, write


def log(*messages, answer=REPLY):
    return {
        "request": {"messages": list(messages)},
        "response": {**COMPLETION, "choices": [{"message": answer}]},
    }


def test_passages_inside_a_prompt_are_not_taken(tmp_path):
    prompt = {"role": "user", "content": "Context:\n[1] It was she.\n\nQuestion: Who?"}
    sample = only(tmp_path, "openai", log(prompt))

    assert not sample.has(Field.CONTEXTS)
    assert sample.question == prompt["content"]


def test_a_mapping_takes_passages_from_the_message_of_the_system(tmp_path):
    path = write(tmp_path, log({"role": "system", "content": "It was she."}, QUESTION))

    (sample,) = open_dataset(path, columns={"contexts": "metadata.system"}).samples()

    assert sample.contexts == ("It was she.",)
    assert sample.metadata["request_id"] == "c"


def test_a_chat_whose_system_prompt_may_have_the_passages_names_the_mapping(tmp_path):
    chat = {"messages": [{"role": "system", "content": "It was she."}, QUESTION, REPLY]}
    sample = only(tmp_path, "openai", chat)
    option = sample.metadata["absent"]["contexts"].rpartition("--map ")[2]

    mapping = dict([option.split("=")])
    (sample,) = open_dataset(write(tmp_path, chat), columns=mapping).samples()
    assert sample.contexts == ("It was she.",)


def test_columns_beside_a_chat_belong_to_its_last_answer(tmp_path):
    chat = {"messages": [QUESTION, REPLY, QUESTION, REPLY], "contexts": ["It was she."], "reference": "She"}
    (first, last), _, line = read(write(tmp_path, chat))

    assert (first.has(Field.CONTEXTS), first.reference) == (False, None)
    assert (last.contexts, last.reference) == (("It was she.",), "She")
    assert "role assistant, contexts, reference." in line
    assert "absent" not in last.metadata


@pytest.mark.parametrize("name", ["chats.json", "chats.jsonl"])
def test_chats_may_be_lists_of_messages(tmp_path, name):
    chats = [[{"role": "developer", "content": "Be brief."}, QUESTION, REPLY], [QUESTION, REPLY]]
    path = tmp_path / name
    path.write_text(
        json.dumps(chats) if name.endswith(".json") else "".join(json.dumps(c) + "\n" for c in chats)
    )
    samples, rejected, _ = read(path)

    assert [(sample.id, sample.question, sample.response) for sample in samples] == [
        ("1", "Who?", "She."),
        ("2", "Who?", "She."),
    ]
    assert not rejected


def test_a_single_chat_names_the_form_of_a_file_of_chats(tmp_path):
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([QUESTION, REPLY]))
    with pytest.raises(DataError) as caught:
        list(open_dataset(path).samples())
    assert '{"messages": [...]}' in caught.value.hint


def test_every_choice_is_a_row(tmp_path):
    line = log(QUESTION)
    line["response"]["choices"].append({"message": {"role": "assistant", "content": "He."}})
    samples, _, _ = rows(tmp_path, "openai", line)

    assert [(sample.id, sample.response) for sample in samples] == [("c-1", "She."), ("c-2", "He.")]


def test_results_belong_to_the_tool_of_their_call(tmp_path):
    def call(number, name):
        return {"id": str(number), "function": {"name": name, "arguments": "{}"}}

    calls = {
        "role": "assistant",
        "content": None,
        "tool_calls": [call(1, "weather"), call(2, "search_wiki")],
    }
    results = [
        {"role": "tool", "tool_call_id": str(n), "content": text} for n, text in ((2, "Found."), (1, "Rain."))
    ]
    sample = only(tmp_path, "openai", log(QUESTION, calls, *results))

    assert sample.contexts == ("Found.",)
    assert (sample.metadata["tools"], sample.metadata["tool_outputs"]) == (["weather"], ["Rain."])


def test_an_answer_that_calls_a_tool_gives_no_row(tmp_path):
    answer = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "weather"}}]}
    _, _, line = rows(tmp_path, "openai", log(QUESTION), log(QUESTION, answer=answer))

    assert "1 turn gave no row: the answer calls a tool (1)" in line


def test_a_refusal_is_the_answer(tmp_path):
    answer = {"role": "assistant", "content": None, "refusal": "I cannot."}

    assert only(tmp_path, "openai", log(QUESTION, answer=answer)).response == "I cannot."


def test_a_message_of_pictures_is_not_a_question(tmp_path):
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "a.png"}}]}
    sample = only(tmp_path, "openai", log(picture))

    assert not sample.has(Field.QUESTION)


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"type": "file_search_call", "results": None}, "1 of 1 retrievals recorded no documents"),
        ({"type": "file_search_call", "results": []}, ""),
        ({"type": "web_search_call"}, "no message is the result of a retrieval tool"),
    ],
)
def test_file_search_without_results_leaves_the_passages_unknown(tmp_path, item, reason):
    answer = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "She."}],
    }
    reply = {"id": "r", "object": "response", "output": [item, answer]}
    sample = only(tmp_path, "openai", {"request": {"input": "Who?"}, "response": reply})

    assert sample.metadata.get("absent", {}) == ({"contexts": reason} if reason else {})
    assert sample.has(Field.CONTEXTS) is not bool(reason)


def test_cited_pages_have_no_text(tmp_path):
    cited = {"type": "url_citation", "url_citation": {"url": "https://a.example", "title": "A"}}
    sample = only(tmp_path, "openai", log(QUESTION, answer={**REPLY, "annotations": [cited]}))

    assert sample.metadata["document_ids"] == ["https://a.example"]
    assert sample.metadata["absent"] == {"contexts": "1 retrieved document has no text"}


def test_a_conversation_keeps_its_id(tmp_path):
    samples, _, _ = rows(
        tmp_path, "openai", {"id": 7, "messages": [QUESTION, REPLY, QUESTION, REPLY], "source": "a"}
    )

    assert [sample.id for sample in samples] == ["7-1", "7-2"]
    assert [sample.metadata["session_id"] for sample in samples] == ["7", "7"]
    assert samples[0].metadata["source"] == "a"


def test_a_conversation_gives_a_row_for_each_turn(tmp_path):
    samples, _, line = rows(tmp_path, "openai", {"messages": [QUESTION, REPLY, QUESTION, REPLY, QUESTION]})

    assert [sample.id for sample in samples] == ["1-1", "1-2"]
    assert [sample.metadata["turn"] for sample in samples] == [1, 2]
    assert "1 turn gave no row: a message of the user has no reply (1)" in line
