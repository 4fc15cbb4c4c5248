"""Projects on which a model does badly: rules that are mostly inverted, hardly a document, and lists with one good word."""

from __future__ import annotations

import csv
import random
from collections.abc import Sequence
from pathlib import Path

FILLER = (
    "the",
    "of",
    "and",
    "with",
    "some",
    "very",
    "quite",
    "rather",
    "this",
    "that",
    "here",
    "there",
    "again",
)
Listed = Sequence[tuple[str, str, Sequence[str]]]  # source, class, words


def write_project(
    folder: Path,
    classes: Sequence[str],
    rows: Sequence[tuple[str, str]],
    sources: Listed,
    *,
    gold: bool = True,
    prior: Sequence[float] | None = None,
) -> Path:
    """A project of keyword lists, whose texts have a column of true labels or not, and that states shares or not."""
    folder.mkdir(parents=True)
    with (folder / "texts.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", *(["truth"] if gold else [])])
        for number, (text, label) in enumerate(rows):
            writer.writerow([f"t{number}", text, *([label] if gold else [])])
    lines = ["[task]", f"classes = {list(classes)!r}"]
    lines += [] if prior is None else [f"prior = {list(prior)!r}"]
    lines += ["", "[data]", 'train = "texts.csv"']
    lines += ['text = "text"', 'id = "id"', *(['label = "truth"'] if gold else [])]
    lines += ["", "[encoder]", 'name = "lsa"']
    for name, label, words in sources:
        lines += ["", "[[source]]", f'name = "{name}"', "[[source.rule]]", f'label = "{label}"']
        lines.append(f"keywords = {list(words)!r}")
    (folder / "unruly.toml").write_text("\n".join(lines).replace("'", '"') + "\n", "utf-8")
    return folder


def inverted(
    folder: Path, n: int = 500, *, gold: bool = True, prior: Sequence[float] | None = None
) -> Path:
    """Five of seven sources vote for the class that their words are rare in; two are right, and seldom vote."""
    draw = random.Random(5)
    rows = []
    for _ in range(n):
        label = draw.choice(["dull", "fun"])
        words = [draw.choice(FILLER) for _ in range(7)]
        if draw.random() < 0.4:
            words.append(
                draw.choice(
                    ["merry", "jolly", "bright"] if label == "fun" else ["grim", "bleak", "drab"]
                )
            )
        for word in ("north", "south", "east"):
            if draw.random() < (0.1 if label == "fun" else 0.55):
                words.append(word)
        for word in ("spring", "summer"):
            if draw.random() < (0.55 if label == "fun" else 0.1):
                words.append(word)
        draw.shuffle(words)
        rows.append((" ".join(words), label))
    sources = [
        *((word, "fun", [word]) for word in ("north", "south", "east")),
        *((word, "dull", [word]) for word in ("spring", "summer")),
        ("cheer", "fun", ["merry", "jolly"]),
        ("gloom", "dull", ["grim", "bleak"]),
    ]
    return write_project(folder, ["dull", "fun"], rows, sources, gold=gold, prior=prior)


def one_bad_word(folder: Path, n: int = 600) -> Path:
    """A tenth of the texts are complaints; a good word of a list is rare elsewhere, and the votes are even."""
    draw = random.Random(9)
    rows = []
    for number in range(n):
        label = "complaint" if number % 10 == 0 else "praise"
        words = [draw.choice(FILLER) for _ in range(5)]
        if label == "complaint":
            words += draw.sample(["broken", "late", "shipping"], 2)
        elif draw.random() < 0.15:
            words += draw.sample(["lovely", "quick", "gift"], 2)
        elif draw.random() < 0.1:
            words.append("broken")
        draw.shuffle(words)
        rows.append((" ".join(words), label))
    sources = [
        ("faults", "complaint", ["broken", "late", "shipping"]),
        ("thanks", "praise", ["lovely", "quick", "gift"]),
    ]
    return write_project(folder, ["complaint", "praise"], rows, sources)


def three_documents(folder: Path) -> Path:
    """Three texts, two sources that contradict each other on them."""
    rows = [
        ("a merry day", "fun"),
        ("a merry evening", "fun"),
        ("a grim morning, merry noon", "dull"),
    ]
    sources = [("cheer", "fun", ["merry"]), ("gloom", "dull", ["grim", "noon", "day"])]
    return write_project(folder, ["dull", "fun"], rows, sources)


def one_class_each(folder: Path, n: int = 400) -> Path:
    """Three classes, sources of one class each that often meet on the same text."""
    draw = random.Random(7)
    words = {"rain": ["wet", "umbrella"], "snow": ["sledge", "white"], "sun": ["warm", "shade"]}
    rows = []
    for _ in range(n):
        label = draw.choice(list(words))
        text = [draw.choice(FILLER) for _ in range(5)]
        text += [draw.choice(words[label]) for _ in range(2)]
        if draw.random() < 0.5:
            text.append(draw.choice([w for other in words if other != label for w in words[other]]))
        draw.shuffle(text)
        rows.append((" ".join(text), label))
    sources = [(f"{label} words", label, kept) for label, kept in words.items()]
    return write_project(folder, list(words), rows, sources)
