#!/usr/bin/env python3
"""kvfall suite: names, plan, a small suite from its plan to its table, what goes wrong, signals."""
import contextlib
import fcntl
import json
import os
import pty
import re
import resource
import signal
import sqlite3
import struct
import termios

from runs import TINY, check_identities, refused, rows, run_folders, trace, tree
from tap import SOURCE, case, finish, home, main, run, spawn, wait_until

WRAPPER = ["gpu-only", "cpu-only", "storage-only", "gpu-cpu", "cpu-storage", "gpu-cpu-storage", "storage-saturation",
           "production", "autoscale", "capacity-autoscale"]
MLPERF = ["mlperf-closed-1", "mlperf-closed-2", "mlperf-closed-3"]
SMOKE = ["s1-storage-saturation", "s2-three-tiers", "s3-users-at-qos", "s4-peak-capacity", "s5-submission-8b",
         "s6-submission-70b", "s7-rag", "s8-everything", "s9-sharegpt"]
TIERS = ["tiers-gpu", "tiers-gpu-cpu", "tiers-gpu-cpu-nvme", "tiers-nvme"]
COUNTED = ["--duration", "30s", "--set", "run.max_requests=20"]  # ends with the twentieth
SIZE = r"(?: +--| +\d[\d.]*[KMGT])"
PLAN_ROW = re.compile(r"^(\S+) +(?:(\S+) +)?(\d+(?:/\d+)?)" + SIZE * 3 + r" +((?:\d+ x )?\d\d:\d\d|not run)$")
TABLE_ROW = re.compile(r"^(\S+) +(\S+) +(\S+) +(\S+(?: [mun]?s)?) +(\S+(?: [mun]?s)?) +(\d+ %|--) +(\S+/\S+/\S+) +(\S.*)$")


def data_set():
    return trace("sharegpt/fastchat_dummy_conversation.json")


def planned(output):
    """Names in the plan, in order, with the users and the time of each."""
    part = output.split("\nTest ", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    found = [PLAN_ROW.match(line) for line in part]
    assert all(found), part
    return [(row.group(1), row.group(3), row.group(4)) for row in found]


def table(output):
    """The comparison: {name: cells}."""
    part = re.split(r"^test  +tok/s .*\n", output, maxsplit=1, flags=re.M)[1].split("\n\nstorage: ", 1)[0].splitlines()
    found = [TABLE_ROW.match(line) for line in part]
    assert all(found), part
    return {row.group(1): row.groups()[1:] for row in found}


def narrow(output):
    assert all(len(line) <= 80 for line in output.splitlines()), [line for line in output.splitlines() if len(line) > 80]


def figure(text):
    """The number that three digits stand for: "6.07k"."""
    return float(text.rstrip("kMG")) * {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1], 1)


@case("--list names every test by group, and each is a file")
def _():
    got = run(["suite", "--list"])
    assert (got.rc, got.stderr) == (0, ""), got
    names = re.findall(r"^  (\S+)  +\S", got.stdout, re.MULTILINE)
    assert names == WRAPPER + MLPERF + SMOKE + TIERS, names
    assert re.findall(r"^(\w+): ", got.stdout, re.MULTILINE) == ["suite", "mlperf", "smoke", "tiers"], got
    files = {path.stem for folder in ("suite", "mlperf", "smoke", "tiers")
             for path in (SOURCE / "configs" / folder).glob("*.yaml")}
    assert set(names) <= files, set(names) - files
    narrow(got.stdout)


@case("--plan says what would be done on what, in 80 columns, and makes nothing")
def _():
    before = tree(home())
    got = run(["suite", "--plan"])
    assert (got.rc, got.stderr) == (0, ""), got
    assert tree(home()) == before
    narrow(got.stdout)
    labels = re.findall(r"^(Machine|GPU|Drive|Plan)  ", got.stdout, re.MULTILINE)
    assert labels == ["Machine", "GPU", "Drive", "Plan"], got
    assert "the gpu tier is emulated" in " ".join(got.stdout.split()), got
    rows_of = planned(got.stdout)
    assert [row[0] for row in rows_of] == WRAPPER + MLPERF, rows_of
    assert {row[2] for row in rows_of} == {"02:05", "03:05", "05:05", "05:00"}, rows_of
    assert re.search(r"^Plan +13 tests, 13 runs: 43:50 of measuring at most, about 4\d:\d\d in all$", got.stdout,
                     re.MULTILINE), got
    drive = re.search(r"^Drive((?:.*\n )*.*)$", got.stdout, re.MULTILINE).group(1)
    assert re.search(r"free; .* Files go under \S+ and are removed\.", " ".join(drive.split())), got


@case("tests are chosen by name, by group, and by what comes before the first dash")
def _():
    for names, expected in ((["storage-only", "gpu-only", "storage-only"], ["gpu-only", "storage-only"]),
                            (["s2", "s7"], ["s2-three-tiers", "s7-rag"]), (["production"], ["production"]),
                            (["mlperf", "cpu-only"], ["cpu-only"] + MLPERF), (["suite"], WRAPPER),
                            (["smoke", "s1"], SMOKE), (["tiers"], TIERS)):
        got = run(["suite", "--plan", *names, "--dataset", data_set()])
        assert got.rc == 0 and [row[0] for row in planned(got.stdout)] == expected, got
    for names, time in ((["mlperf"], "3 x 05:00"), (["tiers"], "3 x 10:00")):  # three trials, asked for by name
        got = run(["suite", "--plan", *names, "--dataset", data_set()])
        assert {row[2] for row in planned(got.stdout)} == {time}, got


@case("what cannot be is a usage error that names the remedy")
def _():
    refused(["suite", "storge-only"], 'there is no test "storge-only"; did you mean "storage-only"?')
    refused(["suite", "gpu"], '"gpu" may be gpu-only, gpu-cpu, gpu-cpu-storage; name one')
    refused(["suite", "s"], 'there is no test "s"; `kvfall suite --list` names all')
    refused(["suite", "smoek"], 'did you mean "smoke"?')
    refused(["suite", "--duration", "gpu-onyl=3s"], 'there is no test "gpu-onyl"')
    refused(["suite", "--duration", "soon"], '--duration is a time such as 30s, or TEST=TIME, not "soon"')
    refused(["suite", "--users", "0"], '--users is a whole number from 1 to 1000000, not "0"')
    refused(["suite", "--path", "nowhere"], "--path nowhere cannot be used: No such file or directory")
    refused(["suite", "--path", "/dev/null"], "--path /dev/null is not a directory that can be written to")
    for path in ("/proc", "/usr/lib", "/"):
        refused(["suite", "--path", path], "--path: %s is a system directory; name one of your own" % path)
    refused(["suite", "--list", "--plan"], "--list and --plan exclude each other; choose one")
    refused(["suite", "--model", "llama"], "llama")
    refused(["suite", "--set", "workload.userz=3"], "workload.userz")
    refused(["suite", "--json", "no/such/folder/s.json", "--plan"], "no/such/folder")
    refused(["suite", "tiers"], "no test can be run; tiers-gpu: it needs the ShareGPT data set: "
                                "give its file with --dataset FILE")
    refused(["suite", "tiers", "--dataset", "none.json"],
            "the ShareGPT data set none.json cannot be read: No such file or directory")


@case("what the command line asks of no test is told, and not shown among the settings")
def _():
    got = run(["suite", "--plan", "mlperf", "--model", "tiny-1b", "--set", "workload.arrival.cv=2", "--rag", "--trials", "2"])
    assert got.rc == 0 and got.stderr.splitlines() == [
        "kvfall: warning: %s has no effect on these tests" % one
        for one in ("--model", "--set workload.arrival.cv", "--rag")], got
    assert re.search(r"^Settings    run.trials=2$", got.stdout, re.MULTILINE), got
    got = run(["suite", "--plan", "mlperf", "storage-only", "--model", "tiny-1b"])  # which one of them takes
    assert got.stderr == "" and re.search(r"^Settings    model='tiny-1b'$", got.stdout, re.MULTILINE), got


@case("--include lies under the tests: peaks reach their results")
def _():
    work = home() / "work"
    (work / "peaks.yaml").write_text("tiers: {cpu: {peak_read: 20GB/s, peak_write: 10GB/s}}\n")
    (work / "nothing.yaml").write_text("model: tiny-1b\n")  # which every test names itself
    got = run(["suite", "cpu-only", "--include", "peaks.yaml", "--db", "h.db"] + TINY + COUNTED)
    assert got.rc == 0 and "\nSettings    --include peaks.yaml" in got.stdout, got
    with contextlib.closing(sqlite3.connect(work / "h.db")) as db:
        share = dict(db.execute("SELECT metric, value FROM results WHERE metric LIKE 'cpu%peak_share'"))
    assert share["cpu_read_peak_share"] > 0 and share["cpu_write_peak_share"] > 0, share
    got = run(["suite", "cpu-only", "--plan", "--include", "nothing.yaml"])
    assert got.stderr == "kvfall: warning: --include nothing.yaml has no effect on these tests\n", got
    refused(["suite", "cpu-only", "--plan", "--include", "none.yaml"],
            "suite/cpu-only: none.yaml:1:1: cannot be read: No such file or directory")


@case("--plan --json is the plan as JSON, with what is scaled")
def _():
    got = run(["suite", "--plan", "--quick", "storage-only", "s2", "--json", "-", "--db", "none"])
    assert (got.rc, got.stderr) == (0, ""), got
    whole = json.loads(got.stdout)
    assert [test["name"] for test in whole["tests"]] == ["storage-only", "s2-three-tiers"], whole
    assert all(test["runs"] == [] for test in whole["tests"]) and whole["meaning"] == [], whole
    assert any(re.match(r"workload.users 100 -> \d+$", line) for line in whole["tests"][1]["scaled"]), whole["tests"]
    got = run(["suite", "--plan", "gpu-only", "--json", "plan.json"])
    assert got.rc == 0 and planned(got.stdout)[0][0] == "gpu-only", got
    assert len(json.loads((home() / "work/plan.json").read_text())["tests"]) == 1


@case("durations, users, model and retrieval are for the tests that they concern")
def _():
    got = run(["suite", "--plan", "gpu-only", "cpu-only", "storage-saturation", "mlperf-closed-3", "--path", ".",
               "--duration", "7s", "--duration", "cpu-only=9s", "--users", "11", "--high-users", "222",
               "--model", "qwen3-0.6b", "--rag", "--set", "run.warmup=0s"])
    assert got.rc == 0, got
    assert [row[2] for row in planned(got.stdout)] == ["00:07", "00:09", "00:07", "3 x 00:07"], got
    assert [row[1].split("/")[0] for row in planned(got.stdout)] == ["11", "11", "222", "11"], got
    assert got.stdout.count(" qwen3-0.6b ") == 3 and " llama3.1-70b-instruct " in got.stdout, got
    got = run(["suite", "--plan", "gpu-only", "cpu-only", "--set", "tiers.cpu.capacity=1GiB"])
    assert re.search(r"^gpu-only .* --    -- ", got.stdout, re.MULTILINE), got  # which has none
    assert re.search(r"^cpu-only .* -- +1G    -- ", got.stdout, re.MULTILINE), got


@case("--quick plans less than five minutes for any group")
def _():
    for group in ("suite", "mlperf", "smoke", "tiers"):
        got = run(["suite", "--plan", "--quick", group, "--dataset", data_set()])
        whole = re.search(r"about 0(\d):(\d\d) in all", got.stdout)
        assert got.rc == 0 and int(whole.group(1)) < 5, got
    got = run(["suite", "--plan", "--quick"])
    assert int(re.search(r"about 0(\d):\d\d in all", got.stdout).group(1)) < 5, got
    got = run(["suite", "--plan", "--quick", "mlperf", "--set", "mode=simulate"])
    assert got.rc == 0 and re.search(r"^mlperf-closed-1 .* 1T ", got.stdout, re.MULTILINE), "a drive of any size"


@case("from the plan to the table: every test is a run, and the first is the parent of the others")
def _():
    got = run(["suite", "storage-only", "gpu-cpu-storage", "cpu-storage", "storage-saturation", *TINY, *COUNTED])
    assert got.rc == 0, got
    narrow(got.stdout)
    names = ["storage-only", "cpu-storage", "gpu-cpu-storage", "storage-saturation"]
    assert [row[0] for row in planned(got.stdout)] == names, got
    stored = rows("SELECT run_id, parent_id, name, status, trial FROM runs ORDER BY run_id")
    assert [(row["name"], row["status"], row["trial"]) for row in stored] == [(n, "completed", None) for n in names], stored
    assert [row["parent_id"] for row in stored] == [None] + [stored[0]["run_id"]] * 3, stored
    cells = table(got.stdout)
    assert list(cells) == names, cells
    for row in stored:
        value = {one["metric"]: one["value"] for one in
                 rows("SELECT metric, value FROM results WHERE run_id = %d" % row["run_id"])}
        assert value["requests_done"] == 20, value
        tok_s, storage, _, _, hits, where, verdict = cells[row["name"]]
        assert abs(figure(storage) / value["storage_throughput_tok_s"] - 1) < 0.006, cells
        assert hits == "%.0f %%" % (100 * value["hit_ratio"]), (cells, value["hit_ratio"])
        shares = [value["%s_hits" % tier] for tier in ("gpu", "cpu", "nvme")]
        assert where == "/".join("--" if one is None else "%.0f" % (100 * one / value["hits"]) for one in shares), cells
        passed = [one["passed"] for one in rows("SELECT passed FROM criteria WHERE run_id = %d" % row["run_id"])]
        judged = [one for one in passed if one is not None]
        assert verdict == "%s %d/%d" % ("met" if all(judged) else "miss", sum(judged), len(judged)), (cells, passed)
    words = " ".join(got.stdout.split())
    assert re.search(r"nvme alone carries \d+ % of what gpu, cpu and nvme carry together", words), got
    assert re.search(r"memory A cpu tier of 3.00 MiB above nvme carries [\d.]+ times what nvme alone does", words), got
    assert re.search(r"load 12 instead of 6 users bring [\d.]+ times the throughput", words), got
    assert "The gpu tier was emulated" in words and "They are 4 runs of the database, 1 to 4:" in words, got
    lines = got.stderr.splitlines()
    assert [line.split()[:2] for line in lines] == [["[%d/4]" % n, name] for n, name in enumerate(names, 1)], got
    assert run_folders() == []


@case("a suite is a sweep whose points are the runs of its tests, with those that cannot be run")
def _():
    got = run(["suite", "cpu-only", "storage-only", "tiers-nvme", *TINY, *COUNTED, "--trials", "2"])
    assert got.rc == 1 and "`kvfall export sweep:1` for a table of their results" in " ".join(got.stdout.split()), got
    sweep, = json.loads(run(["history", "--sweeps", "--json"]).stdout)
    assert (sweep["name"], sweep["profile"], sweep["status"]) == ("suite", "files", "failed"), sweep
    assert (sweep["points"], sweep["done"], sweep["failed"]) == (5, 4, 1), sweep
    whole = json.loads(run(["export", "sweep:suite", "--format", "json"]).stdout)
    names = ["cpu-only 1/2", "cpu-only 2/2", "storage-only 1/2", "storage-only 2/2", "tiers-nvme"]
    assert [point["values"] for point in whole["points"]] == [{"test": name} for name in names], whole["points"]
    assert [point["run_id"] for point in whole["points"]] == [1, 2, 3, 4, None], whole["points"]
    assert [point["state"] for point in whole["points"]] == ["done"] * 4 + ["failed"], whole["points"]
    for point in whole["points"][:4]:
        stored = rows("SELECT value FROM results WHERE metric = 'throughput_tok_s' AND run_id = %d" % point["run_id"])
        assert point["results"]["throughput_tok_s"]["value"] == stored[0]["value"] > 0, point
    page = run(["report", "sweep:1", "--format", "txt"])
    assert page.rc == 0 and "4 of 5 points done, 1 failed" in " ".join(page.stdout.split()), page
    assert "Repeat it" not in page.stdout and "Scenario" not in page.stdout, page.stdout
    of_tests = " ".join(run(["report", "suite:1", "--format", "txt"]).stdout.split())
    assert " FAILED 4 of 5 points done" in " ".join(page.stdout.split()), page
    assert " FAILED 2 of 3 tests done, 1 failed" in of_tests, of_tests
    got = run(["suite", "mlperf", "--path", ".", "--trials", "1000", "--quick"])
    assert got.rc == 2 and got.stderr.endswith("these are more runs than a suite has room for; ask for fewer trials\n"), got


@case("a test in which no request was done is said to be so, and is compared with nothing")
def _():
    slow = ["--set", "workload.personas=[{name: slow, context: [32, 32], generate: [1, 1], think: [1h, 1h]}]"]
    got = run(["suite", "storage-only", "cpu-storage", "gpu-cpu-storage", "storage-saturation", *TINY, *slow,
               "--duration", "100ms", "--db", "none"])
    assert got.rc == 1 and not re.search(r"\b(inf|nan)\b", got.stdout), got
    words = " ".join(got.stdout.split())
    assert "storage-only: no request was done: 0 arrived" in words, got
    assert "storage-saturation: no request was done: 0 arrived" in words, got
    assert "memory A cpu tier" not in words and "carries 0 %" not in words, got


@case("--json - is JSON alone: the machine, each test with its runs, the sentences")
def _():
    got = run(["suite", "gpu-only", "storage-only", *TINY, *COUNTED, "--trials", "2", "--quiet", "--json", "-",
               "--db", "none"])
    assert (got.rc, got.stderr) == (0, "kvfall: warning: --set tiers.cpu.capacity has no effect on these tests\n"), got
    whole = json.loads(got.stdout)
    assert (whole["schema"], whole["version"]) == ("kvfall-suite", 1), whole
    assert set(whole) == {"schema", "version", "suite", "tests", "meaning"}, set(whole)
    assert whole["suite"]["path"] == "." and whole["suite"]["stopped"] is False, whole["suite"]
    assert [test["name"] for test in whole["tests"]] == ["gpu-only", "storage-only"], whole["tests"]
    for test in whole["tests"]:
        assert test["trials"] == 2 and [one["run"]["trial"] for one in test["runs"]] == [1, 2], test
        assert "trials" not in test["runs"][0] and test["runs"][1]["trials"]["asked"] == 2, test
        for one in test["runs"]:
            check_identities({**one, "trials": {}})
            assert one["run"]["name"] == test["name"] and one["results"]["requests_done"]["value"] == 20, one["run"]
    assert whole["tests"][0]["nvme_bytes"] == 0 and whole["tests"][1]["nvme_bytes"] == 8 << 20, whole["tests"]
    assert "gpu" in [line["topic"] for line in whole["meaning"]], whole["meaning"]


@case("tiers: scaled or not, every hierarchy has as many users, so that all are asked the same")
def _():
    got = run(["suite", "tiers", "--quick", "--plan", "--path", ".", "--dataset", data_set()])
    assert got.rc == 0, got
    users = {users for _, users, _ in planned(got.stdout)}
    assert len(users) == 1 and users != {"50"}, got  # of 4 GiB of memory there is a part for some of them


@case("tiers: ranked by the mean over three trials, with what each moved")
def _():
    got = run(["suite", "tiers", *TINY[:-1], "workload.decode.batch_tokens=32", "--dataset", data_set(),
               "--duration", "30s", "--set", "run.max_requests=30", "--json", "t.json"])
    assert got.rc == 0, got
    narrow(got.stdout)
    ranks = re.findall(r"^ +(\d) +(\S+) +(\S+) +(\S+) +(\S+) % +(\S+)x +(\S+) % +3 of 3$", got.stdout, re.MULTILINE)
    assert [rank[0] for rank in ranks] == ["1", "2", "3", "4"] and {rank[1] for rank in ranks} == set(TIERS), got
    tests = json.loads((home() / "work/t.json").read_text())["tests"]
    mean = {}
    for test in tests:
        values = [one["results"]["storage_throughput_tok_s"]["value"] for one in test["runs"]]
        assert len(values) == 3, test
        mean[test["name"]] = sum(values) / 3
    assert [rank[1] for rank in ranks] == sorted(mean, key=mean.get, reverse=True), (ranks, mean)
    for _, name, _, _, _, times, _ in ranks:
        assert abs(float(times) - mean[name] / mean["tiers-nvme"]) < 0.006 * max(1, float(times)), (ranks, mean)
    for first in (1, 4, 10):  # whose trials are their own, though one run is the parent of all
        shown = run(["show", first + 1]).stdout
        assert re.search(r"^Trials +3 of 3 run,", shown, re.MULTILINE), shown
        each = shown[shown.index("\nEach trial\n"):].split("\n\n")[0]
        assert re.findall(r"^ +\d +(\d+) ", each, re.MULTILINE) == [str(first + i) for i in range(3)], shown
    moved = re.findall(r"^(tiers-\S+) +(\S+ \S*B) +(\S+ \S*B) +[\d.]+ ", got.stdout, re.MULTILINE)
    assert [name for name, _, _ in moved] == [rank[1] for rank in ranks], got
    assert re.search(r"multiple of nvme alone \(published for an H100 NVL\): tiers-gpu [\d.]+ \(6\.4\)",
                     " ".join(got.stdout.split())), got


def told(got, topic):
    """A sentence under a topic, in one line."""
    part = re.search(r"^%s  +(.*(?:\n +.*)*)" % topic, got.stdout, re.MULTILINE)
    return " ".join(part.group(1).split()) if part else ""


@case("a gain of lookups that miss is no room of the drive, and no better hierarchy")
def _():
    load = ["suite", "storage-only", "storage-saturation", "--path", ".", "--set", "mode=simulate", "--set", "tiers.nvme.capacity=38GiB"]
    for users, high, misses, words in ((42, 193, True, "of requests with less work"), (1, 8, False, "times the bytes a second, and the rest"),
                                       (30, 42, False, "the drive was already saturated")):
        got = run([*load, "--users", str(users), "--high-users", str(high)])
        said = told(got, "load")
        assert got.rc == 0 and said.count(words) == 1 and said.count("the drive ") == 1, got
        assert ("storage-saturation hits less than storage-only: reuse hit ratio" in said) == misses, said
        assert ("At granularity request a miss makes no work" in said) == misses, said
    got = run([*load, "--users", "10", "--high-users", "25", "--set",
               "workload.personas=[{name: even, context: [1000, 1000], generate: [50, 50], think: [20s, 20s], spread: 0.1}]"])
    assert told(got, "load").endswith("the drive had room for more."), got
    talks = [{"id": str(n), "conversations": [{"from": who, "value": "word " * 300} for who in ("human", "gpt") * 8]} for n in range(200)]
    (home() / "work/talks.json").write_text(json.dumps(talks))
    got = run(["suite", "tiers", "--path", ".", "--set", "mode=simulate", "--dataset", "talks.json", "--duration", "60s", "--trials", "1",
               "--set", "tiers.gpu.capacity=4GiB", "--set", "tiers.cpu.capacity=4GiB"])
    said = told(got, "tiers")
    assert re.search(r"tiers-gpu ranks before tiers-(?:gpu-cpu-)?nvme and hits less: reuse hit ratio \d+\.\d % against 9\d\.\d %\.", said), got
    assert said.count("At granularity request a miss makes no work") == 1 and "tiers-nvme ranks" not in said, got
    assert "tiers-gpu ranks before" in run(["report", "suite:%d" % rows("SELECT min(run_id) AS n FROM runs WHERE name = 'tiers-gpu'")[0]["n"], "-o", "-"]).stdout


@case("mlperf: what is reported are the means over three trials, and the largest P95 of reads")
def _():
    got = run(["suite", "mlperf-closed-1", *TINY[:-1], "workload.personas=[{name: brief, context: [2, 8]}]", *COUNTED,
               "--set", "tiers.nvme.capacity=256MiB", "--set", "workload.prefix.probability=0", "--trials", "3",
               "--json", "m.json"])
    assert got.rc == 0, got
    values = [{name: one["value"] for name, one in each["results"].items()}
              for each in json.loads((home() / "work/m.json").read_text())["tests"][0]["runs"]]
    mean = [sum(value[name] for value in values) / 3
            for name in ("storage_throughput_tok_s", "nvme_read_gib_s", "nvme_write_gib_s")]
    said = re.search(r"Option 1: storage throughput (\S+) tok/s, nvme (\S+) GiB/s, largest read P95 (\S+) (\S+)\. ",
                     " ".join(got.stdout.split()))
    assert said, got
    assert abs(figure(said.group(1)) / mean[0] - 1) < 0.006, (said.groups(), mean)
    assert abs(float(said.group(2)) - mean[1] - mean[2]) < 0.006, (said.groups(), mean)
    p95_ms = float(said.group(3)) * {"us": 1e-3, "ms": 1, "s": 1e3}[said.group(4)]
    largest = max(value["nvme_read_p95_ms"] for value in values)
    assert abs(p95_ms - largest) <= 0.006 * largest, (said.groups(), values)


@case("a test that fails or cannot be run does not stop the others, and the exit status is 1")
def _():
    got = run(["suite", "tiers-nvme", "gpu-only", *TINY, *COUNTED, "--db", "none"])
    assert got.rc == 1 and planned(got.stdout)[1][2] == "not run", got
    cells = table(got.stdout)
    assert cells["tiers-nvme"][-1] == "not run" and cells["gpu-only"][-1] != "not run", cells
    assert "not run tiers-nvme: it needs the ShareGPT data set" in " ".join(got.stdout.split()), got

    def no_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    got = finish(spawn(["suite", "storage-only", "gpu-only", "cpu-only", *TINY, *COUNTED, "--db", "none"],
                       preexec_fn=no_files))
    cells = table(got.stdout)
    assert got.rc == 1 and cells["storage-only"][-1] == "failed", got
    assert all(cells[name][-1] not in ("failed", "not run") for name in ("gpu-only", "cpu-only")), cells
    assert re.search(r"failed storage-only: .*File too large", " ".join(got.stdout.split())), got
    assert run_folders() == []


@case("a signal ends the test under way; the table so far is printed, results are kept")
def _():
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        process = spawn(["suite", "gpu-only", "storage-only", "gpu-cpu", *TINY, "--duration", "60s",
                         "--duration", "gpu-only=300ms", "--set", "run.interval=100ms", "--db", "%d.db" % status])
        wait_until(lambda: list((home() / "work").glob("kvfall-*/*/*.kv")), what="the second test")
        process.send_signal(number)
        got = finish(process)
        assert got.rc == status, got
        cells = table(got.stdout)
        assert cells["gpu-only"][-1] not in ("stopped", "not run"), cells
        assert (cells["storage-only"][-1], cells["gpu-cpu"][-1]) == ("stopped", "not run"), cells
        assert "Tests that had not begun are missing above." in " ".join(got.stdout.split()), got
        stored = rows("SELECT name, status FROM runs ORDER BY run_id", path=home() / "work" / ("%d.db" % status))
        assert [tuple(row.values()) for row in stored] == [("gpu-only", "completed"), ("storage-only", "interrupted")]
        assert run_folders() == []


@case("progress on a terminal is one line a test, rewritten, that never wraps")
def _():
    terminal, program = pty.openpty()
    try:
        fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        process = spawn(["suite", "gpu-only", "cpu-only", *TINY, "--duration", "400ms", "--set", "run.interval=100ms",
                         "--db", "none"], stderr=program, env={"TERM": "xterm"})
        os.close(program)
        text = b""
        with contextlib.suppress(OSError):  # how a terminal ends
            while part := os.read(terminal, 65536):
                text += part
    finally:
        os.close(terminal)
    got = finish(process)
    assert got.rc == 0, got
    text = re.sub("kvfall: warning: .* has no effect on these tests\r?\n", "", text.decode().replace("\x1b[K", ""))
    assert text.count("\n") == 2, text
    shown = [line for line in re.split(r"[\r\n]+", text) if line]
    assert all(len(line) < 60 for line in shown), shown
    for number, name in ((1, "gpu-only"), (2, "cpu-only")):
        live = [line for line in shown if re.match(r"\[%d/2\] %s +00:0\d  \d+ %%  left \d\d:\d\d  \S" % (number, name), line)]
        assert len(live) >= 3, shown


@case("a test that ends before most of its requests is compared with none, and a simulated plan promises no wall time")
def _():
    got = run(["suite", "storage-only", "storage-saturation", "--path", ".", "--users", "2", "--high-users", "90", "--set",
               "mode=simulate", "--duration", "8s", "--set", "run.warmup=0s", "--set", "tiers.nvme.capacity=64GiB", "--set",
               "workload.personas=[{name: large, context: [200, 8000], generate: [20, 100], think: [0s, 0s], spread: 0.1}]"])
    text = " ".join(got.stdout.split())
    assert got.rc == 0 and re.search(r"Plan 2 tests, 2 runs: \d\d:\d\d of simulated time at most model ", text), got
    busy = rows("SELECT r.metric, r.value FROM results AS r JOIN runs USING (run_id) WHERE name = 'storage-saturation'")
    value = {row["metric"]: row["value"] for row in busy}
    assert 0 < value["requests_done"] < value["requests_in_service_at_end"], value
    assert "too short storage-saturation: %d request" % value["requests_done"] in text, text
    assert "times the throughput" not in text and "--duration storage-saturation=5m" in text, text
    warned = rows("SELECT message FROM verdict_warnings")
    assert [one for one in warned if "those of the first few" in one["message"]], warned


@case("a test is too short where most of its time in service is unfinished, as a run is everywhere")
def _():
    got = run(["suite", "storage-only", "gpu-cpu", "cpu-storage", "--quick", "--path", ".", "--set", "mode=simulate"])
    text, seen = " ".join(got.stdout.split()), set()
    assert got.rc == 0, got
    for name in (row["name"] for row in rows("SELECT name FROM runs")):
        value = {row["metric"]: row["value"] for row in
                 rows("SELECT r.metric, r.value FROM results AS r JOIN runs USING (run_id) WHERE name = ?", name)}
        spent = value["requests_done"] * (value["e2e_mean_ms"] - value["queue_wait_mean_ms"]) / 1e3
        unfinished = 1 - spent / (value["in_service_mean"] * value["measured_s"])
        told = re.search(r"%s: [\d,]+ requests? (?:was|were) done, but unfinished requests took ([\d.]+) %% of the time" % name, text)
        assert (told is not None) == (unfinished > 0.5), (name, unfinished, text)
        assert not told or abs(float(told[1]) / 100 - unfinished) < 6e-4, (told, unfinished)
        seen.add(unfinished > 0.1)
    assert seen == {True, False} and " times what nvme alone does" in text and "too short" not in text, (seen, text)


main()
