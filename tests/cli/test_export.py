"""kvfall export: stored runs in forms that other programs read."""
import csv
import io
import os
import pty
import sqlite3

import histories
from tap import case, database, finish, home, main, run, spawn


def two_runs():
    """Two intervals of two tiers, and a run without any."""
    with histories.make() as db:
        first = histories.add_run(db, name='a "b", c')
        for tier, emulated in (("gpu", 1), ("nvme", 0)):
            histories.insert(db, "run_tiers", run_id=first, tier=tier, emulated=emulated, capacity_bytes=1000)
        for seq in (0, 1):
            histories.insert(db, "intervals", run_id=first, seq=seq, t_s=seq + 1.0, phase="measured", users=3,
                             tokens=100 * seq, throughput_tok_s=0.1 if seq else None, at=1700000001.25 if seq else None)
            for tier in ("gpu", "nvme"):
                histories.insert(db, "tier_intervals", run_id=first, seq=seq, tier=tier, used_bytes=seq + 7,
                                 read_p95_ms=1.5 if tier == "gpu" else None)
        histories.add_run(db, name="empty")


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


@case("csv has a row for each run, interval and tier, and nothing for what is missing")
def _():
    two_runs()
    got = run(["export", "1", "2"])
    assert got.rc == 0, got
    table = rows(got.stdout)
    assert [(r["run_id"], r["seq"], r["tier"], r["tier_used_bytes"]) for r in table] == [
        ("1", "0", "gpu", "7"), ("1", "0", "nvme", "7"), ("1", "1", "gpu", "8"), ("1", "1", "nvme", "8")], got
    assert {r["name"] for r in table} == {'a "b", c'}, got
    assert [r["throughput_tok_s"] for r in table] == ["", "", "0.1", "0.1"], got
    assert [r["tier_read_p95_ms"] for r in table] == ["1.5", ""] * 2, got
    assert [r["tier_emulated"] for r in table] == ["1", "0"] * 2, got
    assert {r["phase"] for r in table} == {"measured"}, got
    assert [(r["at"], r["wall_clock"]) for r in table] == [("", "")] * 2 + [
        ("1700000001.25", "2023-11-14T22:13:21.250Z")] * 2, got


@case("an interval with the largest number that there is comes once, and last")
def _():
    two_runs()
    with sqlite3.connect(database()) as db:
        histories.insert(db, "intervals", run_id=1, seq=2 ** 63 - 1, t_s=9.0, phase="measured")
    db.close()
    assert [r["seq"] for r in rows(run(["export", "1"]).stdout)][::2] == ["0", "1", str(2 ** 63 - 1)]


@case("a file is written whole, over one that is there only with --overwrite")
def _():
    two_runs()
    work = home() / "work"
    got = run(["export", "1", "-o", "out.csv"])
    assert got.rc == 0 and got.stdout == "", got
    text = (work / "out.csv").read_text()
    assert text == run(["export", "1"]).stdout
    got = run(["export", "1", "--output", "out.csv"])
    assert got.rc == 2 and got.stderr == (
        "kvfall: out.csv is there already; choose another name, or write over it with --overwrite\n"), got
    assert (work / "out.csv").read_text() == text
    got = run(["export", "2", "-oout.csv", "--overwrite"])
    assert got.rc == 0, got
    assert len((work / "out.csv").read_text().splitlines()) == 1
    assert os.listdir(work) == ["out.csv"]


@case("what cannot be exported is said before anything is written")
def _():
    two_runs()
    for args, words in ((["9"], "there is no run '9'"), (["--format", "xml"], "--format is csv"),
                        (["1", "-o", "no/such/x.csv"], "cannot write no/such/x.csv"), (["-x"], '"-x"')):
        got = run(["export"] + args)
        assert got.rc == 2 and words in got.stderr and got.stdout == "", got
    assert os.listdir(home() / "work") == []


@case("what is no text is nothing for a terminal")
def _():
    two_runs()
    ours, theirs = pty.openpty()
    try:
        got = finish(spawn(["export", "1", "--format", "xlsx"], stdout=theirs))
    finally:
        os.close(ours)
        os.close(theirs)
    assert got.rc == 2 and got.stderr == "kvfall: xlsx cannot be shown on a terminal; name a file with --output\n", got


main()
