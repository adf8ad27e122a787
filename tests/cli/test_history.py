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


REFUSED = {"requests_failed": 3, "fell_through": 2}
WAITS = {"requests_arrived": 1000, "achieved_ratio": 0.5}
QUEUES = {"requests_arrived": 1000, "unserved_ratio": 0.4}
CUT = {"measured_s": 10, "e2e_mean_ms": 100, "queue_wait_mean_ms": 0, "in_service_mean": 10, "requests_done": 20, "requests_failed": 0,
       "requests_in_service_at_end": 10, "unfinished_ratio": 0.98}
EARLY, COPIES = "much of its work began before the measured part", "it ended with copies still to be made"
HALF = {"measured_s": 10, "queue_wait_mean_ms": 0, "in_service_mean": 10, "requests_done": 20, "requests_failed": 0,
        "requests_in_service_at_end": 10, "tokens_carried_ratio": 0.5}
SAID = (("good", {}, None), ("refused", REFUSED, "3 requests failed and 2 writes fell through"), ("open", WAITS, "it did not serve what arrived"),
        ("paced", QUEUES, "it did not serve what arrived"), ("cut", CUT, "it ended amid most of its work"),
        ("burst", {"requests_arrived": 1000, "requests_done": 1300, "achieved_ratio": 1.3}, EARLY),
        ("few", {"requests_arrived": 40, "requests_done": 44, "achieved_ratio": 1.1}, None),
        ("paced burst", {"requests_arrived": 373, "requests_done": 1025, "requests_open_at_start": 655, "unserved_ratio": 0}, EARLY),
        ("users wait", {"requests_arrived": 373, "requests_done": 1025, "requests_open_at_start": 655}, None),
        ("late", {"requests_arrived": 0, "offered_requests_per_s": 0, "requests_open_at_start": 900, "requests_done": 900, "unserved_ratio": 0}, EARLY),
        ("idle", {"requests_arrived": 0, "offered_requests_per_s": 0, "requests_open_at_start": 3, "requests_done": 3, "unserved_ratio": 0}, None),
        ("backlog", {"requests_arrived": 0, "requests_open_at_start": 900, "requests_done": 3, "unserved_ratio": 0.99}, "it did not serve what arrived"),
        ("few open", {"requests_arrived": 30, "requests_open_at_start": 20, "requests_done": 30, "unserved_ratio": 0.4}, None),
        ("warm", {"requests_asked": 200, "requests_left": 0, "requests_done": 60}, EARLY),
        ("cold", {"requests_asked": 200, "requests_left": 0, "requests_done": 160}, None),
        ("carried", {**HALF, "e2e_mean_ms": 8000}, EARLY), ("made up for", {**HALF, "e2e_mean_ms": 5000}, None),
        ("copies", {"copies_begun": 1000, "copies_left": 200}, COPIES), ("copies computed", {"copies_begun": 1000, "copies_left": 200, "batch_running_mean": 3}, None), ("copied", {"copies_begun": 1000, "copies_left": 20}, None),
        ("rows", {"rows_rejected_ratio": 0.05}, "many rows of its file were rejected"), ("odd rows", {"rows_rejected_ratio": 0.04}, None),
        ("warming", {"warmup_counted_s": 3.5}, "it ended in its warm-up"),
        ("ran out", {"users_exhausted_ratio": 0.4}, "its users ran out of requests"),
        ("stranded", {"requests_arrived": 250, "requests_done": 204, "unserved_ratio": 0.184, "stranded_ratio": 0.184}, "it did not serve what arrived"),
        ("served", {"requests_arrived": 1000, "achieved_ratio": 0.96, "unserved_ratio": 0.01}, None),
        ("chance", {"requests_arrived": 40, "achieved_ratio": 0.9}, None),
        ("computed", {"batch_running_mean": 3, "not_admitted": 5}, None),
        ("not computed", {"batch_running_mean": 3, "not_admitted": 5, "misses_not_computed": 9}, "5 writes were not admitted"))

ALL = ("--limit", "100")


@case("a run that is not comparable is marked in every form, also where sorting by a throughput puts it first")
def _():
    with make() as db:
        for number, (name, results, _) in enumerate(SAID, 1):
            add_run(db, name, {"throughput_tok_s": 100 * number, "storage_throughput_tok_s": number, **results})
    wanted = {name: why for name, _, why in SAID}
    for sort in (ALL, (*ALL, "--sort", "throughput_tok_s"), (*ALL, "--sort", "storage_throughput_tok_s", "--reverse")):
        assert {row["name"]: row["undone"] for row in json.loads(run(["history", "--json", *sort]).stdout)} == wanted
        rows = csv.DictReader(io.StringIO(run(["history", "--csv", *sort]).stdout))
        assert {row["name"]: row["undone"] or None for row in rows} == wanted
        for wide in ((), ("--full",)):
            lines = run(["history", *sort, *wide]).stdout.splitlines()
            assert len(lines) == len(SAID) + 2 and lines[-1].startswith("* not comparable"), lines
            assert len({len(line) for line in lines[:-1]}) == 1, lines
            for line in lines[1:-1]:
                why = next(why for name, _, why in SAID if name == line[38:].split("  ")[0].strip())
                assert line.count("*") == (bool(why) and (2 if wide else 1)), (line, why)
    first = run(["history", "--sort", "throughput_tok_s"]).stdout.splitlines()[1]
    assert "not computed" in first and "2.90k*" in first, first
    assert "*" not in run(["history", "--name", "good"]).stdout
    view = json.loads(run(["sql", "SELECT name, comparable FROM run_summary", "--json"]).stdout)
    assert {row["name"]: row["comparable"] for row in view} == {name: int(why is None) for name, _, why in SAID}, view
    best = json.loads(run(["sql", "SELECT runs, throughput_tok_s FROM best_by_config", "--json"]).stdout)
    assert best == [{"runs": 13, "throughput_tok_s": 2800.0}], best


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
