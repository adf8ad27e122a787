#!/usr/bin/env python3
"""A fleet of real pods, each a rank, in view 0 of the screen while it runs and when it has ended, and in its report."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from runs import last_run, result, rows, start
from screens import begin, leave
from tap import BUILD, Skip, case, finish, home, main, run
from tmux import Terminal

import json

FLEET = {"run": {"duration": "60s", "warmup": "0s", "interval": "200ms"}, "model": "llama3.1-8b", "tensor_parallel": 8,
         "tiers.gpu": None, "tiers.cpu": {"capacity": "64MiB"}, "tiers.nvme": {"capacity": "128MiB", "path": "."},
         "cache.granularity": "block", "compute": {"mode": "fixed", "ms_per_token": 2}, "engine.slots": 4,
         "workload": {"users": 20, "personas": [{"name": "p", "context": [100, 300], "generate": [1, 9], "think": ["5ms", "20ms"]}]},
         "fleet": {"pods": 3, "routing": "precise"}}
HEADINGS = ("pod", "load", "hit ratio", "not there", "done/s", "tok/s")


def need_mpi():
    if not (BUILD / "kvfall-mpi.so").exists():
        raise Skip("this build has no plugin for MPI")


def with_outage(**times):
    return {**FLEET, "fleet": {**FLEET["fleet"], "outages": [{"pod": 1, **times}]}}


def table(screen):
    """The rows of the view by pod: what stands behind its number."""
    lines = screen.split("\n")
    at = next((n for n, line in enumerate(lines) if all(word in line for word in HEADINGS)), None)
    assert at is not None, screen
    return {int(found[1]): found[2] for line in lines[at + 1:] if (found := re.match(r" {8,}(\d+) +(.*\S)", line))}


@case("view 0 of a real fleet has a row for each pod, and says which is gone and that it is back")
def _():
    need_mpi()
    with Terminal(rows=30, cols=120) as t:
        begin(t, with_outage(at="1s", **{"for": "3s"}), "--ranks", "3")
        t.keys("0")
        t.wait_for("Load, requests queued and in service")
        assert set(table(t.wait_for("index pairs"))) == {0, 1, 2}, t.screen()
        screen = t.wait_for(re.compile(r"^ {8,}1 .* gone *$", re.MULTILINE))
        assert table(screen)[1].endswith("gone") and not any(table(screen)[pod].endswith("gone") for pod in (0, 2)), screen
        assert re.search(r"pods gone +1\b", screen), screen
        t.wait_for(re.compile(r"pods gone +0\b"))
        t.keys("8")
        t.wait_for("pod 1 is back")
        assert "pod 1 is gone" in t.screen(), t.screen()
        assert leave(t) == 0, t.screen()
    assert last_run()["status"] == "interrupted"


@case("when a real fleet's run has ended the view and the report tell its pods as the database does")
def _():
    need_mpi()
    work = home() / "work"
    with Terminal(rows=30, cols=120) as t:
        begin(t, {**with_outage(at="500ms", **{"for": "700ms"}), "run": {"duration": "3s", "warmup": "0s", "interval": "200ms"}},
              "--ranks", "3", "--json", str(work / "out.json"))
        t.keys("0")
        t.wait_for("COMPLETED")
        shown = table(t.wait_for("whole run"))
        t.keys("q")
        assert t.status() == 0, t.screen()
    summary = json.loads((work / "out.json").read_text())
    pods = {row["pod"]: row for row in rows("SELECT * FROM run_pods WHERE run_id = ?", last_run()["run_id"])}
    assert set(shown) == set(pods) == {0, 1, 2}, (shown, pods)
    for pod, row in pods.items():
        ratio = 100 * (row["cpu_hits"] + row["nvme_hits"]) / row["lookups"]
        told = re.search(r"([\d.]+) %", shown[pod])
        assert told and abs(float(told[1]) - ratio) <= 0.06, (pod, shown[pod], ratio)
    got = run(["report", "--format", "md"])
    assert got.rc == 0, got
    chapter = got.stdout.split("## Pods", 1)[1].split("\n## ", 1)[0]
    cells = [[cell.strip() for cell in line.strip("| ").split("|")] for line in chapter.splitlines() if line.startswith("|")]
    for pod, row in pods.items():
        line = next(line for line in cells if line[0] == str(pod) and len(line) == 8)
        assert int(line[2].replace(",", "")) == row["requests_done"] and int(line[4].replace(",", "")) == row["lookups"], (line, row)
    at = next(n for n, line in enumerate(cells) if line[0] == "begun")
    begun, gone, failed, rerouted = cells[at + 2][:4]
    assert cells[at][1] == "gone for" and gone == "%d ms" % (1000 * result(summary, "outages_s")), cells[at:]
    begun, failed, rerouted = (int(cell.replace(",", "")) for cell in (begun, failed, rerouted))
    assert (begun, failed, rerouted) == tuple(result(summary, name) for name in
                                              ("outages", "outage_requests_failed", "outage_requests_rerouted")), cells[at:]


AUTOSCALED = {"run": {"duration": "60s", "warmup": "0s", "interval": "200ms"}, "model": "llama3.1-8b", "tensor_parallel": 8,
              "tiers.gpu": None, "tiers.cpu": {"capacity": "1GiB"}, "tiers.nvme": None, "compute": {"mode": "fixed", "ms_per_token": 1},
              "qos": {"classes": [{"name": "a", "share": 1, "p95": "10s"}]}, "autoscaler": {"stage": "400ms", "settle": "200ms", "max_users": 40},
              "workload": {"users": 4, "conversation": {"end_probability": 0, "max_turns": 1000},
                           "personas": [{"name": "p", "context": [10, 30], "generate": [1, 9], "think": ["50ms", "200ms"]}]}}


@case("users whom the autoscaler, switched on by a key, adds on any rank begin amid conversations")
def _():
    need_mpi()
    log = home() / "work/requests.jsonl"
    with Terminal(rows=30, cols=120) as t:
        begin(t, AUTOSCALED, "--ranks", "2", "--request-log", str(log))
        t.keys("a")
        t.wait_for(re.compile(r"Autoscaler qos +users 40 "))
        assert leave(t) == 0, t.screen()
    first = {}
    for path in log.parent.glob("requests*.jsonl"):
        for line in path.read_text().splitlines():
            one = json.loads(line)
            first.setdefault(one["id"] >> 32, one["turn"])
    for rank in range(2):
        turns = [turn for user, turn in first.items() if user >= 4 and user % 2 == rank]
        assert turns and max(turns) > 10, (rank, first)



main()
