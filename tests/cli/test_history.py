#!/usr/bin/env python3
"""`kvfall history`: which runs its filters find, in which order, and in which form."""
import calendar
import csv
import io
import json

from histories import add_run, insert, make
from runs import refused
from tap import case, main, run


def listed(*options):
    got = run(["history", "--json", *options])
    assert got.rc == 0, got
    return [row["run_id"] for row in json.loads(got.stdout)]


def moment(*when):
    return calendar.timegm((*when, 0, 0, 0)[:6])


def fill():
    """Runs 1 to 5; the machine is in UTC."""
    with make() as db:
        add_run(db, "alpha", {"throughput_tok_s": 50, "e2e_p95_ms": 9}, started_at=moment(2026, 3, 1, 23, 59),
                ended_at=moment(2026, 3, 1, 23, 59) + 10, tags="ci,old disk", host="lab1")
        add_run(db, "beta", {"throughput_tok_s": 70, "e2e_p95_ms": 3}, started_at=moment(2026, 3, 2), tags="ci",
                ended_at=moment(2026, 3, 2) + 1, mode="simulate", host="lab2")
        insert(db, "intervals", run_id=2, seq=0, t_s=20.0)  # virtual time
        add_run(db, "gamma", {"throughput_tok_s": 60}, started_at=moment(2026, 3, 2, 12, 30), tags="disk",
                ended_at=moment(2026, 3, 2, 12, 30) + 5, host="lab2", model="qwen")
        add_run(db, "delta", started_at=moment(2026, 3, 3), ended_at=None, status="crashed", host="lab1")
        add_run(db, "alpha", {"throughput_tok_s": 50, "e2e_p95_ms": 5}, started_at=moment(2026, 3, 4),
                ended_at=moment(2026, 3, 4) + 30, host="lab10")


@case("each filter finds its runs, together what all of them find")
def _():
    fill()
    for options, runs in (((), [5, 4, 3, 2, 1]), (("--tag", "ci"), [2, 1]), (("--tag", "disk"), [3]),
                          (("--tag", "old disk"), [1]), (("--tag", "c"), []), (("--mode", "simulate"), [2]),
                          (("--host", "lab1"), [4, 1]), (("--host", "lab1%"), [5, 4, 1]),
                          (("--model", "qwen"), [3]), (("--status", "crashed"), [4]),
                          (("--since", "2026-03-02"), [5, 4, 3, 2]), (("--until", "2026-03-02"), [3, 2, 1]),
                          (("--since", "2026-03-02", "--until", "2026-03-02"), [3, 2]),
                          (("--since", "2026-03-02 12:30", "--until", "2026-03-02T12:30"), [3]),
                          (("--since", "2026-03-02 12:31", "--until", "2026-03-03"), [4]),
                          (("--name", "alpha", "--host", "lab1", "--tag", "ci"), [1]),
                          (("--since", "7d"), []), (("--until", "36h"), [5, 4, 3, 2, 1]),
                          (("--since", "5000w"), [5, 4, 3, 2, 1]),
                          (("--limit", "2"), [5, 4])):
        assert listed(*options) == runs, (options, listed(*options))


@case("sorted best first, what is missing last, and the other way round")
def _():
    fill()
    for options, runs in ((("throughput_tok_s",), [2, 3, 5, 1, 4]), (("e2e_p95_ms",), [2, 5, 1, 4, 3]),
                          (("throughput_tok_s", "--reverse"), [5, 1, 3, 2, 4]), (("started_at",), [5, 4, 3, 2, 1]),
                          (("started_at", "--reverse"), [1, 2, 3, 4, 5]), (("name",), [5, 1, 2, 4, 3]),
                          (("duration_s",), [5, 2, 1, 3, 4]), (("hit_ratio",), [5, 4, 3, 2, 1]),
                          (("throughput_tok_s", "--limit", "2"), [2, 3]),
                          (("e2e_p95_ms", "--host", "lab1%", "--limit", "1"), [5])):
        assert listed("--sort", *options) == runs, (options, listed("--sort", *options))
    assert listed("--reverse", "--limit", "2") == [1, 2]


@case("the tags stand in CSV and JSON, and a filter that finds nothing says so")
def _():
    fill()
    rows = list(csv.DictReader(io.StringIO(run(["history", "--csv", "--reverse"]).stdout)))
    assert [row["tags"] for row in rows] == ["ci,old disk", "ci", "disk", "", ""], rows
    got = run(["history", "--tag", "none"])
    assert got.rc == 0 and got.stdout.startswith("no run in ") and got.stdout.endswith(" matches\n"), got


@case("what cannot be meant is a usage error")
def _():
    fill()
    refused(["history", "--sort", "speed"], "--sort is one of", "throughput_tok_s", "speed")
    refused(["history", "--mode", "fast"], "--mode is real or simulate")
    refused(["history", "--since", "yesterday"], "--since is a date such as", "yesterday")
    refused(["history", "--until", "2026-03-02x"], "--until is a date such as")


main()
