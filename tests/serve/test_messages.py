"""Requests: every form that is understood, and every way to get one wrong, by status and sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.serve.messages import (
    HuggingFace,
    Limits,
    Own,
    Problem,
    explain_request,
    infer_request,
    parsed,
    predict_request,
)

LIMITS = Limits(texts=3, characters=10)


def problem(plain: dict[str, Any]) -> Problem:
    with pytest.raises(Problem) as found:
        predict_request(plain, LIMITS)
    return found.value


def test_hugging_face_one_and_many() -> None:
    asked, form = predict_request({"inputs": "call me"}, LIMITS)
    assert (asked.texts, form) == (["call me"], HuggingFace(one=True, top_k=None))
    asked, form = predict_request({"inputs": ["a", "b"], "parameters": {"top_k": 2}}, LIMITS)
    assert (asked.texts, form) == (["a", "b"], HuggingFace(one=False, top_k=2))


def test_own_forms() -> None:
    assert predict_request({"text": "a"}, LIMITS)[0].texts == ["a"]
    assert predict_request({"texts": ["a", "b"]}, LIMITS)[1] == Own()
    asked, _ = predict_request({"documents": [{"text": "a", "likes": 3}, {"text": "b"}]}, LIMITS)
    assert asked.columns is not None
    assert asked.columns["likes"].to_list() == [3, None]


def test_a_missing_text_is_none_among_others() -> None:
    for plain in ({"texts": ["a", None]}, {"documents": [{"text": "a"}, {"text": None, "n": 1}]}):
        assert predict_request(plain, LIMITS)[0].texts == ["a", None]
    assert predict_request({"inputs": [None, "b"]}, LIMITS)[0].texts == [None, "b"]
    tensor = {"name": "text", "datatype": "BYTES", "shape": [2], "data": ["a", None]}
    with pytest.raises(Problem, match="a null, which a tensor cannot hold"):
        infer_request({"inputs": [tensor]}, LIMITS)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "the body is empty: send"),
        (b" \n", "the body is empty: send"),
        (
            b'{"inputs": ' + b"9" * 5000 + b"}",
            "a number has 5,000 digits, and at most 640 are read",
        ),
        (b'{"inputs": -1' + b"0" * 5000 + b"}", "a number has 5,001 digits"),
        (b'{"inputs": "\xe9"}', "the body is not JSON: 'utf-8' codec can't decode byte 0xe9"),
    ],
)
def test_what_is_no_json_is_said_in_our_words(body: bytes, words: str) -> None:
    with pytest.raises(Problem, match=words) as found:
        parsed(body)
    assert (found.value.status, found.value.kind) == (400, "invalid_json")
    assert "sys.set" not in str(found.value.to_plain())


def test_lone_surrogates_become_the_unknown_character() -> None:
    asked, _ = predict_request(parsed(b'{"text": "a\\ud800b"}'), LIMITS)
    assert asked.texts == ["a�b"]


@pytest.mark.parametrize(
    ("plain", "kind", "words"),
    [
        ({}, "invalid_request", "there is no text in the request"),
        ({"input": "a"}, "invalid_request", "found 'input'"),
        ({"inputs": None}, "invalid_request", "inputs is null"),
        ({"inputs": 7}, "invalid_request", "inputs is a number"),
        ({"inputs": [["a"]]}, "invalid_request", "inputs is a list: every text must be a string"),
        ({"text": None}, "invalid_request", "text is null: every text must be a string"),
        ({"texts": [None, 1]}, "invalid_request", "texts[1] is a number"),
        ({"texts": []}, "no_text", "texts is empty"),
        ({"texts": list("abcd")}, "too_many_texts", "at most 3"),
        ({"texts": ["a", "b" * 11]}, "text_too_long", "texts[1] has 11 characters"),
        ({"inputs": "a", "parameter": {}}, "unknown_key", "did you mean 'parameters'"),
        ({"inputs": "a", "parameters": {"top_k": 0}}, "invalid_request", "top_k is 0: it must"),
        ({"inputs": "a", "parameters": {"top_k": True}}, "invalid_request", "top_k is true"),
        ({"inputs": "a", "parameters": []}, "invalid_request", "parameters is a list"),
        ({"documents": {"text": "a"}}, "invalid_request", "documents is an object"),
        ({"documents": ["a"]}, "invalid_request", "documents[0] is a string"),
        ({"documents": [{"txt": "a"}]}, "no_text", "documents[0] has no 'text'"),
    ],
)
def test_refused(plain: dict[str, Any], kind: str, words: str) -> None:
    found = problem(plain)
    assert (found.status, found.kind) == (422, kind)
    assert words in found.message


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe{}", 400),
        (b'{"inputs": NaN}', 400),
        (b'{"inputs": -Infinity}', 400),
        (b"[" * 100_000, 400),
        (b'{"a": ' + b"9" * 5000 + b"}", 400),
        (b'["a text"]', 422),
        (b"null", 422),
    ],
)
def test_bodies_that_are_no_object(body: bytes, status: int) -> None:
    with pytest.raises(Problem) as found:
        parsed(body)
    assert found.value.status == status
    assert len(found.value.message) < 300


def test_a_message_never_repeats_a_text() -> None:
    secret = "a text that is nobody's business"
    for plain in ({"inputs": {"a": secret}}, {"texts": [secret]}, {"documents": [secret]}):
        assert secret not in problem(plain).message


def test_explain() -> None:
    wanted = explain_request({"text": "a", "words": 0, "neighbours": 2.0}, LIMITS)
    assert (wanted.asked.texts, wanted.words, wanted.neighbours) == (["a"], 0, 2)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"text": ["a"]}, "text is a list"),
        ({"text": None}, "text has no text"),
        ({"document": {"text": None}}, "document has no text"),
        ({"text": "a", "words": -1}, "words is -1: it must be a whole number from 0 to 100"),
        ({"text": "a", "words": 1.5}, "words is 1.5"),
        ({"text": "a", "words": "3"}, "words is a string"),
        ({"text": "a", "words": 10**4000}, "words is 1000"),
        ({}, "there is no text in the request"),
    ]
    for plain, words in cases:
        with pytest.raises(Problem, match=words):
            explain_request(plain, LIMITS)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
keys = st.sampled_from(["inputs", "texts", "text", "documents", "document", "parameters", "words"])


@given(st.dictionaries(keys, values, max_size=3))
def test_whatever_is_sent_is_understood_or_refused(plain: dict[str, Any]) -> None:
    again = parsed(json.dumps(plain).encode())
    for reads in (predict_request, explain_request):
        assert _status(reads, again) in (None, 422)


def _status(reads: Callable[..., object], plain: Mapping[str, Any]) -> int | None:
    try:
        reads(plain, LIMITS)
    except Problem as found:
        return found.status
    return None


def test_values_of_several_kinds_are_no_reason_to_refuse_a_document() -> None:
    rows = [{"text": "a", "n": 1, "\ud800": [1, "x"]}, {"text": "b", "n": "x"}, {"text": "c"}]
    asked, _ = predict_request({"documents": rows}, Limits())
    assert asked.columns is not None
    assert asked.columns["n"].to_list() == ["1", '"x"', None]
    assert asked.columns["\ufffd"].to_list() == ['[1, "x"]', None, None]
