"""Reading `unruly.toml`: what it holds, and every way to get it wrong, with the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from unruly.errors import ProjectError, RuleError, UnrulyError
from unruly.project.project import DataFiles, Project
from unruly.settings import PaperSettings, Settings

TEXT = """\
[task]
classes = ["ham", "spam"]
prior = [0.75, 0.25]

[data]
train = "comments.csv"
test = "more/test.jsonl"
text = "comment"
label = "is_spam"

[[source]]
name = "subscribe"
[[source.rule]]
label = "spam"
keywords = ["subscribe", "check out my channel"]
examples = ["please SUBSCRIBE to me"]
counter_examples = ["unsubscribed long ago"]

[[source]]
name = "mood"
[[source.rule]]
label = "spam"
pattern = 'check\\s+.*out'
[[source.rule]]
label = "ham"
all = [{ length = { max_words = 4 } }, { not = { keywords = ["http"] } }]

[encoder]
name = "minilm"
layer = 5

[train]
method = "paper"
hidden = 64
c1 = 0.3
"""


def project_file(folder: Path, text: str = TEXT) -> Path:
    path = folder / "unruly.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_everything_is_read(tmp_path: Path) -> None:
    project = Project.read(project_file(tmp_path))
    assert project.classes == ("ham", "spam")
    assert project.prior == (0.75, 0.25)
    assert project.data == DataFiles(
        train="comments.csv", test="more/test.jsonl", text="comment", label="is_spam"
    )
    assert project.sources.names == ("subscribe", "mood")
    assert len(project.sources.sources[1].rules) == 2
    assert project.encoder == {"name": "minilm", "layer": 5}
    assert (project.method, project.seed) == ("paper", 0)
    assert project.settings == PaperSettings(hidden=64, c1=0.3)
    assert project.folder == tmp_path


def test_a_folder_will_do(tmp_path: Path) -> None:
    assert Project.read(tmp_path / project_file(tmp_path).name) == Project.read(tmp_path)


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    source = '[[source]]\nname = "a"\nrule = [{ label = "x", keywords = ["k"] }]\n'
    project = Project.read(project_file(tmp_path, f'[task]\nclasses = ["x", "y"]\n{source}'))
    assert project.prior is None
    assert project.encoder == "auto"
    assert project.settings == Settings()
    assert project.data == DataFiles()


def test_several_encoders_by_name(tmp_path: Path) -> None:
    text = TEXT.partition("[encoder]")[0]
    several = Project.read(project_file(tmp_path, f'encoder = ["minilm", "lsa"]\n{text}'))
    assert several.encoder == ("minilm", "lsa")
    assert Project.read(project_file(tmp_path, f'encoder = "lsa"\n{text}')).encoder == "lsa"


# What is replaced in the file above, by what, and what the error then says. The line is 1-based.
WRONG = [
    ("classes =", "clases =", ":2: unknown key 'clases' in [task]: did you mean 'classes'?"),
    ("[task]", "[tsak]", ":1: unknown key 'tsak': did you mean 'task'?"),
    ('["ham", "spam"]', '["spam"]', ":2: one class only ('spam'): a classifier needs at least two"),
    ('["ham", "spam"]', "[]", ":2: no classes: name at least two"),
    ('["ham", "spam"]', '["spam", "spam"]', ":2: the class 'spam' is named twice"),
    (
        '["ham", "spam"]',
        '["ham", 1]',
        ":2: classes: expected a text in quotes, found a whole number",
    ),
    ('["ham", "spam"]', '"ham"', ":2: classes: expected a list, found a text in quotes, 'ham'"),
    (
        "[0.75, 0.25]",
        "[0.75, 0.5]",
        ":3: prior: the shares of the classes add up to 1.25, not to 1",
    ),
    ("[0.75, 0.25]", "[1.0]", ":3: prior: 1 number for 2 classes"),
    ("[0.75, 0.25]", "[-0.5, 1.5]", ":3: prior: every share must be above 0, not -0.5"),
    ("[0.75, 0.25]", "[0.5, 1.5]", ":3: prior: the shares of the classes add up to 2, not to 1"),
    ("[0.75, 0.25]", "[0.5, nan]", ":3: prior: every share must be above 0, not nan"),
    ("[0.75, 0.25]", '["a", 1]', ":3: prior: expected a number for each class, found str 'a'"),
    ("[0.75, 0.25]", '"vote"', ":3: prior: 'vote' is not understood: expected"),
    ("[0.75, 0.25]", "{ spma = 0.1 }", ":3: prior: there is no class 'spma': did you mean 'spam'"),
    ("[0.75, 0.25]", '"spam 130%"', ":3: prior: the shares stated sum to 1.3"),
    ("[0.75, 0.25]", "3", ":3: prior: expected"),
    ("train =", "trian =", ":6: unknown key 'trian' in [data]: did you mean 'train'?"),
    ('"comments.csv"', "7", ":6: train: expected a text in quotes, found a whole number, 7"),
    ('"comments.csv"', '""', ":6: train is empty"),
    ('"mood"', '"subscribe"', ":20: two sources are named 'subscribe' (the first at "),
    ('name = "mood"', "", ":19: a source has no name"),
    ("[[source.rule]]", "[[source.rules]]", ":13: 'rules' is not a key of a source"),
    ("pattern =", "patern =", ":23: source 'mood', rule 1: 'patern' is not a key of a rule"),
    ("pattern = 'check", "pattern = '(check", ":23: source 'mood', rule 1: "),
    (
        'keywords = ["http"]',
        "keywords = []",
        ":26: source 'mood', rule 2: the list of keywords is empty",
    ),
    ('label = "ham"', 'label = "hma"', ":25: source 'mood', rule 2: "),
    ("hidden =", "hiden =", ":34: no setting is called 'hiden': did you mean 'hidden'?"),
    ("hidden = 64", "hidden = 0", ":34: hidden = 0: must be a whole number from 1"),
    ("hidden = 64", 'hidden = "64"', ":34: hidden = '64': must be a whole number"),
    (
        "c1 = 0.3",
        "c1 = 0.3\nc3 = 0.9",
        ":32: c1 = 0.3 and c3 = 0.9: together they must not exceed 1",
    ),
    (
        'method = "paper"\n',
        "",
        ':33: hidden is an option of method = "paper": add that line, or leave hidden out',
    ),
    ('"paper"', '"papr"', ":33: method = 'papr': did you mean 'paper'?"),
    ("hidden = 64", "seed = -1", ":34: seed = -1: must be a whole number, 0 or more"),
    ("[train]", "[train", ":32: not valid TOML"),
    ("hidden = 64", "[task]", ":34: not valid TOML"),
]


@pytest.mark.parametrize(("before", "after", "message"), WRONG, ids=[f"{a}" for _, a, _ in WRONG])
def test_what_is_wrong_is_refused_with_its_line(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    assert before in TEXT
    path = project_file(tmp_path, TEXT.replace(before, after, 1))
    with pytest.raises(UnrulyError) as caught:
        Project.read(tmp_path)
    assert str(caught.value).startswith(f"{path}{message}"), str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_sources(tmp_path: Path) -> None:
    path = project_file(tmp_path, '[task]\nclasses = ["ham", "spam"]\n')
    with pytest.raises(ProjectError) as caught:
        Project.read(tmp_path)
    assert (
        str(caught.value)
        == f"{path}: no sources: add at least one [[source]] with a name and a rule, or describe the classes in "
        "[task.describe]"
    )


def test_no_task(tmp_path: Path) -> None:
    project_file(tmp_path, "# empty\n")
    with pytest.raises(ProjectError, match=r"unruly\.toml: no \[task\]: begin with \[task\]"):
        Project.read(tmp_path)


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        ("encoder = 3", ":1: encoder: expected a name"),
        ("encoder = []", ":1: encoder: the list is empty"),
        ('encoder = [\n"lsa",\n3]', ":3: encoder: expected a name"),
        ('encoder = ""', ":1: encoder: expected a name"),
        (
            'encoder = "lsaa"',
            ":1: encoder: there is no encoder 'lsaa', nor a folder of that name: did you mean 'lsa'?",
        ),
        (
            '[[encoder]]\nname = "minilm"\n[[encoder]]\nname = "lsa"\ndims = 3',
            ":5: encoder lsa: there is no option 'dims': did you mean 'dim'?",
        ),
        ('[encoder]\nname = "lsa"\n\ndim = "many"', ":4: encoder lsa: dim must be a whole number"),
        ("[encoder]\nlayer = 5", ":1: encoder: a table needs a name"),
    ],
)
def test_a_wrong_encoder(tmp_path: Path, encoder: str, message: str) -> None:
    path = project_file(tmp_path, f"{encoder}\n{TEXT.partition('[encoder]')[0]}")
    with pytest.raises(ProjectError) as caught:
        Project.read(tmp_path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_an_encoder_that_only_this_machine_lacks_is_no_mistake_in_the_file(tmp_path: Path) -> None:
    encoder = '[encoder]\nname = "static"\nmodel = "not/here"\n'
    project = Project.read(project_file(tmp_path, f"{encoder}{TEXT.partition('[encoder]')[0]}"))
    assert project.encoder == {"name": "static", "model": "not/here"}


def test_no_such_project(tmp_path: Path) -> None:
    with pytest.raises(
        ProjectError, match=r"nowhere: there is no such project: `unruly new .*nowhere`"
    ):
        Project.read(tmp_path / "nowhere")
    with pytest.raises(ProjectError, match=r"no unruly\.toml in this folder"):
        Project.read(tmp_path)


EVERY_PART = r"""
[task]
classes = ["ham", "spam"]

[data]
train = "comments.csv"
text = "comment"
label = "is_spam"            # optional gold: for scoring only, unless the user asks otherwise

[[source]]
name = "subscribe"
[[source.rule]]
label = "spam"
keywords = ["subscribe", "check out my channel"]
examples = ["please SUBSCRIBE to me"]
counter_examples = ["unsubscribed long ago"]

[[source]]
name = "mood"
[[source.rule]]
label = "spam"
pattern = 'check\s+.*out'
[[source.rule]]
label = "ham"
all = [{ polarity = { above = 0.9 } }, { not = { keywords = ["http"] } }]

[[source]]
name = "short"
rule = [{ label = "ham", length = { max_words = 4 } }]
"""


def test_rules_of_many_kinds_vote_together(tmp_path: Path) -> None:
    pytest.importorskip("textblob")
    (tmp_path / "comments.csv").write_text(
        "comment,is_spam\nplease subscribe and check it out today,1\n"
        "They sang the best song that I know of,0\nso so,0\n"
    )
    project = Project.read(project_file(tmp_path, EVERY_PART))
    corpus = project.corpus("train")
    votes = project.sources.vote(corpus)
    assert votes.matrix.tolist() == [[1, 1, -1], [-1, 0, -1], [-1, -1, 0]]
    assert project.sources.check_examples() == []
    (match,) = [match for match in votes.matches(0) if match.source == "mood"]
    assert [corpus.texts[0][start:end] for start, end in match.spans] == ["check it out"]
    assert Project.read(project.write(tmp_path / "again.toml")) == project


def test_the_patterns_of_a_project_are_bounded_together(tmp_path: Path) -> None:
    head = '[task]\nclasses = ["ham", "spam"]\n'
    rule = '[[source]]\nname = "s{0}"\nrule = [{{ label = "spam", pattern = \'a{{9000}}{0}\' }}]\n'
    rules = [rule.format(i) for i in range(60)]
    project_file(tmp_path, head + "".join(rules[:50]))
    assert len(Project.read(tmp_path).sources.names) == 50
    file = project_file(tmp_path, head + "".join(rules))
    with pytest.raises(
        RuleError, match=r"unruly.toml:\d+: source 's55', rule 1: the patterns of all"
    ):
        Project.read(file)
