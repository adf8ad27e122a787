#!/usr/bin/env python3
"""What is done before the clock, how writes are limited, and who of the classes is served."""
import json
import re
import signal

from runs import TOKEN_BYTES, last_run, measure, refused, result, rows, run_folders, start, write
from tap import case, finish, home, main, run, wait_until

MIB = 1 << 20
ENTRY_MOST = 256 * TOKEN_BYTES


@case("nvme is preconditioned with progress, and the results know nothing of it")
def _():
    got, summary = measure({"run.precondition": "auto", "run.max_requests": 40, "run.duration": "60s"})
    said = re.findall(r"^prepare: preconditioning nvme: \S+ \S+ of 16\.0 MiB, (\d+) %$", got.stderr, re.MULTILINE)
    assert said and said[-1] == "100", got
    assert 16 * MIB <= result(summary, "precondition_bytes") < 16 * MIB + ENTRY_MOST, summary["results"]
    assert "nvme_write_precondition_bytes" not in summary["results"]
    assert result(summary, "requests_done") == 40
    assert result(summary, "prepare_s") > 0
    assert summary["run"]["configuration"]["run"]["precondition"] == "16MiB", summary["run"]["configuration"]["run"]
    assert rows("SELECT count(*) AS n FROM intervals WHERE phase = 'prepare'")[0]["n"] == 0
    written = rows("SELECT sum(bytes) AS n FROM cause_intervals WHERE cause = 'precondition'")[0]["n"]
    assert not written, written
    assert run_folders() == []


@case("without nvme a volume for it is refused")
def _():
    path = write({"run.precondition": "1GiB", "tiers.nvme": None})
    refused(["check", path], "run.precondition", "nvme tier, which is off")
    assert run(["check", write({"run.precondition": 0, "tiers.nvme": None})]).rc == 0


@case("stopped while nvme is preconditioned: interrupted, without results, nothing left behind")
def _():
    process = start({"run.precondition": "1TiB"})
    wait_until(lambda: list((home() / "work").glob("kvfall-*/*/*.kv")), what="an entry on the disk")
    process.send_signal(signal.SIGINT)
    got = finish(process)
    assert got.rc == 130 and got.stdout.startswith("INTERRUPTED"), got
    about = last_run()
    assert about["status"] == "interrupted", about
    assert rows("SELECT count(*) AS n FROM results WHERE metric = 'requests_done'")[0]["n"] == 0
    assert run_folders() == []


@case("tiers are filled before the clock to the part that was asked for")
def _():
    got, summary = measure({"run.prepopulate": 0.75, "run.warmup": "100ms", "run.interval": "50ms"})
    assert re.search(r"^prepare: prepopulating gpu: .* 100 %$", got.stderr, re.MULTILINE), got
    usable = {tier: summary["tiers"][tier]["usable_bytes"] for tier in ("gpu", "cpu", "nvme")}
    filled = result(summary, "prepopulate_bytes")
    assert 0.7 * sum(usable.values()) < filled <= 0.75 * sum(usable.values()), (filled, usable)
    first = {row["tier"]: row["used_bytes"] for row in rows("SELECT * FROM tier_intervals WHERE seq = 0")}
    assert sum(first.values()) >= 0.7 * sum(usable.values()), (first, usable)  # requests of its time have moved some
    assert all(first[tier] >= 0.5 * usable[tier] for tier in usable), (first, usable)
    phases = [row["phase"] for row in rows("SELECT DISTINCT phase FROM intervals ORDER BY seq")]
    assert phases == ["warmup", "measured", "drain"], phases
    first, = rows("SELECT t_s, length_s FROM intervals WHERE seq = 0")
    assert abs(first["t_s"] - first["length_s"]) < 1e-6, first  # the clock began with the warm-up


def requests(changes, log):
    measure({"run.max_requests": 60, "run.duration": "60s", **changes}, "--request-log", log, "--db", "none")
    lines = [json.loads(line) for line in (home() / "work" / log).read_text().splitlines()]
    what = ("id", "class", "conversation", "turn", "context_tokens", "generate_tokens")
    return sorted([line[key] for key in what] for line in lines)


@case("what is done before the clock changes none of the requests")
def _():
    plain = requests({}, "plain.jsonl")
    assert len(plain) == 60
    assert requests({"run.precondition": "4MiB", "run.prepopulate": 0.5, "engine.workers": 3}, "after.jsonl") == plain
    assert requests({"engine.max_concurrent_writes": 1, "qos.scheduler": "aging"}, "limited.jsonl") == plain


@case("writes in flight are limited")
def _():
    got, summary = measure({"engine.max_concurrent_writes": 2})
    assert 1 <= result(summary, "writes_in_flight_max") <= 2, summary["results"]
    assert result(summary, "writes_held") >= 0
    got, summary = measure()
    assert result(summary, "writes_in_flight_max") is None


@case("eight classes are everywhere, each with its targets")
def _():
    names = ["class-%d" % i for i in range(8)]
    classes = [{"name": name, "p95": "24h", "p99": "24h"} for name in names]
    got, summary = measure({"workload.users": 64, "qos.classes": classes, "qos.scheduler": "aging"})
    assert [one["name"] for one in summary["qos"]] == names
    for one in summary["qos"]:
        # a day is longer than the run: as long as many requests are open it is not known whether they keep it
        assert one["met"]["p95"] in (True, None) and one["met"]["p99"] in (True, None), one
        assert one["met"]["p999"] is None and one["met"]["p9999"] is None, one
        assert one["violations"] == 0 and one["actual"]["p95_ms"] > 0, one
        assert one["metrics"]["starved_s"] == 0, one
    for name in names:
        assert re.search(r"^  %s " % name, got.stdout, re.MULTILINE), got
    counted = rows("SELECT seq, count(*) AS n FROM qos_intervals GROUP BY seq")
    assert counted and all(row["n"] == 8 for row in counted), counted
    assert rows("SELECT count(*) AS n FROM run_classes")[0]["n"] == 8
    assert max(len(line) for line in got.stdout.splitlines()) <= 80, got


main()
