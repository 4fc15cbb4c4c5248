"""Runs over parts, on a cluster that is this process: every row once and in its place, resumed, refused."""

from __future__ import annotations

import errno
import shutil
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from tests.distributed.conftest import ROWS, Here, Place, use

from unruly.distributed import cluster
from unruly.distributed.run import Placement, encode, planned, predict, unfinished, vote
from unruly.errors import InputError, MissingExtraError
from unruly.model.predictions import encode_stream, predict_file
from unruly.model.weak_classifier import load
from unruly.project.project import Project
from unruly.project.voting import vote_split
from unruly.rules.matching import GaveUpWarning
from unruly.texts.corpus import Corpus
from unruly.votes.files import write_votes

SMALL = Placement(part_rows=30)


class Slow:
    """Ray on a machine that is too busy to start it."""

    def is_initialized(self) -> bool:
        return False

    def init(self, **options: object) -> None:
        raise Exception("The current node timed out during startup.\n Some processes failed.")

    def shutdown(self) -> None:
        """Nothing is there to end."""


def test_a_local_cluster_that_does_not_start_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "need", lambda *_: Slow())
    message = (
        r"cannot start on this machine \(The current node .* Some processes failed\): try again"
    )
    with pytest.raises(InputError, match=message), cluster.connected(workers=2):
        pass


@given(st.lists(st.integers(1, 50), min_size=1, max_size=4), st.integers(1, 40))
def test_parts_are_all_rows_in_order(sizes: list[int], rows: int) -> None:
    with tempfile.TemporaryDirectory() as room:
        for number, size in enumerate(sizes):
            pl.DataFrame({"text": ["x"] * size}).write_parquet(Path(room) / f"{number}.parquet")
        plan = planned(Path(room), rows)
    assert [part.number for part in plan.parts] == list(range(len(plan.parts)))
    covered = [row for part in plan.parts for row in range(part.first, part.first + part.rows)]
    assert covered == list(range(sum(sizes))) == list(range(plan.rows))
    assert max(part.rows for part in plan.parts) <= rows


def test_predictions_are_those_of_one_process(here: Here, made: Place, tmp_path: Path) -> None:
    done = predict(
        made.model, made.data, tmp_path / "out", text="comment", id="id", placement=SMALL
    )
    predict_file(load(made.model), made.data, tmp_path / "one.parquet", text="comment", id="id")
    assert_frame_equal(pl.read_parquet(tmp_path / "out"), pl.read_parquet(tmp_path / "one.parquet"))
    assert (done.documents, done.parts, sum(done.labels.values())) == (ROWS, 16, ROWS)
    assert {path.name[:5] for path in (tmp_path / "out").iterdir()} == {"part-"}


def test_the_models_own_column_is_found(here: Here, made: Place, tmp_path: Path) -> None:
    """Of two that may hold the texts, whether by many workers or by one process."""
    (tmp_path / "data").mkdir()
    for path in made.data.iterdir():
        title = pl.lit("a title").alias("title")
        pl.read_parquet(path).with_columns(title).write_parquet(tmp_path / "data" / path.name)
    predict(made.model, tmp_path / "data", tmp_path / "out", placement=SMALL)
    predict_file(load(made.model), tmp_path / "data", tmp_path / "one.parquet")
    named = predict_file(load(made.model), made.data, tmp_path / "two.parquet", text="comment")
    assert_frame_equal(pl.read_parquet(tmp_path / "out"), pl.read_parquet(tmp_path / "one.parquet"))
    assert pl.read_parquet(tmp_path / "out")["label"].value_counts(sort=True).rows() == sorted(
        named.labels.items(), key=lambda pair: -pair[1]
    )
    encode(made.model, tmp_path / "data", tmp_path / "features", placement=SMALL)


def test_features_are_those_of_one_process(here: Here, made: Place, tmp_path: Path) -> None:
    encode(made.model, made.data, tmp_path / "out", text="comment", id="id", placement=SMALL)
    stream = Corpus.scan(made.data, text="comment", id="id")
    encode_stream(load(made.model), stream, tmp_path / "one.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "out"), pl.read_parquet(tmp_path / "one.parquet"))


def test_votes_are_those_of_one_process(here: Here, made: Place, tmp_path: Path) -> None:
    done = vote(made.project, made.data, tmp_path / "out", placement=SMALL)
    voted = vote_split(Project.read(made.project)).votes
    write_votes(voted, tmp_path / "one.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "out"), pl.read_parquet(tmp_path / "one.parquet"))
    assert done.covered == voted.covered.sum()


def test_a_stopped_run_goes_on_where_it_was(
    monkeypatch: pytest.MonkeyPatch, made: Place, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    use(monkeypatch, Here(None, 1, most=10))
    with pytest.raises(KeyboardInterrupt):
        predict(made.model, made.data, out, text="comment", id="id", placement=SMALL)
    assert not out.exists()
    (unfinished(out) / ".3-half").mkdir()  # what a killed worker leaves
    with pytest.raises(InputError, match=r"out\.unfinished: holds parts of a run with another"):
        predict(
            made.model, made.data, out, text="comment", id="id", placement=Placement(part_rows=31)
        )
    use(monkeypatch, Here(None, 1))
    done = predict(made.model, made.data, out, text="comment", id="id", placement=SMALL)
    assert (done.documents, done.parts, done.resumed) == (ROWS, 16, 10)
    assert pl.read_parquet(out)["id"].to_list() == list(range(ROWS))
    assert not unfinished(out).exists()


@pytest.mark.parametrize("what", ["data", "rules"])
def test_parts_of_other_data_or_rules_are_not_mixed_with_new_ones(
    monkeypatch: pytest.MonkeyPatch, made: Place, tmp_path: Path, what: str
) -> None:
    """The same names, and as many rows, but another content."""
    shutil.copytree(made.data, tmp_path / "data")
    shutil.copytree(made.project, tmp_path / "spam")
    project, data, out = tmp_path / "spam", tmp_path / "data", tmp_path / "out"
    rules = project / "rules.py"
    rules.write_text("import unruly\n\n@unruly.rule\ndef own(x):\n    return None\n")
    with (project / "unruly.toml").open("a") as file:
        file.write(
            '\n[[source]]\nname = "own"\nrule = [{ function = { file = "rules.py", name = "own" } }]\n'
        )
    use(monkeypatch, Here(None, 1, most=10))
    with pytest.raises(KeyboardInterrupt):
        vote(project, data, out, placement=SMALL)
    if what == "rules":
        rules.write_text(rules.read_text().replace("None", '"spam"'))
    else:
        frame = pl.read_parquet(data / "1.parquet")
        frame.with_columns(comment=pl.lit("another")).write_parquet(data / "1.parquet")
    use(monkeypatch, Here(None, 1))
    with pytest.raises(InputError, match=r"out\.unfinished: holds parts of a run with another"):
        vote(project, data, out, placement=SMALL)


def test_a_folder_beside_the_output_is_the_users_whatever_its_name(
    here: Here, made: Place, tmp_path: Path
) -> None:
    data = tmp_path / "out.input"
    shutil.copytree(made.data, data)
    predict(made.model, data, tmp_path / "out", text="comment", id="id")
    assert len(list(data.iterdir())) == 4
    shutil.rmtree(tmp_path / "out")
    with pytest.raises(InputError, match=r"out\.input: an earlier run wrote its frame here"):
        predict(made.model, Frame(made.data), tmp_path / "out", text="comment", id="id")
    assert len(list(data.iterdir())) == 4


SLOW = """
[[source]]
name = "slow"
rule = [{ label = "spam", pattern = "^(a|a|a)*[bc]$", engine = "python", seconds = 0.001 }]
"""


def test_rules_that_took_too_long_on_workers_are_told(
    here: Here, made: Place, tmp_path: Path
) -> None:
    data, project = tmp_path / "data", tmp_path / "spam"
    shutil.copytree(made.data, data)
    shutil.copytree(made.project, project)
    for name in ("1.parquet", "3.parquet"):
        texts = pl.lit("a" * 500)
        pl.read_parquet(data / name).with_columns(comment=texts).write_parquet(data / name)
    with (project / "unruly.toml").open("a") as file:
        file.write(SLOW)
    with pytest.warns(GaveUpWarning, match=r"slow.*200 documents") as told:
        done = vote(project, data, tmp_path / "out", placement=Placement(part_rows=100))
    assert [(fact.source, fact.documents) for fact in done.given_up] == [("slow", 200)]
    assert done.to_plain()["given_up"][0]["kind"] == "documents_given_up"
    assert "200 documents" in str(told[-1].message)


def test_a_wrong_word_for_bad_rows_is_refused(made: Place, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="on_bad_row = 'drop': must be one of"):
        predict(made.model, made.data, tmp_path / "out", on_bad_row="drop")  # type: ignore[arg-type]


def test_an_output_that_exists_is_kept(here: Here, made: Place, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="already there"):
        predict(made.model, made.data, tmp_path)
    with pytest.raises(InputError, match="there is no such model file"):
        predict(tmp_path / "none.unruly", made.data, tmp_path / "out")
    with pytest.raises(InputError, match="many machines read Parquet only"):
        predict(made.model, made.project / "comments.csv", tmp_path / "out")
    with pytest.raises(InputError, match="not dict"):
        predict(made.model, {}, tmp_path / "out")


@pytest.mark.parametrize("damage", ["footer", "pages"])
def test_a_broken_file_is_named_and_the_rest_is_done(
    here: Here, made: Place, tmp_path: Path, damage: str
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for path in made.data.iterdir():
        frame = pl.read_parquet(path)
        frame.write_parquet(data / path.name, compression="zstd", row_group_size=100)
    content = bytearray((data / "2.parquet").read_bytes())
    if damage == "footer":
        content = content[:-10]
    else:
        content[200:900] = b"\0" * 700
    (data / "2.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"2\.parquet: cannot be read as Parquet"):
        predict(made.model, data, tmp_path / "out", text="comment", id="id")
    placement = Placement(part_rows=100)
    out = tmp_path / "rest"
    done = predict(
        made.model, data, out, text="comment", id="id", on_bad_row="skip", placement=placement
    )
    (bad,) = done.broken
    assert Path(bad.file).name == "2.parquet"
    assert (bad.start, bad.rows) == ((0, None) if damage == "footer" else (0, 100))
    assert done.to_plain()["broken"][0]["reason"] == bad.reason
    kept = [i for i in range(ROWS) if not 200 <= i < 300]
    assert pl.read_parquet(out)["id"].to_list() == kept
    assert done.documents == len(kept)


def test_what_the_system_refuses_a_worker_is_one_line_with_the_file(
    here: Here, made: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("unruly.votes.files.write_votes", full)
    with pytest.raises(InputError, match=r"part-\d+\.parquet: No space left on device: free some"):
        vote(made.project, made.data, tmp_path / "out", placement=SMALL)


def test_a_column_that_is_not_there_is_no_broken_file(
    here: Here, made: Place, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"there is no column 'nosuch'.*columns are id, comment"):
        predict(made.model, made.data, tmp_path / "out", text="nosuch", on_bad_row="skip")
    assert not (tmp_path / "out").exists()


class Frame:
    """A frame that writes itself, as daft's and Ray's do."""

    def __init__(self, data: Path, fails: bool = False) -> None:
        self.data, self.fails = data, fails

    def write_parquet(self, folder: str) -> None:
        Path(folder).mkdir(exist_ok=True)
        pl.read_parquet(self.data).write_parquet(Path(folder) / "x.parquet")
        if self.fails:
            raise OSError("half of it is written")


def test_a_frame_is_written_first(here: Here, made: Place, tmp_path: Path) -> None:
    done = predict(made.model, Frame(made.data), tmp_path / "out", text="comment", id="id")
    assert done.documents == ROWS
    assert [path.name for path in tmp_path.iterdir() if path.name != "cache"] == ["out"]


def test_a_frame_is_never_taken_for_that_of_an_earlier_run(
    monkeypatch: pytest.MonkeyPatch, made: Place, tmp_path: Path
) -> None:
    written, out = tmp_path / "out.input", tmp_path / "out"
    use(monkeypatch, Here(None, 1))
    with pytest.raises(OSError, match="half of it"):
        predict(made.model, Frame(made.data, fails=True), out, text="comment")
    with pytest.raises(InputError, match="no column 'nosuch'"):
        predict(made.model, Frame(made.data), out, text="nosuch")
    assert not written.exists()  # nothing was done of it
    use(monkeypatch, Here(None, 1, most=5))
    with pytest.raises(KeyboardInterrupt):
        predict(made.model, Frame(made.data), out, text="comment", id="id", placement=SMALL)
    use(monkeypatch, Here(None, 1))
    with pytest.raises(InputError, match=r"out\.input: an earlier run wrote its frame here: pass"):
        predict(made.model, Frame(made.data), out, text="comment", id="id", placement=SMALL)
    done = predict(made.model, written, out, text="comment", id="id", placement=SMALL)
    assert (done.documents, done.resumed) == (ROWS, 5)


def test_without_ray_the_extra_is_named(
    made: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'unruly\[ray\]'"):
        predict(made.model, made.data, tmp_path / "out")
    assert not unfinished(tmp_path / "out").exists()
