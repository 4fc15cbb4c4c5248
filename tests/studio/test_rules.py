"""The pages of rules over HTTP: the table, previews, saving, two tabs, drafts."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from markupsafe import escape
from tests.studio.conftest import client_of

from unruly.project.editing import source_text
from unruly.studio.app import Studio
from unruly.studio.forms import with_words
from unruly.studio.rules import FIGURES, sorted_rows, source_rows
from unruly.votes.majority import winners

PART = {"x-part": "1"}
NEW = '[[source]]\nname = "songs"\n[[source.rule]]\nlabel = "ham"\nkeywords = ["song"]\n'


def text_of(folder: Path) -> str:
    return (folder / "unruly.toml").read_text()


def test_the_table_has_figures(client: Any) -> None:
    page = client.get("/rules").text
    assert "subscribe" in page
    assert "No model yet in the project" in page
    assert "<code>models/</code>" in page
    assert "ccuracy</a>" not in page, "nothing is shown in place of a model's estimate"
    assert "Agrees" not in page
    assert "Measured by the label column" in page
    assert "Decides majority" in page
    foot = page[page.index("Majority vote alone") :]
    assert "covers 82.2%" in foot
    assert "of the 73 documents with a label" in foot
    assert "0.8" not in foot, "shares are per cent everywhere on the page"


def test_a_source_decides_where_majority_vote_is_another_without_it(studio: Studio) -> None:
    state = studio.workspace.state
    for row in source_rows(state, {}):
        j = state.votes.sources.index(row.name)
        counts = state.counts.copy()
        for i, vote in enumerate(state.votes.matrix[:, j].tolist()):
            if vote >= 0:
                counts[i, vote] -= 1
        assert row.decides == int((winners(counts) != state.winner).sum())
        assert row.decides >= row.alone


def test_with_a_model_accuracy_is_estimated(modelled: Studio) -> None:
    with client_of(modelled) as client:
        assert "Estimated accuracy" in client.get("/rules").text


def test_preview_at_a_keystroke(client: Any, studio: Studio) -> None:
    given = {"toml": NEW, "saved": "", "way": "toml", "typed": "1"}
    part = client.post("/rules/preview", data=given).text
    assert "Majority vote changes" in part
    assert ">song</mark>" in part.lower()
    assert studio.workspace is not None
    assert studio.workspace.draft("") == NEW
    wrong = client.post("/rules/preview", data={**given, "toml": NEW + "nonsense"}).text
    assert "Line 6" in wrong


def test_preview_of_a_form_gives_its_toml(client: Any) -> None:
    given = {
        "way": "form",
        "name": "x",
        "r0.votes": "=ham",
        "r0.c0.kind": "keywords",
        "r0.c0.keywords:keywords": "song, lyrics",
    }
    part = client.post("/rules/preview", data={**given, "toml": "", "saved": ""}).text
    assert "&#34;lyrics&#34;" in part


def test_saving_keeps_the_layout_and_can_be_undone(client: Any, folder: Path) -> None:
    before = text_of(folder)
    assert (
        client.post("/rules/save", data={"toml": NEW, "saved": ""}, headers=PART).text == "/rules"
    )
    assert text_of(folder).startswith(before)
    assert "songs" in client.get("/rules").text
    client.post("/undo")
    assert text_of(folder) == before
    client.post("/redo")
    assert "songs" in text_of(folder)


def test_two_tabs_do_not_overwrite_each_other(client: Any, folder: Path) -> None:
    opened = source_text(text_of(folder), "money")
    mine = opened.replace('"cash"', '"cash", "coins"')
    theirs = opened.replace('"cash"', '"cash", "gold"')
    given = {"saved": "money", "original": opened}
    assert (
        client.post("/rules/save", data={**given, "toml": theirs}, headers=PART).status_code == 200
    )
    answer = client.post("/rules/save", data={**given, "toml": mine}, headers=PART)
    assert answer.status_code == 409
    assert "changed in the meantime" in answer.text
    assert '"gold"' in text_of(folder)
    assert '"coins"' not in text_of(folder)


def test_a_file_edited_outside_is_not_overwritten(client: Any, folder: Path) -> None:
    file = folder / "unruly.toml"
    file.write_text(text_of(folder) + "# theirs\n")
    answer = client.post("/rules/save", data={"toml": NEW, "saved": ""}, headers=PART)
    assert answer.status_code == 409
    assert "edited outside" in answer.text
    assert "was edited outside" in client.get("/rules").text
    assert "unruly.toml was edited outside</h1>" in client.get("/outside").text
    client.post("/outside")
    assert "Nothing was edited outside" in client.get("/outside").text
    assert (
        client.post("/rules/save", data={"toml": NEW, "saved": ""}, headers=PART).status_code == 200
    )
    assert "# theirs" in text_of(folder)


def test_a_draft_is_there_again(client: Any) -> None:
    typed = NEW.replace("songs", "money")
    client.post("/rules/preview", data={"toml": typed, "saved": "money", "typed": "1"})
    page = client.get("/rule?name=money").text
    assert "not saved yet" in page
    assert "&#34;song&#34;" in page
    assert '<span class="added">+ keywords = [&#34;song&#34;]' in page
    assert '<span class="gone">- keywords = [&#34;money&#34;' in page
    client.post("/rules/discard", data={"name": "money"})
    assert "not saved yet" not in client.get("/rule?name=money").text


def test_changes_of_a_source(client: Any, folder: Path) -> None:
    def change(what: str, name: str) -> Any:
        return client.post("/rules/change", data={"what": what, "name": name}, headers=PART)

    def rename(name: str, new: str) -> Any:
        text = source_text(text_of(folder), name)
        toml = text.replace(f'name = "{name}"', f'name = "{new}"')
        data = {"toml": toml, "saved": name, "original": text}
        return client.post("/rules/save", data=data, headers=PART)

    assert rename("money", "cash").status_code == 200
    assert 'name = "cash"' in text_of(folder)
    assert change("duplicate", "cash").text == "cash: copied"
    assert 'name = "cash copy"' in text_of(folder)
    assert change("off", "cash").status_code == 200
    assert "off: stays in the file" in client.get("/rules").text
    assert change("on", "cash").status_code == 200
    assert change("up", "subscribe").status_code == 200, "it is the first: nothing changes"
    assert change("down", "subscribe").status_code == 200
    assert text_of(folder).index('"check_out"') < text_of(folder).index('name = "subscribe"')
    assert change("delete", "cash copy").status_code == 200
    assert "cash copy" not in text_of(folder)
    assert rename("cash", "subscribe").status_code == 422, "two of one name"
    assert change("explode", "cash").status_code == 422
    for _ in range(7):
        client.post("/undo")
    assert 'name = "money"' in text_of(folder)


def test_unknown_sources_and_marked_words(client: Any) -> None:
    assert "did you mean &#39;money&#39;" in client.get("/rule?name=mony").text
    page = client.get("/rule/new?words=subscribe&form=subscribe&form=subscribed&class=spam").text
    assert "&#34;subscribed&#34;" in page


def test_a_project_without_rules_teaches(folder: Path) -> None:
    from tests.studio.conftest import ACCESS

    text = text_of(folder)
    (folder / "unruly.toml").write_text(text[: text.index("[[source]]")])
    studio = Studio(ACCESS)
    studio.open(folder)
    with client_of(studio) as client:
        assert "No rules yet" in client.get("/rules").text
        assert "Training needs rules" in client.get("/train").text
        assert client.get("/label").status_code == 200
        client.post("/rules/save", data={"toml": NEW, "saved": ""}, headers=PART)
        assert "songs" in client.get("/rules").text


def test_a_keyword_with_a_comma_is_one_word(client: Any, studio: Studio) -> None:
    text = '[[source]]\nname = "a"\nrule = [{ label = "ham", keywords = ["well, well", "song"] }]\n'
    client.post("/rules/save", data={"toml": text, "saved": ""}, headers=PART)
    shown = "keywords: <bdi>well, well</bdi>, <bdi>song</bdi>"
    assert shown in client.get("/rules").text
    row = next(
        row for row, text in enumerate(studio.workspace.state.corpus.texts) if " song " in text
    )
    assert shown in client.get(f"/documents/{row}").text


def test_a_marked_phrase_with_a_comma_becomes_one_word(client: Any) -> None:
    page = client.get("/rule/new", params={"form": "oh, no", "class": "ham"}).text
    assert "keywords = [&#34;oh, no&#34;]" in page
    assert ">&#34;oh, no&#34;</textarea>" in page  # in the form, it is quoted


def test_a_source_may_have_any_name(client: Any, studio: Studio) -> None:
    import html
    import re

    for name in ("new", "..", "a/b?c&d#e", "é '<b>'"):
        text = NEW.replace('"songs"', f'"{name}"')
        client.post("/rules/save", data={"toml": text, "saved": ""}, headers=PART)
        page = client.get("/rules").text
        links = re.findall(r'<a href="([^"]+)" data-open><bdi>(.+?)</bdi></a>', page)
        named = {html.unescape(shown.replace("<wbr>", "")): link for link, shown in links}
        link = named[name]
        opened = client.get(html.unescape(link)).text
        assert (
            f'data-saved="{html.escape(name).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")}"'
            in opened
        )


def test_a_full_disk_is_said_and_nothing_is_lost(
    client: Any, studio: Studio, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: object, **named: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("unruly.studio.workspace.Workspace._write_json", full)
    monkeypatch.setattr("unruly.labelling.label_file._add", full)
    monkeypatch.setattr("unruly.studio.workspace.write_edit", full)
    before = text_of(folder)
    part = client.post("/rules/preview", data={"toml": NEW, "saved": "", "typed": "1"}).text
    assert "No space left" in part
    assert "Majority vote changes" in part, "the counts are there all the same"
    answer = client.post("/rules/save", data={"toml": NEW, "saved": ""}, headers=PART)
    assert answer.status_code == 507
    assert answer.text.startswith("Nothing was changed: ")
    assert answer.text.endswith("free some, or write elsewhere")
    assert text_of(folder) == before
    answer = client.post("/label/one", data={"row": "0", "label": "spam"}, headers=PART)
    assert answer.status_code == 507
    assert studio.workspace is not None
    assert studio.workspace.state.labelled.labels == 0
    assert studio.workspace.last_step is None


def test_a_file_that_others_broke_is_not_taken_over(client: Any, folder: Path) -> None:
    file = folder / "unruly.toml"
    file.write_text(text_of(folder).replace("[task]", "[tsk]"))
    answer = client.post("/outside")
    assert answer.status_code == 422
    assert "did you mean" in answer.text
    assert "subscribe" in client.get("/rules").text, "the studio goes on with what it has"


FORM = {"way": "form", "name": "x", "r0.votes": "=ham", "toml": "", "saved": "", "typed": "1"}


def test_a_form_of_another_kind_is_counted_while_it_is_typed(client: Any) -> None:
    given = {**FORM, "r0.c0.kind": "length"}
    part = client.post("/rules/preview", data={**given, "r0.c0.length:max_words": "4"}).text
    assert "max_words = 4" in part
    assert "Votes" in part


@pytest.mark.parametrize(
    ("fields", "message", "name"),
    [
        ({"r0.c0.kind": "sequence"}, "First one of these words: still empty", ""),
        (
            {"r0.c0.kind": "field"},
            "Fill in one of “Column”, “Part”, “Both entities have the same last name”",
            "",
        ),
        ({"r0.c0.kind": "pattern"}, "Regular expression: still empty", ""),
        (
            {"r0.c0.kind": "length", "r0.c0.length:max_words": "four"},
            "At most so many words: &#39;four&#39; is not a whole number",
            "r0.c0.length:max_words",
        ),
        (
            {"r0.c0.kind": "pattern", "r0.c0.pattern:pattern": "(a"},
            "Regular expression: ",
            "r0.c0.pattern:pattern",
        ),
        (
            {"r0.c0.kind": "field", "r0.c0.field:column": "stars", "r0.c0.field:equal": "1"},
            "there is no column",
            "",
        ),
    ],
)
def test_in_a_form_problems_are_said_in_its_words(
    client: Any, fields: dict[str, str], message: str, name: str
) -> None:
    part = client.post("/rules/preview", data={**FORM, **fields}).text
    note = part[part.index("data-note") :]
    assert message in note
    assert "Line " not in note
    assert "= [" not in note
    assert "quotes" not in note
    assert not name or f'data-field="{name}"' in note


def test_the_form_shows_several_rules_and_takes_more(client: Any, folder: Path) -> None:
    page = client.get("/rule?name=feeling").text
    assert 'id="tab-form" aria-selected="true"' in page
    assert 'name="r1.c0.keywords:keywords"' in page
    toml = source_text(text_of(folder), "feeling")
    given = {"toml": toml, "act": "add", "name": "feeling"}
    for i, word in enumerate(("hurry", "love")):
        given |= {f"r{i}.votes": "=spam", f"r{i}.c0.kind": "keywords"}
        given[f"r{i}.c0.keywords:keywords"] = word
    form = client.post("/rules/form", data=given, headers=PART).text
    assert 'name="r2.c0.keywords:keywords"' in form
    assert "rules of one source may vote for different classes" in form, "the comment stays"
    up = client.post("/rules/form", data={**given, "act": "r1.up"}, headers=PART).text
    assert up.index(">love<") < up.index(">hurry<")
    assert client.post("/rules/form", data={**given, "act": "r9.up"}).status_code == 422


def test_what_a_form_cannot_show_says_why(client: Any) -> None:
    text = NEW.replace('keywords = ["song"]', 'all = [{ any = [{ keywords = ["song"] }] }]')
    client.post("/rules/save", data={"toml": text, "saved": ""}, headers=PART)
    page = client.get("/rule?name=songs").text
    assert "A form cannot show conditions within conditions" in page
    answer = client.post("/rules/form", data={"toml": text}, headers=PART)
    assert answer.status_code == 422
    assert "edit it as TOML" in answer.text


def test_a_new_rule_says_what_will_appear(client: Any) -> None:
    given = {name: value for name, value in FORM.items() if name != "typed"}
    assert "What it matches appears here" in client.post("/rules/preview", data=given).text


def test_classes_are_described_and_the_description_can_be_undone(client: Any, folder: Path) -> None:
    before = text_of(folder)
    file = folder / "unruly.toml"
    file.write_text('encoder = "lsa"\n' + before)
    client.post("/outside")
    given = {"about:ham": "people talk  about a <b>song</b>", "about:spam": "people sell"}
    client.post("/rules/describe", data=given, headers=PART)
    assert 'ham = "people talk about a <b>song</b>"' in text_of(folder)
    table = client.get("/rules").text
    assert "the descriptions of the classes" in table
    assert 'aria-label="Delete describe"' not in table
    page = client.get("/rule?name=describe").text
    assert "people talk about a &lt;b&gt;song&lt;/b&gt;" in page
    given = {"about:ham": "people talk\r\n\r\n what a  song ", "about:spam": "people sell"}
    client.post("/rules/describe", data=given, headers=PART)
    assert 'ham = ["people talk", "what a song"]' in text_of(folder)
    assert "people talk\nwhat a song</textarea>" in client.get("/rules/describe").text
    client.post("/undo")
    client.post("/undo")
    assert text_of(folder) == 'encoder = "lsa"\n' + before


def test_a_small_budget_goes_to_documents_that_no_rule_covers(client: Any, studio: Studio) -> None:
    from tests.prompts.stand_in import StandIn

    assert studio.workspace is not None
    state = studio.workspace.state
    documents = zip(state.corpus.texts, state.votes.voted, strict=True)
    bare = [text for text, voted in documents if not voted.any()]
    with StandIn() as server:
        text = (
            f'[[source]]\nname = "llm"\nprompt = {{ endpoint = "{server.url}", model = "m", ask = "Spam? {{text}}", '
            'answers = { spam = "yes", ham = "no" }, budget = { calls = 5 }, in_flight = 1 }\n'
        )
        client.post("/rules/save", data={"toml": text, "saved": ""}, headers=PART)
        client.post("/rules/ask", data={"name": "llm"}, headers=PART)
        assert studio.trainer is not None
        studio.trainer.wait(60)
        assert studio.trainer.status is not None
        assert studio.trainer.status.state == "done", "the end of a budget is no failure"
        assert [text.removeprefix("Spam? ") for text in server.texts] == bare[:5]


def test_a_language_model_is_asked_by_a_button_alone(client: Any, studio: Studio) -> None:
    from tests.prompts.stand_in import StandIn

    with StandIn() as server:
        text = (
            '[[source]]\nname = "llm"\n[[source.rule]]\nprompt = { endpoint = "'
            + server.url
            + '", model = "m", ask = "Does this advertise? {text}", answers = { spam = "yes", ham = "no" } }\n'
        )
        given = {"way": "toml", "saved": "", "typed": "1"}
        client.post("/rules/preview", data={**given, "toml": text})
        client.post("/rules/save", data={"toml": text, "saved": ""}, headers=PART)
        plan = client.get("/rules/plan?name=llm", headers=PART).text
        assert "0 of 73 documents have an answer" in plan
        assert "100% not asked" in client.get("/rules").text
        assert server.requests == 0, "nothing is sent while one types, saves or looks"
        assert client.post("/rules/ask", data={"name": "money"}, headers=PART).status_code == 422
        assert client.post("/rules/ask", data={"name": "llm"}, headers=PART).status_code == 200
        assert studio.trainer is not None
        studio.trainer.wait(60)
        assert studio.trainer.status is not None
        assert studio.trainer.status.state == "done", studio.trainer.status.error
        assert server.requests == 73
    assert studio.workspace is not None
    votes = studio.workspace.state.votes
    assert votes.voted[:, votes.sources.index("llm")].all()
    assert "not asked" not in client.get("/rules").text


def test_the_table_by_one_of_its_figures(client: Any, studio: Studio) -> None:
    by_votes = sorted_rows(source_rows(studio.workspace.state, {}), "votes")
    votes = [row.votes for row in by_votes]
    assert votes == sorted(votes, reverse=True)
    page = client.get("/rules?by=votes").text
    places = [page.index(f'name={quote(row.name)}" data-open') for row in by_votes]
    assert places == sorted(places)
    assert "Move money up" not in page, "the order is not that of the file"
    for figure in FIGURES:
        assert client.get(f"/rules?by={figure}").status_code == 200
    assert client.get("/rules?by=beauty").status_code == 422


def test_marked_words_are_added_to_a_list_that_exists(client: Any, folder: Path) -> None:
    before = text_of(folder)
    popup = client.get("/marked?words=Visit").text
    assert '<option value="money">money: spam</option>' in popup
    page = client.get("/rule?name=money&form=visit&form=visits&form=cash&add=1").text
    assert "not saved yet" in page
    text = with_words(source_text(before, "money"), ["visit", "visits", "cash"])
    assert f'aria-label="The source as TOML">{escape(text)}</textarea>' in page
    assert text_of(folder) == before, "until it is saved"
    data = {"toml": text, "saved": "money", "original": source_text(before, "money")}
    assert client.post("/rules/save", data=data, headers=PART).status_code == 200
    assert text_of(folder) == before.replace('"earn"]', '"earn", "visit", "visits"]')
    refused = client.get("/rule?name=check_out&words=visit&add=1")
    assert "no list of words" in refused.text


def test_an_unchanged_source_has_the_accuracy_of_the_table(modelled: Studio) -> None:
    """The editor and the table show one figure for one quantity; a changed source is judged with caution."""
    assert modelled.trainer is not None
    summary = modelled.trainer.summary()
    assert summary is not None
    known = next(line for line in summary.sources if line.estimated is not None)
    fitted = known.estimated
    assert fitted is not None
    state = modelled.workspace.state
    text = source_text(state.text, known.name)
    with client_of(modelled) as client:
        same = client.post("/rules/preview", data={"toml": text, "saved": known.name}).text
        other = client.post("/rules/preview", data={"toml": text, "saved": ""}).text
    shown = f"{fitted.low:.0%} to {fitted.high:.0%}"
    assert shown in same
    assert shown not in other
