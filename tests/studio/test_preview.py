"""What an edit would do, beside what it does once it is saved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unruly.model.weak_classifier import WeakClassifier
from unruly.project.editing import source_text
from unruly.rules.matching import VoteCache
from unruly.studio.documents import cards
from unruly.studio.filters import Filter
from unruly.studio.models import VoteChange, vote_changes
from unruly.studio.preview import SHOWN, Preview, Slow, Wrong, preview, preview_sampled
from unruly.studio.rules import source_rows
from unruly.studio.state import ModelAnswers
from unruly.studio.workspace import Workspace
from unruly.votes.majority import winners

HEAD = '[[source]]\nname = "money"\n[[source.rule]]\nlabel = "spam"\n'


def shown(workspace: Workspace, text: str, saved: str | None = "money") -> Preview:
    found = preview(text, workspace.state, saved)
    assert isinstance(found, Preview), found
    return found


@settings(
    deadline=None,
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    words=st.lists(
        st.sampled_from(["song", "my", "free", "channel", "video", "cash", "love", "zzz"]),
        min_size=1,
        max_size=4,
        unique=True,
    )
)
def test_the_preview_is_what_saving_gives(workspace: Workspace, words: list[str]) -> None:
    text = f"{HEAD}keywords = {words!r}\n".replace("'", '"')
    found, before = shown(workspace, text), workspace.state
    workspace.save_source(text, "money", workspace_text(workspace))
    after = workspace.state
    j = after.votes.sources.index("money")
    now, was = after.votes.voted[:, j], before.votes.voted[:, j]
    assert found.votes == int(now.sum())
    assert found.before == int(was.sum())
    assert found.added.count == int((now & ~was).sum())
    assert found.removed.count == int((was & ~now).sum())
    assert found.covered == int(after.votes.covered.sum())
    moved = np.flatnonzero(winners(after.counts) != winners(before.counts))
    assert found.majority.count == len(moved)
    assert found.majority.rows == tuple(moved[:SHOWN].tolist())
    names = (*before.classes, None)
    assert found.moves == tuple(
        (names[before.winner[row]], names[after.winner[row]]) for row in moved[:SHOWN].tolist()
    )
    workspace.undo()


def workspace_text(workspace: Workspace) -> str:
    return source_text(workspace.state.text, "money")


def test_a_new_source_has_no_before(workspace: Workspace) -> None:
    text = HEAD.replace("money", "new one") + 'keywords = ["song"]\n'
    found = shown(workspace, text, None)
    assert found.before is None
    assert found.added.count == found.votes > 0
    assert found.removed.count == 0


def test_others_agree_only_where_another_source_votes_for_the_class(workspace: Workspace) -> None:
    song = HEAD.replace("spam", "ham").replace("money", "new one") + 'keywords = ["song"]\n'
    assert not shown(workspace, song, None).only_voter
    for source in source_rows(workspace.state, {}):
        if "ham" in source.labels:
            workspace.change_source("off", source.name)
    assert shown(workspace, song, None).only_voter
    assert not shown(workspace, HEAD + 'keywords = ["song"]\n').only_voter


def test_the_model_judges_an_edit(workspace: Workspace) -> None:
    n = workspace.state.n
    ham = np.tile(np.array([[0.9, 0.1]], np.float32), (n, 1))
    workspace.use_answers(workspace.state.corpus, ModelAnswers("all ham", ham))
    found = shown(workspace, HEAD + 'keywords = ["song"]\n')
    assert found.contradicts is not None
    assert found.contradicts.count == found.votes
    assert found.by_model is not None
    assert found.by_model.value == pytest.approx(0.1)


def test_examples_are_green_or_red(workspace: Workspace) -> None:
    found = shown(
        workspace,
        HEAD
        + 'keywords = ["cash"]\nexamples = ["cash!", "coins"]\ncounter_examples = ["cashier"]\n',
    )
    assert [example.holds for example in found.examples] == [True, False, True]


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("[[source", 1, "not valid TOML"),
        (HEAD + "keywords = []\n", 5, "empty"),
        (HEAD + 'pattern = "(a"\n', 5, "not a regular expression"),
        (HEAD.replace("spam", "spm") + 'keywords = ["a"]\n', 4, "did you mean 'spam'"),
        (HEAD + 'keyword = ["a"]\n', 5, "did you mean 'keywords'"),
        ("[task]\n", 1, "unknown key"),
        ("", None, "one [[source]]"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    workspace: Workspace, text: str, line: int | None, part: str
) -> None:
    found = preview(text, workspace.state, "money")
    assert isinstance(found, Wrong)
    assert part in found.message
    assert found.line == line


@pytest.mark.parametrize(
    "rule",
    [
        'keywords_file = "../words.txt"',
        'keywords_file = "/etc/passwd"',
        'lookup = { file = "../../x.csv", columns = ["text"] }',
        'all = [{ keywords_file = "../words.txt" }, { keywords = ["a"] }]',
    ],
)
def test_paths_stay_in_the_project(workspace: Workspace, folder: Path, rule: str) -> None:
    (folder.parent / "words.txt").write_text("song\n")
    found = preview(HEAD + rule + "\n", workspace.state, "money")
    assert isinstance(found, Wrong)
    assert "outside the project's folder" in found.message


def test_python_is_not_run_from_the_browser(workspace: Workspace, folder: Path) -> None:
    (folder / "evil.py").write_text("import pathlib\npathlib.Path('ran').touch()\n")
    text = '[[source]]\nname = "f"\n[[source.rule]]\nfunction = { file = "evil.py", name = "f" }\n'
    found = preview(text, workspace.state, None)
    assert isinstance(found, Wrong)
    assert "Python is run only from files" in found.message
    assert not (folder / "ran").exists()
    assert not Path("ran").exists()


def test_a_python_function_that_the_project_names_waits_for_a_button(folder: Path) -> None:
    (folder / "mine.py").write_text(
        "import time\nimport unruly\n@unruly.rule\ndef loud(row):\n    time.sleep(0.02)\n"
        "    return 'spam' if row.text.isupper() else None\n"
    )
    text = (
        '[[source]]\nname = "f"\n[[source.rule]]\nfunction = { file = "mine.py", name = "loud" }\n'
    )
    file = folder / "unruly.toml"
    file.write_text(file.read_text() + "\n" + text)
    workspace = Workspace(folder)
    found = preview(text, workspace.state, "f")
    assert isinstance(found, Slow)
    assert found.seconds > 1
    assert isinstance(preview(text, workspace.state, "f", patient=True), Preview)
    assert isinstance(preview(text, workspace.state, "f"), Preview), "its votes are known now"


@pytest.mark.parametrize(
    ("rule", "part"),
    [
        ('classifier = { model = "../x.skops" }', "outside the project's folder"),
        ('classifier = { model = "somebody/model" }', "no model 'somebody/model' in the project's"),
        ('entity = { type = "PERSON", model = "antigravity" }', "no model 'antigravity'"),
        ('classifier = { model = "unruly.toml", trusted = ["os.system"] }', "in an editor"),
    ],
)
def test_models_and_trust_do_not_come_from_the_browser(
    workspace: Workspace, rule: str, part: str
) -> None:
    label = 'label = "spam"\n' if rule.startswith("entity") else ""
    text = f'[[source]]\nname = "m"\n[[source.rule]]\n{label}{rule}\n'
    found = preview(text, workspace.state, None)
    assert isinstance(found, Wrong)
    assert part in found.message


def test_a_measured_score_is_kept_so_that_another_threshold_is_quick(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("vaderSentiment")
    import unruly.studio.preview as module

    monkeypatch.setattr(module, "AT_EVERY_KEY", 0.0)
    first = preview(HEAD + "vader = { above = 0.5 }\n", workspace.state, "money")
    assert isinstance(first, Slow)
    known = preview(HEAD + "vader = { above = 0.5 }\n", workspace.state, "money", patient=True)
    assert isinstance(known, Preview)
    more = preview(HEAD + "vader = { above = 0.2 }\n", workspace.state, "money")
    assert isinstance(more, Preview)
    assert more.votes > known.votes


def test_similar_is_matched_by_the_encoder_of_the_project(folder: Path) -> None:
    file = folder / "unruly.toml"
    file.write_text('encoder = "lsa"\n' + file.read_text())
    state = Workspace(folder).state
    rule = 'similar = { to = ["check out my channel"], calibrated = 0.2 }\n'
    found = preview(HEAD + rule, state, "money", patient=True)
    assert isinstance(found, Preview), found
    assert 0 < found.votes < state.n


def test_of_very_many_documents_a_sample_is_counted_first(workspace: Workspace) -> None:
    text = HEAD + 'keywords = ["song", "my"]\n'
    whole = shown(workspace, text)
    few = preview_sampled(text, workspace.state, "money", 500)
    assert isinstance(few, Preview)
    assert replace(few, seconds=0.0) == replace(whole, seconds=0.0), "few are all counted"
    part = preview_sampled(text, workspace.state, "money", 40)
    assert isinstance(part, Preview)
    assert (part.documents, part.sample_of) == (40, workspace.state.n)
    assert 0 < part.votes < whole.votes
    texts = workspace.state.corpus.texts
    for row, matches in zip(part.added.rows, part.added.matches, strict=True):
        for start, end in matches[0].spans:
            assert texts[row][start:end].lower() in ("song", "my"), "rows are those of the whole"


PARTIAL = """encoder = "lsa"
[task]
classes = ["praise", "billing", "bug"]
[data]
train = "texts.csv"
text = "text"

[[source]]
name = "complaint"
rule = [{ label = ["billing", "bug"], keywords = ["refund", "crash"] }]

[[source]]
name = "others"
rule = [{ not_label = "praise", keywords = ["fails", "crash"] }]

[[source]]
name = "money"
rule = [{ label = "billing", keywords = ["refund", "price"] }]

[[source]]
name = "broken"
rule = [{ label = "bug", keywords = ["crash", "fails"] }]

[[source]]
name = "love"
rule = [{ label = "praise", keywords = ["love", "price"] }]
"""


@pytest.fixture
def partial(tmp_path: Path, cache: VoteCache) -> Workspace:
    """A project whose rules also vote for one of several classes."""
    folder = tmp_path / "partial"
    folder.mkdir()
    texts = ["refund me", "a crash", "crash, refund", "love it", "it fails", "love the price"]
    (folder / "texts.csv").write_text("text\n" + "\n".join(f'"{text}"' for text in texts))
    (folder / "unruly.toml").write_text(PARTIAL)
    return Workspace(folder)


def test_changed_votes_name_every_class(partial: Workspace) -> None:
    state = partial.state
    texts = state.corpus.texts.to_list()
    old = WeakClassifier("lsa", cache=False).fit(texts, sources=state.project.sources)
    text = state.text.replace('["billing", "bug"]', '"billing"')
    partial.edit("complaint: edited", text)
    new = WeakClassifier("lsa", cache=False).fit(texts, sources=partial.state.project.sources)
    found = vote_changes(old, new, partial.state, np.array([0, 3]))
    assert found == [(VoteChange("complaint", "billing or bug", "billing"),), ()]


def test_a_vote_for_one_of_several_classes_counts_for_all_of_them(partial: Workspace) -> None:
    state = partial.state
    assert np.flatnonzero(state.conflict).tolist() == [2, 5]  # bug or billing; praise or billing
    assert Filter(source="complaint", vote="bug").rows(state).tolist() == [0, 1, 2]
    assert Filter(vote="bug", covered="conflict").rows(state).tolist() == [2]
    text = source_text(state.text, "complaint")
    found = shown(partial, text, "complaint")
    assert found.by_class == (("billing or bug", 3),)
    assert found.by_others is not None
    assert found.by_others.value == 1.0
    proba = np.tile(np.array([[0.2, 0.5, 0.3]], np.float32), (state.n, 1))
    partial.use_answers(partial.state.corpus, ModelAnswers("all billing", proba))
    found = shown(partial, text, "complaint")
    assert found.by_model is not None
    assert found.by_model.value == pytest.approx(0.8)
    assert found.contradicts is not None
    assert found.contradicts.count == 0


@pytest.mark.parametrize(
    "rule",
    [
        'label = ["billing", "praise"], keywords = ["refund", "love"]',
        'not_label = "bug", keywords = ["crash", "price"]',
        'label = "bug", keywords = ["refund", "crash", "fails"]',
    ],
)
@pytest.mark.parametrize("name", ["complaint", "money"])
def test_what_partial_votes_do_to_the_majority_is_what_saving_gives(
    partial: Workspace, name: str, rule: str
) -> None:
    text = f'[[source]]\nname = "{name}"\nrule = [{{ {rule} }}]\n'
    found, before = shown(partial, text, name), partial.state
    partial.save_source(text, name, source_text(before.text, name))
    after = partial.state
    moved = np.flatnonzero(winners(after.counts) != winners(before.counts))
    assert found.majority.rows == tuple(moved.tolist())
    rows = {row.name: row for row in source_rows(after, {})}
    saved = shown(partial, text, name)
    assert found.by_others == saved.by_others
    assert (saved.added.count, saved.removed.count, saved.majority.count) == (0, 0, 0)
    assert saved.matched.count == saved.votes == rows[name].votes


def test_words_of_a_partial_vote_have_a_colour_of_their_own(partial: Workspace) -> None:
    (card,) = cards(partial.state, [1])
    marked = {piece.text: piece for piece in card.pieces if piece.labels}
    assert marked["crash"].colour == "bug"  # billing or bug, and bug
    assert not marked["crash"].conflict
    (card,) = cards(partial.state, [5])
    assert {p.text: p.conflict for p in card.pieces if p.labels} == {"love": False, "price": True}
