#!/usr/bin/env python3
"""A scenario that is run several times: trials of their own, linked, and what they say together."""
import json
import math
import re
import signal
import sqlite3
import statistics

from runs import check_identities, last_run, measure, result, rows, run_folders, start, write
from tap import case, finish, home, main, run, wait_until

COUNTED = {"run.duration": "60s", "run.max_requests": 60, "run.interval": "50ms"}
MEMORY = {"tiers.nvme": None, "run.interval": "50ms"}
STUDENT_2 = 4.302652729749464  # 97.5 % quantile of Student's t for two degrees of freedom


def three(changes=None):
    return {**COUNTED, "run.trials": 3, **(changes or {})}


def stored():
    return rows("SELECT run_id, parent_id, trial, status FROM runs ORDER BY run_id")


def values(metric):
    """Of the runs in the database, in their order."""
    return [one["value"] for one in rows("SELECT value FROM results WHERE metric = ? ORDER BY run_id", metric)]


@case("three trials are three runs below the first, of the same requests")
def _():
    got, summary = measure(three(), "--request-log", "log.jsonl")
    assert stored() == [{"run_id": n, "parent_id": 1, "trial": n, "status": "completed"} for n in (1, 2, 3)], stored()
    assert summary["run"]["run_id"] == 3 and summary["run"]["trial"] == 3 and summary["run"]["trials"] == 3
    assert "trial 3 of 3" in got.stdout.splitlines()[0], got
    assert [rows("SELECT count(*) AS n FROM intervals WHERE run_id = ?", n)[0]["n"] > 0 for n in (1, 2, 3)] == [True] * 3
    logs = []
    for trial in (1, 2, 3):
        lines = (home() / ("work/log-trial%d.jsonl" % trial)).read_text().splitlines()
        logs.append(sorted((one["id"], one["class"], one["turn"], str(one.get("tokens"))) for one in map(json.loads, lines)))
    assert len(logs[0]) == 60 and logs[0] == logs[1] == logs[2], logs
    assert not (home() / "work/log.jsonl").exists() and run_folders() == []


def part_of_a_whole(name):
    """Whether a metric cannot be above 1."""
    return name.endswith(("_ratio", "_host_share", "_line_share", "_kernel_share", "_device_share")) and name not in ("read_write_ratio", "achieved_ratio")


@case("median, mean, spread and interval of every metric are those of the runs in the database")
def _():
    _, summary = measure(three())
    group = summary["trials"]
    assert group["asked"] == 3 and group["runs"] == [1, 2, 3] and group["incomplete"] == [], group
    names = {one["metric"] for one in rows("SELECT DISTINCT metric FROM results")}
    assert set(group["metrics"]) == names and len(names) > 200
    for name, told in group["metrics"].items():
        there = [v for v in values(name) if v is not None]
        assert told["n"] == len(there), (name, told)
        near = lambda a, b: math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
        if there:
            assert near(told["mean"], statistics.fmean(there)) and near(told["median"], statistics.median(there)), name
        if len(there) == 3:
            sd = statistics.stdev(there)
            assert math.isclose(told["sd"], sd, rel_tol=1e-6, abs_tol=1e-9 * max(map(abs, there))), (name, told, there)
            half = STUDENT_2 * told["sd"] / math.sqrt(3)
            low = told["mean"] - half
            high = told["mean"] + half
            assert near(told["ci95_low"], low if min(there) < 0 or name.endswith("_slope") else max(low, 0)), name
            assert near(told["ci95_high"], min(high, 1) if part_of_a_whole(name) else high), name
            assert told["cv"] is None if told["mean"] == 0 else near(told["cv"], told["sd"] / abs(told["mean"])), name
    assert group["metrics"]["requests_done"]["mean"] == 60 and group["metrics"]["requests_done"]["sd"] == 0


@case("trials of a simulation have a seed each, scatter, and are pairs in a comparison")
def _():
    simulated = {"mode": "simulate", "run.trials": 4, "run.duration": "20s", "run.interval": "1s"}
    measure(simulated)
    assert [one["seed"] for one in rows("SELECT seed FROM runs ORDER BY run_id")] == [42, 43, 44, 45]
    assert len(set(values("throughput_tok_s"))) == 4
    measure({**simulated, "tiers.nvme.read_bandwidth": "700MB/s"})
    told = json.loads(run(["compare", "2", "5", "--json"]).stdout)
    assert [one["key"] for one in told["differences"]] == ["tiers.nvme.read_bandwidth"], told["differences"]
    one = {one["metric"]: one["values"][1] for one in told["metrics"]}["storage_throughput_tok_s"]
    assert (one["method"], one["noise"], one["direction"]) == ("paired_trials", "beyond", "worse"), one


@case("the table stands behind the summary, and show prints it for every trial")
def _():
    got, summary = measure(three())
    table = got.stdout[got.stdout.index("\nTrials "):]
    assert re.search(r"^Trials +3 of 3 run, 3 complete", table, re.MULTILINE), got
    assert re.search(r"^metric +n +median +mean +SD +CV +95 % from +to$", table, re.MULTILINE), got
    assert re.search(r"^tokens/s +3 +\S+ +\S+ +\S+ +\S+ %", table, re.MULTILINE), got
    assert all(len(line) <= 80 for line in got.stdout.splitlines()), got
    assert run(["show"]).stdout == got.stdout
    for trial in ("1", "2"):
        shown = run(["show", trial])
        assert shown.stdout.endswith(table) and "trial %s of 3" % trial in shown.stdout.splitlines()[0], shown
    assert json.loads(run(["show", "--json"]).stdout) == summary
    plain = run(["show", "1", "--ascii"]).stdout
    assert plain.isascii() and "95 % from" in plain, plain


@case("history shows which trial a run is")
def _():
    measure({"run.duration": "100ms"})
    measure(three())
    listed = run(["history"]).stdout
    assert [len(re.findall(r" small %d/3 " % n, listed)) for n in (1, 2, 3)] == [1, 1, 1], listed
    told = json.loads(run(["history", "--json"]).stdout)
    assert [(one["parent_id"], one["trial"], one["trials"]) for one in told] == [(2, 3, 3), (2, 2, 3), (2, 1, 3),
                                                                                 (None, None, None)], told
    lines = run(["history", "--csv"]).stdout.splitlines()
    assert lines[0].endswith(",parent_id,trial,trials,tags") and lines[1].endswith(",2,3,3,") and lines[4].endswith(",,,,"), lines


@case("a trial with fewer requests done than asked is incomplete, named and in no average")
def _():
    many = {**MEMORY, "run.duration": "200ms", "run.max_requests": 10 ** 9}
    got, summary = measure(many, "--trials", "2")
    done = values("requests_done")
    assert values("requests_asked") == [10 ** 9] * 2 and values("requests_left") == [10 ** 9 - one for one in done]
    assert "2 of 2 run, 0 complete, 2 incomplete and left out" in got.stdout, got
    for trial, count in enumerate(done, 1):
        sentence = "%d of 1000000000 requests done" % count
        assert "is left out: " + sentence in " ".join(got.stdout.split()), got
        assert "trial %d of 2 is incomplete: %s" % (trial, sentence) in got.stderr, got
        assert summary["trials"]["incomplete"][trial - 1] == {"run_id": trial, "trial": trial, "reason": sentence}
    assert summary["trials"]["metrics"] == {} and summary["trials"]["passed"] is False, summary["trials"]
    # what nobody completed cannot pass
    measure({**many, "assess.profile": "throughput"}, "--trials", "2", "--assert", rc=3)


@case("a limit that the warm-up counts towards is reached all the same; a run without one has nothing left")
def _():
    _, summary = measure({**MEMORY, "run.duration": "60s", "run.warmup": "50ms", "run.max_requests": 600}, "--trials", "2")
    assert summary["trials"]["incomplete"] == [], summary["trials"]["incomplete"]
    assert result(summary, "requests_left") == 0 and result(summary, "requests_asked") == 600
    _, summary = measure({"run.duration": "100ms"})
    assert result(summary, "requests_left") is None and result(summary, "requests_asked") is None


@case("a file that ends before the limit was played whole")
def _():
    path = home() / "work/ops.csv"
    path.write_text("op,key,tokens\n" + "write,a,64\nread,a,64\n" * 5)
    _, summary = measure({**MEMORY, "workload": {"source": "ops", "path": "ops.csv"}, "run.duration": "60s",
                          "run.max_requests": 1000}, "--trials", "2")
    assert summary["trials"]["incomplete"] == [] and result(summary, "requests_asked") == 10, summary["trials"]


@case("SIGINT ends the trial and those after it; what was complete is told")
def _():
    process = start({**MEMORY, "run.duration": "300ms"}, "--trials", "1000", "--json", "out.json")

    def second():
        try:
            return rows("SELECT count(*) AS n FROM intervals WHERE run_id = 2 AND done > 0")[0]["n"]
        except sqlite3.Error:
            return 0

    wait_until(second, what="an interval of the second trial")
    process.send_signal(signal.SIGINT)
    got = finish(process)
    assert got.rc == 130, got
    summary = json.loads((home() / "work/out.json").read_text())
    check_identities(summary)
    runs = stored()
    assert [one["status"] for one in runs[:-1]] == ["completed"] * (len(runs) - 1), runs
    # between two trials there is none to interrupt
    stopped = runs[-1]["status"] == "interrupted"
    complete = len(runs) - stopped
    assert complete >= 1 and "%d of 1000 run, %d complete" % (len(runs), complete) in got.stdout, got
    assert len(summary["trials"]["incomplete"]) == stopped and summary["trials"]["asked"] == 1000, summary["trials"]
    if stopped:
        assert "is left out: interrupted: stopped by SIGINT" in " ".join(got.stdout.split()), got
    assert run(["show"]).stdout == got.stdout


@case("trials that fail are named; the others still run; exit status 1")
def _():
    got = finish(start({**MEMORY, "run.max_requests": 5}, "--trials", "2", "--io-trace", "/dev/full"))
    assert got.rc == 1 and got.stderr.count("is incomplete: failed: ") == 2, got
    assert [one["status"] for one in stored()] == ["failed", "failed"], stored()
    assert "0 complete, 2 incomplete" in got.stdout, got


@case("a scenario that is refused is refused once, before any trial")
def _():
    write(three({"tiers.nvme.path": "absent"}))
    got = run(["run", "--headless", "small.yaml"])
    assert got.rc == 2 and got.stderr.count("absent") == 1 and not run(["history"]).stdout.startswith("  run"), got


@case("without a database the table is the same, with no runs to name")
def _():
    got, summary = measure(three(), "--db", "none")
    assert summary["trials"]["runs"] == [None] * 3 and summary["trials"]["metrics"]["requests_done"]["n"] == 3
    assert re.search(r"^ +1 +-- +\S+ m?s +\S+ tok/s", got.stdout, re.MULTILINE), got


@case("--assert with trials: 3 unless every one is complete and passes")
def _():
    quiet = three({"assess.profile": "throughput", "tiers.gpu": None, "tiers.cpu": None})
    got, summary = measure(quiet, "--assert")
    each = len(summary["criteria"])
    assert re.search(r"^Trials .*(\n .*)?%d of %d criteria\s+passed" % (3 * each, 3 * each), got.stdout, re.MULTILINE), got
    assert summary["trials"]["passed"] is True, got
    missed = {**quiet, "assess.criteria": [{"metric": "requests_done", "op": ">", "value": 60}]}
    got, summary = measure(missed, "--assert", rc=3)
    assert re.search(r"^Trials .*(\n .*)?%d of %d criteria\s+passed" % (3 * each, 3 * each + 3), got.stdout, re.MULTILINE), got
    assert summary["trials"]["passed"] is False, got
    assert len(re.findall(r" %d of %d$" % (each, each + 1), got.stdout, re.MULTILINE)) == 3, got


@case("one trial is a run like any other")
def _():
    got, summary = measure({**COUNTED, "run.trials": 1})
    assert "Trials" not in got.stdout and summary["run"]["trial"] is None and last_run()["trial"] is None, got


@case("progress says which trial it is about; --quiet says nothing of it")
def _():
    got, _ = measure(three())
    assert [len(re.findall(r"^trial %d/3  \d\d:\d\d measured" % n, got.stderr, re.MULTILINE)) > 0 for n in (1, 2, 3)] == \
        [True] * 3, got
    assert re.search(r"^trial 2/3  .*  [3-6]\d %  ETA \d\d:\d\d$", got.stderr, re.MULTILINE), got
    ends = re.findall(r"^kvfall: trial (\d) of 3: \S+ tok/s  (\d+) %  ETA (\d\d:\d\d)$", got.stderr, re.MULTILINE)
    assert [(end[0], end[1]) for end in ends] == [("1", "33"), ("2", "66"), ("3", "100")], got
    assert ends[2][2] == "00:00", got
    got, _ = measure(three(), "--quiet")
    assert got.stderr == "", got


@case("a trial that did not serve what arrived is told of its group, though the last one did")
def _():
    path = home() / "work/behind.yaml"
    path.write_text(json.dumps({
        "name": "behind", "mode": "simulate", "model": "llama3.1-8b", "run": {"duration": "40s", "warmup": "5s"},
        "tiers": {"gpu": {"capacity": "4GiB"}, "cpu": {"capacity": "8GiB"}, "nvme": {"capacity": "64GiB"}},
        "workload": {"users": 20, "arrival": {"process": "poisson", "rate": 18.5}}, "assess": {"profile": "throughput"}}))
    got = run(["run", path, "--trials", "3", "--headless", "--quiet", "--db", home() / "work/behind.db"])
    starred = json.loads(run(["sql", "SELECT trial, comparable FROM run_summary", "--json", "--db", home() / "work/behind.db"]).stdout)
    behind = [row["trial"] for row in starred if not row["comparable"]]
    assert got.rc == 0 and 0 < len(behind) < 3, (got, starred)
    told = "%d of 3 trials not comparable (trial %d: it did not serve what arrived)" % (len(behind), behind[0])
    report = run(["report", "3", "--format", "md", "-o", "-", "--db", home() / "work/behind.db"])
    for text in (got.stdout, report.stdout):
        assert told in " ".join(text.split()), (told, text)
        assert "Trial %d is not comparable: it did not" % behind[0] in " ".join(text.split()), text


main()
