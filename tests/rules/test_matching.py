from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import unruly
from unruly.rules.column import Column, Probabilities
from unruly.rules.condition import TEXT
from unruly.rules.field import Field
from unruly.rules.function import Document, Function
from unruly.rules.keywords import Keywords
from unruly.rules.matching import Matched, Matcher, MatchFrame, VoteCache
from unruly.rules.source import Rule, Source, source_from_plain
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus

CLASSES = ["ham", "spam"]
CORPUS = Corpus.from_frame(
    pl.DataFrame({"text": ["one", "two", "one two"], "stars": [1, 2, 3], "p": [0.1, 0.9, None]}),
    text="text",
)


def source(name: str, *words: str) -> Source:
    return Source(name, [Rule("spam", Keywords(words))])


@pytest.fixture
def cache(tmp_path: Path) -> VoteCache:
    return VoteCache(tmp_path / "votes")


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Which sources were matched, run by run."""
    runs: list[list[str]] = []
    match = Matcher._match

    def watched(self: Matcher, sources: list[Source], *rest: object) -> Matched:
        runs.append([s.name for s in sources])
        return match(self, sources, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Matcher, "_match", watched)
    return runs


def test_only_the_edited_source_runs_again(cache: VoteCache, ran: list[list[str]]) -> None:
    first = Sources(CLASSES, [source("a", "one"), source("b", "two")])
    edited = Sources(CLASSES, [source("a", "one"), source("b", "one", "two")])
    first.vote(CORPUS, cache=cache)
    again = first.vote(CORPUS, cache=cache)
    votes = edited.vote(CORPUS, cache=cache)
    assert ran == [["a", "b"], ["b"]]
    assert again.matrix.tolist() == first.vote(CORPUS).matrix.tolist()
    assert votes.matrix.tolist() == edited.vote(CORPUS).matrix.tolist()


def test_a_new_name_and_a_new_order_of_sources_change_nothing(
    cache: VoteCache, ran: list[list[str]]
) -> None:
    Sources(CLASSES, [source("a", "one"), source("b", "two")]).vote(CORPUS, cache=cache)
    votes = Sources(CLASSES, [source("c", "two"), source("a", "one")]).vote(CORPUS, cache=cache)
    assert ran == [["a", "b"]]
    assert votes.matrix.tolist() == [[-1, 1], [1, -1], [1, 1]]


def test_other_documents_and_other_classes_are_other_votes(
    cache: VoteCache, ran: list[list[str]]
) -> None:
    Sources(CLASSES, [source("a", "one")]).vote(CORPUS, cache=cache)
    Sources(CLASSES, [source("a", "one")]).vote(CORPUS.take([2, 1, 0]), cache=cache)
    Sources(["spam", "ham"], [source("a", "one")]).vote(CORPUS, cache=cache)
    Sources(CLASSES, [source("a", "one")]).vote(
        Corpus.from_texts(["on", "etwo", "one two"]), cache=cache
    )
    assert len(ran) == 4


def test_columns_count_for_rules_that_read_them(cache: VoteCache, ran: list[list[str]]) -> None:
    sources = Sources(
        CLASSES, [source("a", "one"), Source("f", [Rule("ham", Field("stars", low=2))])]
    )
    sources.vote(CORPUS, cache=cache)
    changed = CORPUS.columns.with_columns(stars=pl.lit(1))
    votes = sources.vote(Corpus(CORPUS.ids, CORPUS.texts, changed), cache=cache)
    assert ran == [["a", "f"], ["f"]]
    assert votes.matrix[:, 1].tolist() == [-1, -1, -1]


def test_probabilities_are_kept_too(cache: VoteCache, ran: list[list[str]]) -> None:
    sources = Sources(CLASSES, [Source("p", [Rule(None, Probabilities({"spam": "p"}))])])
    first, again = sources.vote(CORPUS, cache=cache), sources.vote(CORPUS, cache=cache)
    assert len(ran) == 1
    assert again.soft["p"].tobytes() == first.soft["p"].tobytes()


def test_functions_given_in_python_are_never_kept(cache: VoteCache, ran: list[list[str]]) -> None:
    @unruly.rule
    def rule(row: Document) -> str | None:
        return None

    sources = Sources(CLASSES, [Source("f", [Rule(None, Function(rule))]), source("a", "one")])
    sources.vote(CORPUS, cache=cache)
    sources.vote(CORPUS, cache=cache)
    assert ran == [["f", "a"], ["f"]]


def test_damaged_and_deleted_entries_count_as_missing(
    cache: VoteCache, ran: list[list[str]]
) -> None:
    sources = Sources(CLASSES, [source("a", "one"), source("b", "two")])
    expected = sources.vote(CORPUS, cache=cache).matrix.tolist()
    entries = sorted(cache.folder.rglob("*.votes"))
    entries[0].write_bytes(b"PAR1 rubbish")
    entries[1].unlink()
    with pytest.warns(UserWarning, match="held a damaged entry: its rules are matched again"):
        assert sources.vote(CORPUS, cache=cache).matrix.tolist() == expected
    assert len(ran) == 2


def test_every_changed_byte_of_an_entry_is_noticed(cache: VoteCache) -> None:
    cache.put("ab" * 20, pl.DataFrame({"vote": [1, 0, -1]}))
    path = cache.folder / "ab" / f"{'ab' * 20}.votes"
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.warns(UserWarning, match="damaged"):
            assert cache.get("ab" * 20) is None
    path.write_bytes(whole)
    other = cache.folder / "cd" / f"{'cd' * 20}.votes"
    other.parent.mkdir()
    path.rename(other)
    with pytest.warns(UserWarning, match="damaged"):
        assert cache.get("cd" * 20) is None  # under another name it means something else


def test_a_cache_that_may_only_be_read_serves(
    cache: VoteCache, ran: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = Sources(CLASSES, [source("a", "one"), source("b", "two")])
    sources.vote(CORPUS, cache=cache)

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.utime", refused)
    monkeypatch.setattr(Path, "mkdir", refused)
    sources.vote(CORPUS, cache=cache)
    assert ran == [["a", "b"]]
    more = Sources(CLASSES, [source("c", "three"), source("d", "four")])
    with pytest.warns(UserWarning, match=r"cannot be written \(Permission denied\)") as told:
        more.vote(CORPUS, cache=cache)
    assert len(told) == 1


def test_clear_deletes_only_what_we_made(cache: VoteCache) -> None:
    Sources(CLASSES, [source("a", "one")]).vote(CORPUS, cache=cache)
    folder = next(cache.folder.iterdir())
    mine = [cache.folder / "notes.txt", folder / "thesis.votes", cache.folder / "ab" / "x.parquet"]
    for path in mine:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    size = cache.files.size()
    assert cache.files.clear() == size > 0
    assert all(path.read_text() == "mine" for path in mine)
    assert cache.files.size() == 0


def test_numbers_that_json_does_not_know_are_told_apart() -> None:
    nan, inf = float("nan"), float("inf")
    columns: list[list[float | None]] = [
        [1.0, None], [1.0, nan], [1.0, inf], [1.0, -inf], [1.0, 0.0], [1.0, 1e-300],
    ]  # fmt: skip
    frames = [pl.DataFrame({TEXT: ["a", "b"], "x": values}) for values in columns]
    frames += [pl.DataFrame({TEXT: ["a", "b"], "x": [[v] for v in values]}) for values in columns]
    frames += [
        pl.DataFrame({TEXT: ["a", "b"], "x": [{"y": v} for v in values]}) for values in columns
    ]
    frames += [
        pl.DataFrame({TEXT: ["a", "b"], "x": [b"1", b"\xff"]}),
        pl.DataFrame({TEXT: ["a", "b"], "x": [b"1", b"\xfe"]}),
    ]
    assert len({MatchFrame(frame).everything for frame in frames}) == len(frames)


HEAD = "import functools, os, pathlib, sqlite3, subprocess, unruly\nhere = pathlib.Path(__file__).parent\n"
RULE = (
    "@unruly.rule\ndef listed(row):\n    return 'spam' if row.text in {words}.split() else None\n"
)
BUILT = "(here / ('words' + '.txt')).read_text()"
READERS = {
    "named in the file": HEAD + RULE.format(words="(here / 'words.txt').read_text()"),
    "built at every call": HEAD + RULE.format(words=BUILT),
    "built when it is loaded": HEAD + f"WORDS = {BUILT}\n" + RULE.format(words="WORDS"),
    "built once and remembered": HEAD
    + f"@functools.cache\ndef words():\n    return {BUILT}\n"
    + RULE.format(words="words()"),
    "by a module beside it": HEAD
    + "import sys; sys.path.insert(0, str(here)); from helper_of_a_rule import WORDS\n"
    + RULE.format(words="WORDS"),
    "by a module imported at work": HEAD
    + "import sys; sys.path.insert(0, str(here))\ndef words():\n    import late_helper_of_a_rule as m\n"
    + "    return m.WORDS\n"
    + RULE.format(words="words()"),
}


def listed(folder: Path) -> Sources:
    """The rule in rules.py, read anew as every command does."""
    plain = {"name": "f", "rule": [{"function": {"file": "rules.py", "name": "listed"}}]}
    return Sources(CLASSES, [source_from_plain(plain, CLASSES, folder)])


@pytest.mark.parametrize("how", READERS)
def test_a_function_runs_again_when_a_file_that_it_read_has_changed(
    cache: VoteCache,
    ran: list[list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "words.txt").write_text("one")
    for name in ("helper_of_a_rule.py", "late_helper_of_a_rule.py"):
        (folder / name).write_text(
            f"import pathlib\nhere = pathlib.Path(__file__).parent\nWORDS = {BUILT}\n"
        )
    (folder / "rules.py").write_text(READERS[how])
    first = listed(folder).vote(CORPUS, cache=cache).matrix.tolist()
    listed(folder).vote(CORPUS, cache=cache)
    assert ran == [["f"]]
    (folder / "words.txt").write_text("two")
    again = listed(folder).vote(CORPUS, cache=cache).matrix.tolist()
    listed(folder).vote(CORPUS, cache=cache)
    assert ran == [["f"], ["f"]]
    assert (first, again) == ([[1], [-1], [-1]], [[-1], [1], [-1]])


def test_what_a_function_remembers_counts_for_other_documents_too(
    cache: VoteCache, tmp_path: Path
) -> None:
    """It read the file for the first corpus, and no more for the second."""
    (tmp_path / "words.txt").write_text("one")
    (tmp_path / "rules.py").write_text(READERS["built once and remembered"])
    other = Corpus.from_texts(["two", "one"])
    for corpus in (CORPUS, other):
        listed(tmp_path).vote(corpus, cache=cache)
    (tmp_path / "words.txt").write_text("two")
    assert listed(tmp_path).vote(other, cache=cache).matrix.tolist() == [[1], [-1]]


def test_a_file_more_in_a_folder_that_a_function_lists(
    cache: VoteCache, ran: list[list[str]], tmp_path: Path
) -> None:
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "a.txt").write_text("one ")
    words = "''.join(p.read_text() for p in (here / 'lists').iterdir())"
    (tmp_path / "rules.py").write_text(HEAD + RULE.format(words=words))
    for _ in range(2):
        listed(tmp_path).vote(CORPUS, cache=cache)
    (tmp_path / "lists" / "b.txt").write_text("two ")
    again = listed(tmp_path).vote(CORPUS, cache=cache)
    assert (len(ran), again.matrix.tolist()) == (2, [[1], [1], [-1]])


def test_a_file_that_was_missing_and_a_file_that_goes(
    cache: VoteCache, ran: list[list[str]], tmp_path: Path
) -> None:
    words = "def words():\n    try:\n        return (here / ('w' + '.txt')).read_text()\n"
    words += "    except OSError:\n        return 'two'\n"
    (tmp_path / "rules.py").write_text(HEAD + words + RULE.format(words="words()"))
    found = [listed(tmp_path).vote(CORPUS, cache=cache).matrix.tolist()]
    (tmp_path / "w.txt").write_text("one")
    found.append(listed(tmp_path).vote(CORPUS, cache=cache).matrix.tolist())
    (tmp_path / "w.txt").unlink()
    found.append(listed(tmp_path).vote(CORPUS, cache=cache).matrix.tolist())
    assert found == [[[-1], [1], [-1]], [[1], [-1], [-1]], [[-1], [1], [-1]]]
    assert len(ran) == 3


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("str((here / 'log').write_text('x'))", True),  # written, not read
        ("pathlib.Path(os.__file__).read_text()", True),  # Python's own
        ("os.environ.get('HOME', '')", True),
        ("str(sqlite3.connect(here / 'a.db'))", True),
        ("str(sqlite3.connect(f'file:{here}/a.db', uri=True))", False),
        (
            "subprocess.run(['cat', here / 'words.txt'], capture_output=True, text=True).stdout",
            False,
        ),
    ],
)
def test_what_is_not_known_to_be_read_is_not_kept(
    cache: VoteCache, ran: list[list[str]], tmp_path: Path, words: str, kept: bool
) -> None:
    (tmp_path / "words.txt").write_text("one")
    sqlite3.connect(tmp_path / "a.db").close()
    (tmp_path / "rules.py").write_text(HEAD + RULE.format(words=words))
    for _ in range(2):
        listed(tmp_path).vote(CORPUS, cache=cache)
    assert ran == ([["f"]] if kept else [["f"], ["f"]])


def test_folders_of_functions_do_not_stand_for_each_other(
    cache: VoteCache, ran: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not known of one says nothing of another, unless they share a module."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "words.txt").write_text("one")
    (tmp_path / "shared_by_rules.py").write_text(
        f"import pathlib\nhere = pathlib.Path(__file__).parent\nWORDS = {BUILT}\n"
    )
    texts = {
        "a": HEAD + RULE.format(words="(subprocess.run(['true']) and '')"),
        "b": HEAD + RULE.format(words="'one'"),
        "c": HEAD + "import shared_by_rules\n" + RULE.format(words="shared_by_rules.WORDS"),
        "d": HEAD
        + "# other\nimport shared_by_rules\n"
        + RULE.format(words="shared_by_rules.WORDS"),
    }
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "rules.py").write_text(text)
        for _ in range(2):
            listed(tmp_path / name).vote(CORPUS, cache=cache)
    kept = [1 if name in "bc" else 2 for name in texts]  # d never saw the module being read
    assert len(ran) == sum(kept)


def test_a_library_that_opens_files_on_its_own(
    cache: VoteCache, ran: list[list[str]], tmp_path: Path
) -> None:
    """Python hears nothing of it: the votes are not kept, and the file is run again when it names the other."""
    (tmp_path / "words.csv").write_text("word\none\n")
    (tmp_path / "rules.py").write_text(
        HEAD
        + "import polars as pl\nWORDS = ' '.join(pl.read_csv(here / 'words.csv')['word'])\n"
        + RULE.format(words="WORDS")
    )
    assert listed(tmp_path).vote(CORPUS, cache=cache).matrix.tolist() == [[1], [-1], [-1]]
    (tmp_path / "words.csv").write_text("word\ntwo\n")
    assert listed(tmp_path).vote(CORPUS, cache=cache).matrix.tolist() == [[-1], [1], [-1]]
    listed(tmp_path).vote(CORPUS, cache=cache)
    assert len(ran) == 3


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(UserWarning, match="cannot be written"):
        votes = Sources(CLASSES, [source("a", "one")]).vote(
            CORPUS, cache=VoteCache(tmp_path / "file")
        )
    assert votes.voted.any()


def test_the_least_recently_used_go_when_it_is_full(tmp_path: Path) -> None:
    small = VoteCache(tmp_path, most_bytes=0)
    frame = pl.DataFrame({"vote": [1]})
    for i in range(4):
        small.put(f"{i:040}", frame)
        os.utime(tmp_path / f"{i:040}"[:2] / f"{i:040}.votes", (i, i))
    one = small.files.size() // 4
    roomy = VoteCache(tmp_path, most_bytes=2 * one)
    roomy.get(f"{0:040}")  # used just now
    roomy.files.trim(roomy.most_bytes)
    kept = [i for i in range(4) if roomy.get(f"{i:040}") is not None]
    assert kept == [0, 3]


def test_clear_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path))
    Sources(CLASSES, [source("a", "one")]).vote(CORPUS, cache=VoteCache.default())
    files = VoteCache.default().files
    size = files.size()
    assert files.clear() == size > 0
    assert files.size() == 0


def test_without_a_cache_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path))
    Sources(
        CLASSES, [source("a", "one"), Source("c", [Rule(None, Column("stars", others="abstain"))])]
    ).vote(CORPUS)
    assert list(tmp_path.iterdir()) == []


def test_two_processes_at_once(cache: VoteCache) -> None:
    code = (
        "import sys; from pathlib import Path; from unruly import *; from unruly.rules import *\n"
        "rules = [Source(f's{i}', [Rule('b', Keywords([f'w{i}']))]) for i in range(20)]\n"
        "corpus = Corpus.from_texts([f'w{i}' for i in range(40)])\n"
        "for _ in range(3):\n"
        "    votes = Sources(['a', 'b'], rules).vote(corpus, cache=VoteCache(Path(sys.argv[1]), 4000))\n"
        "    assert votes.voted.sum() == 20\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", code, str(cache.folder)]) for _ in range(2)]
    assert [process.wait(timeout=600) for process in both] == [0, 0]
