#!/usr/bin/env python3
"""Runs from a scenario to its summary, its JSON, its rows in the database and its logs."""
import contextlib
import csv
import fcntl
import io
import json
import operator
import os
import pty
import re
import stat
import struct
import subprocess
import termios

from runs import (TIERS, TOKEN_BYTES, check_identities, healthy, last_run, measure, result, rows, run_folders, start, trace,
                  tree, write)
from tap import Skip, case, database, finish, home, main, need_tool, run, scratch, wait_until

# No request is cut off, so that every one of them can be accounted for.
COUNTED = {"run.duration": "60s", "run.max_requests": 60}
# What "small" takes on a machine of any size.
TINY = ["--set", "model={preset: tiny-1b, layers: 1}", "--duration", "400ms", "--set", "run.warmup=0s",
        "--set", "engine.noise=1MiB", "--set", "engine.workers=2"]
TIERS_TINY = {"gpu": "16MiB", "cpu": "16MiB", "nvme": "64MiB"}


def request_log(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def events(summary):
    return " ".join(event["message"] for event in summary["events"])


# Every way to keep entries. -----------------------------------------------------------------------


def runs_well(placement, granularity, phase):
    changes = {"cache.placement": placement, "cache.granularity": granularity, "workload.phase": phase,
               "cache.promotion": {"waterfall": "on_hit", "spillover": "never", "inclusive": None}[placement],
               "tiers.nvme.layout": "arena" if granularity == "block" else "files"}
    _, summary = measure(changes, "--db", "none")
    value = {name: one["value"] for name, one in summary["results"].items()}
    assert summary["run"]["status"] == "completed" and summary["run"]["run_id"] is None, summary["run"]
    assert value["requests_done"] > 0 and value["requests_failed"] == 0, value
    assert value["operation_errors"] == 0 and value["refused"] == 0, value
    written = sum(value["%s_write_%s_ops" % (tier, cause)] for tier in TIERS for cause in ("prefill", "prefix")
                  if "%s_write_%s_ops" % (tier, cause) in value)
    assert (written == 0) == (phase == "decode"), value
    if granularity == "request":
        decoded = sum(value.get("%s_read_decode_ops" % tier, 0) for tier in TIERS)
        assert (decoded > 0) == (phase != "prefill"), value
    if placement == "spillover":
        assert value["demotions"] == 0, value
    elif phase != "decode":
        # a move reads before it writes; at the cut both are counted one after the other, while workers go on
        read, fell = value["gpu_read_demotion_bytes"], value["cpu_write_demotion_bytes"]
        assert value["demotions"] > 0 and fell > 0 and read >= 0.95 * fell, value
    assert run_folders() == [], run_folders()


for _placement in ("waterfall", "spillover", "inclusive"):
    for _granularity, _phases in (("request", ("both", "prefill", "decode")), ("block", ("both", "prefill"))):
        for _phase in _phases:
            case("%s, %s entries, phase %s" % (_placement, _granularity, _phase))(
                lambda placement=_placement, granularity=_granularity, phase=_phase:
                runs_well(placement, granularity, phase))


@case("a tier that is off has no numbers, and one alone takes everything")
def _():
    for alone in TIERS:
        off = {"tiers.%s" % tier: None for tier in TIERS if tier != alone}
        _, summary = measure({**off, "run.duration": "60s", "run.max_requests": 20}, "--db", "none")
        assert [tier for tier in TIERS if summary["tiers"][tier]["on"]] == [alone], summary["tiers"]
        assert result(summary, "requests_done") == 20, summary["results"]
        assert result(summary, alone + "_write_bytes") > 0, summary["results"]
        for tier in set(TIERS) - {alone}:
            assert result(summary, tier + "_read_ops") is None, summary["results"]
            assert result(summary, tier + "_used_bytes") is None, summary["results"]


@case("an emulated tier is labelled wherever its numbers appear")
def _():
    got, summary = measure(COUNTED)
    assert summary["tiers"]["gpu"]["emulated"] is True and summary["tiers"]["cpu"]["emulated"] is False, summary["tiers"]
    assert "emulated" in summary["tiers"]["gpu"]["description"], summary["tiers"]
    labels = [line.split()[:2] for line in got.stdout.splitlines() if line.startswith("  gpu")]
    assert labels and all(label == ["gpu", "emul"] for label in labels), got
    assert "gpu (emulated) " in got.stderr and "cpu (emulated)" not in got.stderr, got
    assert rows("SELECT tier, emulated FROM run_tiers WHERE emulated") == [{"tier": "gpu", "emulated": 1}]


@case("instant tiers take no time of their own, and are labelled")
def _():
    got, summary = measure({**COUNTED, "tiers.gpu.backend": "instant", "tiers.cpu.backend": "instant"}, "--db", "none")
    check_identities(summary)
    for tier in ("gpu", "cpu"):
        told = summary["tiers"][tier]
        assert told["emulated"] is True and told["description"].startswith("instant: "), told
        assert result(summary, tier + "_write_ops") > 0, summary["results"]
        assert result(summary, tier + "_write_device_mean_ms") == 0 < result(summary, tier + "_write_mean_ms"), summary["results"]
    assert re.search(r"^  cpu emul", got.stdout, re.MULTILINE), got
    assert summary["tiers"]["nvme"]["emulated"] is False and result(summary, "nvme_write_device_mean_ms") > 0, summary["results"]


@case("verify: full checks every block of the real tiers and finds none wrong")
def _():
    got, summary = measure({**COUNTED, "cache.verify": "full"}, "--db", "none")
    assert result(summary, "verify_mismatched") == 0, summary["results"]
    real = result(summary, "cpu_read_bytes") + result(summary, "nvme_read_bytes")
    assert result(summary, "verify_checked") >= real // 4096, summary["results"]
    assert result(summary, "verify_unverified") > 0, summary["results"]
    assert re.search(r" 0 of \S+ blocks wrong \S+ emulated reads unverified", " ".join(got.stdout.split())), got
    _, summary = measure({**COUNTED, "cache.verify": "none"}, "--db", "none")
    assert result(summary, "verify_checked") == 0, summary["results"]


@case("several nvme paths: entries on each, a directory of its own in each, all removed")
def _():
    names = ["one", "two", "three"]
    for name in names:
        (home() / "work" / name).mkdir()
    process = start({"tiers.gpu": None, "tiers.cpu": None, "tiers.nvme.path": names, "run.duration": "60s"},
                    "--db", "none")

    def spread():
        return all(list((home() / "work" / name).glob("kvfall-*/*/*.kv")) for name in names)

    wait_until(spread, what="an entry under each path")
    process.terminate()
    got = finish(process)
    assert got.rc == 143, got
    for name in names:
        assert list((home() / "work" / name).iterdir()) == [], name


@case("layouts, sync: data, direct: false, small chunks and huge pages are carried out")
def _():
    for changes, words in (({"tiers.nvme.layout": "arena"}, "layout arena, sync none"),
                           ({"tiers.nvme.sync": "data"}, "layout files, sync data"),
                           ({"tiers.nvme.direct": False}, "buffered"),
                           ({"tiers.nvme.io_size": "64KiB", "tiers.nvme.io_depth": 4}, "layout files"),
                           ({"tiers.cpu.huge_pages": True, "cache.eviction": "fifo"}, "layout files")):
        _, summary = measure({**COUNTED, "tiers.gpu": None, "cache.verify": "header", **changes}, "--db", "none")
        assert words in summary["tiers"]["nvme"]["description"], (words, summary["tiers"])
        assert result(summary, "requests_done") == 60, summary["results"]
        assert result(summary, "nvme_write_bytes") > 0 and result(summary, "verify_mismatched") == 0, summary["results"]


@case("the kernel's counters stand beside ours and are no smaller under direct I/O")
def _():
    folder = scratch(on_disk=True)
    got, summary = measure({"tiers.gpu": None, "tiers.cpu": None, "tiers.nvme.path": str(folder),
                            "run.duration": "1s"}, "--db", "none")
    if result(summary, "device_read_bytes") is None:
        raise Skip("%s is on no block device" % folder)
    if ", direct I/O" not in summary["tiers"]["nvme"]["description"]:
        raise Skip("no direct I/O under %s" % folder)
    for way in ("read", "write"):
        ours, theirs = result(summary, "nvme_%s_bytes" % way), result(summary, "device_%s_bytes" % way)
        # What is in flight at the two cuts is on one side only.
        assert ours > 0 and theirs >= 0.9 * ours, (way, ours, theirs)
    assert re.search(r"^Kernel +read .*ours .*write .*ours", got.stdout, re.MULTILINE | re.DOTALL), got
    assert list(folder.iterdir()) == []


# Assessment. ---------------------------------------------------------------------------------------


def verdicts(got):
    """{criterion: verdict} of the text summary."""
    block = re.search(r"^Assessment .*\n((?:  .*\n)+)", got.stdout, re.MULTILINE)
    assert block, got
    return {line[2:32].strip(): line.split("  ")[-1] for line in block.group(1).splitlines()}


def own(*criteria):
    return {"assess.criteria": [{"metric": metric, "op": op, "value": value} for metric, op, value in criteria]}


COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
            "!=": operator.ne}
UNDONE = {"failed requests": "requests_failed", "writes refused": "refused", "writes fell through": "fell_through",
          "lookups given up": "lookups_given_up", "requests left": "requests_left",
          "arrivals dropped": "requests_dropped", "classes unserved": "classes_unserved"}
STORAGE = {**COUNTED, "tiers.gpu": None, "tiers.cpu": None}  # every lookup that hits reads from nvme


@case("the profile's criteria and one's own, judged alike in text, JSON and database")
def _():
    got, summary = measure({**COUNTED, "tiers.gpu": None,
                            **own(("requests_done", "==", 60), ("requests_done", "<", 60),
                                  ("slo_batch_met_ratio", ">=", 0), ("batch_steps", "!=", 1))})
    told = [(one["metric"], one["op"], one["target"], one["actual"], one["passed"]) for one in summary["criteria"]]
    assert [one[:3] for one in told[:4]] == [
        ("nvme_write_device_p95_ms", "<", 500), ("nvme_read_device_p95_ms", "<", 200), ("cpu_p95_ms", "<", 150),
        ("hit_ratio", ">", 0.3)], told
    own_from = 4 + len(UNDONE)
    assert told[4:own_from] == [(name, "==", 0, 0, True) for name in UNDONE.values()], told
    assert told[own_from:own_from + 2] == [("requests_done", "==", 60, 60, True), ("requests_done", "<", 60, 60, False)], told
    assert told[-1] == ("batch_steps", "!=", 1, None, False), told
    for metric, op, target, actual, passed in told[:-1]:
        assert actual == result(summary, metric) and passed == COMPARED[op](actual, target), told
    passes = [one[4] for one in told].count(True)
    assert "Assessment  %d of %d criteria passed\n" % (passes, len(told)) in got.stdout, got
    assert re.search(r"batch_steps +!= 1 +no data  FAIL$", got.stdout, re.MULTILINE), got
    words = {True: "PASS", False: "FAIL"}
    named = verdicts(got)
    assert list(named)[:4] == ["nvme write P95, device", "nvme read P95, device", "cpu read and write P95", "hit ratio with decode"]
    assert list(named.values()) == [words[one[4]] for i, one in enumerate(told) if i != own_from], got  # of one name the last
    assert any("batch_steps" in event["message"] for event in summary["events"]), summary["events"]
    stored = rows("SELECT metric, op, target, actual, passed FROM criteria ORDER BY n")
    assert [tuple(one.values()) for one in stored] == told, stored  # False is 0
    assert run(["show"]).stdout == got.stdout


@case("what is judged at the device and together is what was measured there")
def _():
    _, summary = measure({**COUNTED, "tiers.gpu": None})
    low, high = sorted((result(summary, "cpu_read_p95_ms"), result(summary, "cpu_write_p95_ms")))
    assert low <= result(summary, "cpu_p95_ms") <= high, summary["results"]
    both = result(summary, "nvme_read_tok_s") + result(summary, "nvme_write_tok_s")
    assert abs(both / result(summary, "nvme_tok_s") - 1) < 1e-9, summary["results"]


@case("--assert: exit status 3 when a criterion fails or has no data, 0 when all pass")
def _():
    quiet = {**STORAGE, "assess.profile": "throughput"}
    measure({**quiet, **own(("requests_done", ">=", 60))}, "--assert")
    measure({**quiet, **own(("requests_done", ">", 60))}, "--assert", rc=3)
    measure({**quiet, **own(("requests_done", ">", 60))})
    got, _ = measure({**quiet, **own(("cpu_p95_ms", "<", 1e9))}, "--assert", rc=3)
    assert verdicts(got)["cpu_p95_ms"] == "FAIL" and "%d of %d criteria passed" % (3 + len(UNDONE), 4 + len(UNDONE)) in got.stdout, got


@case("profile throughput: nvme traffic in the directions of the phase, and no errors")
def _():
    storage = {**STORAGE, "assess.profile": "throughput"}
    got, _ = measure(storage, "--assert")
    assert list(verdicts(got)) == ["nvme reads", "nvme writes", "failed operations", *UNDONE], got
    got, _ = measure({**storage, "workload.phase": "prefill"}, "--assert")
    assert list(verdicts(got)) == ["nvme writes", "failed operations", *UNDONE], got
    got, _ = measure({**storage, "workload.phase": "decode"}, "--assert")
    assert list(verdicts(got)) == ["nvme reads", "failed operations", *UNDONE], got
    got, _ = measure({**storage, "assess.nvme_tok_s": 1e12}, "--assert", rc=3)
    assert verdicts(got) == {"nvme traffic": "FAIL", "failed operations": "PASS",
                             **dict.fromkeys(UNDONE, "PASS")}, got
    got, _ = measure({**storage, "tiers.nvme": None, "tiers.cpu": {"capacity": "16MiB"}}, "--assert", rc=3)
    assert verdicts(got)["nvme reads"] == "FAIL" and re.search(r"nvme reads .* tier off  FAIL$", got.stdout, re.MULTILINE), got


@case("a submission that breaks a rule is not comparable, and says which, everywhere")
def _():
    got, summary = measure({**COUNTED, "submission": True})
    assert "\nSubmission  not comparable: no seed is given; " in got.stdout, got
    assert "not comparable: no seed is given; " in got.stderr, got
    told = summary["run"]["not_comparable"]
    assert told == last_run()["not_comparable"] and told.startswith("no seed is given; "), summary["run"]
    assert "run.trials is 1, not 3" in told or "run.duration is " in told, told
    assert run(["show"]).stdout == got.stdout
    _, summary = measure({**COUNTED, "submission": True}, "--seed", "42")
    assert "no seed" not in summary["run"]["not_comparable"], summary["run"]
    _, summary = measure(COUNTED)
    assert summary["run"]["not_comparable"] is None and last_run()["not_comparable"] is None


# Results: text, JSON, database. -------------------------------------------------------------------


@case("the text summary is one screen from verdict to bottleneck")
def _():
    got, _ = measure(COUNTED)
    lines = got.stdout.splitlines()
    assert lines[0].startswith("COMPLETED ") and "small" in lines[0] and "tiny-1b" in lines[0], got
    labels = re.findall(r"^(Throughput|Requests|Latency|Tiers|Hits|Moved|Entries|Kernel|Class|Errors|Process|"
                        r"Assessment|Bottleneck:)", got.stdout, re.MULTILINE)
    assert labels == ["Throughput", "Requests", "Latency", "Tiers", "Hits", "Moved", "Entries", "Kernel", "Class",
                      "Errors", "Process", "Assessment", "Bottleneck:"], got
    # A machine that others use adds warnings, and the cause to the sentence; they may take lines of their own.
    # So do the sizes from which loading beats computing. Targets that could not be judged take a second line of the result.
    usual = re.sub(r"^(Warning|Bottleneck:|Break-even).*\n( {12}.*\n)*", "", got.stdout, flags=re.MULTILINE).splitlines()
    assert all(len(line) <= 80 for line in lines) and len(usual) <= 50, got


@case("a run of many intervals says whether it was steady, the same everywhere; one of few says nothing")
def _():
    got, summary = measure({"run.interval": "10ms", "run.duration": "1500ms", "run.warmup": "100ms"})
    words, steady = summary["run"]["steady_state"], result(summary, "steady")
    said = re.search(r"^Steady      ((?:.*\n {12})*.*)$", got.stdout, re.MULTILINE)
    assert said and " ".join(said.group(1).split()) == words, got
    assert last_run()["steady_state"] == words and run(["show"]).stdout == got.stdout
    if steady:
        assert words.startswith("from ") and result(summary, "steady_throughput_tok_s") > 0, summary
        begin, length = result(summary, "steady_from_s"), result(summary, "steady_s")
        assert begin >= 0.1 and abs(begin + length - 0.1 - result(summary, "measured_s")) < 0.02, summary
        assert abs(result(summary, "steady_slope")) <= 0.1 and result(summary, "steady_range") <= 0.2, summary
    else:
        assert steady == 0 and words.startswith("not reached: "), summary
        assert result(summary, "steady_from_s") is None and result(summary, "steady_s") is None, summary
    got, summary = measure()
    assert result(summary, "steady") is None and summary["run"]["steady_state"] is None, summary
    assert "Steady" not in got.stdout and last_run()["steady_state"] is None, got


@case("--json - is JSON alone on standard output")
def _():
    write(COUNTED)
    got = run(["run", "--headless", "small.yaml", "--json", "-"])
    assert got.rc == 0, got
    summary = json.loads(got.stdout)
    check_identities(summary)
    about = summary["run"]
    assert about["status"] == "completed" and about["name"] == "small" and about["model"] == "tiny-1b", about
    assert about["mode"] == "real" and about["seed"] == 42, about
    assert about["configuration"]["workload"]["users"] == 6, about["configuration"]
    assert about["environment"]["kernel"].startswith("Linux "), about["environment"]
    assert about["trace"] == {"path": None, "sha256": None}, about
    assert summary["decisions"] == [], summary
    assert [one["name"] for one in summary["qos"]] == ["interactive", "responsive", "batch"], summary["qos"]


@case("a tier's metrics in JSON are the results of its name, and only a tier's")
def _():
    _, summary = measure(COUNTED, "--db", "none")
    kinds = {tier: set(summary["tiers"][tier]["metrics"]) for tier in TIERS}
    for tier in TIERS:
        for name, value in summary["tiers"][tier]["metrics"].items():
            assert result(summary, "%s_%s" % (tier, name)) == value, (tier, name)
    common = {"entries", "used_bytes", "hits", "read_ops", "write_bytes", "read_p95_ms", "write_device_max_ms"}
    assert all(common <= names for names in kinds.values()), kinds
    assert not {"user_s", "sys_s", "workers_s"} & kinds["cpu"], kinds["cpu"]


@case("the database holds the results of the JSON, and its intervals add up to them")
def _():
    _, summary = measure({"run.warmup": "200ms", "run.duration": "600ms"})
    about = last_run()
    assert about["run_id"] == summary["run"]["run_id"] and about["uuid"] == summary["run"]["uuid"], about
    assert about["status"] == "completed" and about["ended_at"] > about["started_at"], about
    assert json.loads(about["effective_json"]) == summary["run"]["configuration"], about
    assert json.loads(about["environment"]) == summary["run"]["environment"], about
    assert json.loads(about["scenario_yaml"])["name"] == "small", about
    stored = {row["metric"]: {"value": row["value"], "unit": row["unit"]}
              for row in rows("SELECT metric, value, unit FROM results WHERE run_id = ?", about["run_id"])}
    assert stored == summary["results"], sorted(set(stored) ^ set(summary["results"]))
    phases = [row["phase"] for row in rows("SELECT phase FROM intervals ORDER BY seq")]
    order = [phase for number, phase in enumerate(phases) if number == 0 or phases[number - 1] != phase]
    assert order == ["warmup", "measured", "drain"], phases
    sums = rows("SELECT sum(done) AS requests_done, sum(failed) AS requests_failed, sum(dropped) AS requests_dropped,"
                " sum(arrived) AS requests_arrived, sum(tokens) AS tokens_generated, sum(lookups) AS lookups,"
                " sum(hits) AS hits FROM intervals WHERE phase = 'measured'")[0]
    for name, total in sums.items():
        assert total == result(summary, name), (name, total, result(summary, name))
    length = rows("SELECT sum(length_s) AS s FROM intervals WHERE phase = 'measured'")[0]["s"]
    assert abs(length - result(summary, "measured_s")) < 1e-6, length
    for row in rows("SELECT tier, sum(read_ops) AS read_ops, sum(write_ops) AS write_ops, sum(read_bytes) AS read_bytes,"
                    " sum(write_bytes) AS write_bytes, sum(t.hits) AS hits, sum(demotions) AS demotions"
                    " FROM tier_intervals t JOIN intervals USING (run_id, seq) WHERE phase = 'measured' GROUP BY tier"):
        tier = row.pop("tier")
        for name, total in row.items():
            assert total == result(summary, "%s_%s" % (tier, name)), (tier, name, total)
    for row in rows("SELECT tier, dir, cause, sum(bytes) AS bytes FROM cause_intervals JOIN intervals USING (run_id, seq)"
                    " WHERE phase = 'measured' GROUP BY tier, dir, cause"):
        assert row["bytes"] == result(summary, "%(tier)s_%(dir)s_%(cause)s_bytes" % row), row
    met = rows("SELECT class, sum(q.done) AS done FROM qos_intervals q JOIN intervals USING (run_id, seq)"
               " WHERE phase = 'measured' GROUP BY class")
    assert {row["class"]: row["done"] for row in met} == {one["name"]: one["metrics"]["done"] for one in summary["qos"]}
    assert healthy()


@case("show prints what the run has printed, history lists it")
def _():
    got, summary = measure(COUNTED)
    assert run(["show", "latest"]) == (0, got.stdout, "")
    shown = json.loads(run(["show", "--json"]).stdout)
    assert shown == summary, [name for name in summary if shown[name] != summary[name]]
    line = run(["history"]).stdout.splitlines()[1].split()
    assert line[0] == str(summary["run"]["run_id"]) and "completed" in line and "small" in line, line
    assert json.loads(run(["history", "--json"]).stdout)[0]["hit_ratio"] == result(summary, "hit_ratio")


@case("runs get numbers of their own, and the newest stands first")
def _():
    for number in (1, 2):
        _, summary = measure({"run.max_requests": 5, "name": "run%d" % number})
        assert summary["run"]["run_id"] == number, summary["run"]
    assert [row["name"] for row in json.loads(run(["history", "--json"]).stdout)] == ["run2", "run1"]


@case("--db none stores nothing and leaves nothing behind")
def _():
    write({"run.max_requests": 5})
    before = set(tree(home()))
    got = run(["run", "--headless", "small.yaml", "--db", "none"])
    assert got.rc == 0 and set(tree(home())) == before, (set(tree(home())) - before, got)
    assert not database().exists() and " run 1 " not in got.stdout, got


@case("--db and $KVFALL_DB say where the history is, folders included")
def _():
    write({"run.max_requests": 5})
    first, second = home() / "deep/er/first.db", home() / "second.db"
    assert run(["run", "small.yaml", "--headless", "--db", first]).rc == 0
    assert run(["run", "small.yaml", "--headless"], env={"KVFALL_DB": second}).rc == 0
    assert not database().exists()
    for path in (first, second):
        assert last_run(path)["status"] == "completed" and healthy(path), path


@case("--json FILE is written whole over what was there, with --overwrite alone")
def _():
    path = home() / "work/out.json"
    path.write_text("what was there before\n")
    write({"run.max_requests": 5})
    got = run(["run", "--headless", "small.yaml", "--json", "out.json", "--overwrite"])
    assert got.rc == 0 and got.stdout.startswith("COMPLETED"), got
    check_identities(json.loads(path.read_text()))
    assert sorted(os.listdir(home() / "work")) == ["out.json", "small.yaml"]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask, oct(path.stat().st_mode)


@case("--json FILE is not touched by a run that is killed")
def _():
    path = home() / "work/out.json"
    path.write_text("before\n")
    process = start({"run.duration": "60s"}, "--json", "out.json")
    wait_until(run_folders, what="the run's directory")
    process.kill()
    finish(process)
    assert path.read_text() == "before\n"
    assert [name for name in os.listdir(home() / "work") if name.startswith("out")] == ["out.json"]


@case("--json into a pipe, a device or behind a link writes there and replaces none of them")
def _():
    write({"run.max_requests": 5})
    (home() / "work/pipe").symlink_to("/proc/self/fd/2")  # as /dev/stderr, which a bad program would replace
    got = run(["run", "--headless", "small.yaml", "--quiet", "--json", "pipe"])
    assert got.rc == 0 and got.stdout.startswith("COMPLETED") and (home() / "work/pipe").is_symlink(), got
    check_identities(json.loads(got.stderr))
    (home() / "work/link.json").symlink_to("target.json")
    (home() / "work/target.json").write_text("before\n")
    got = run(["run", "--headless", "small.yaml", "--json", "link.json"])
    assert got.rc == 0 and (home() / "work/link.json").is_symlink(), got
    check_identities(json.loads((home() / "work/target.json").read_text()))


@case("files to write that cannot be made are refused before the run")
def _():
    write({"run.duration": "60s"})
    (home() / "work/folder").mkdir()
    before = tree(home())
    for option in ("--json", "--io-trace", "--request-log"):
        for path in ("absent/out", "folder", "small.yaml/out"):
            got = run(["run", "--headless", "small.yaml", option, path], timeout=20)
            assert (got.rc, got.stdout) == (2, "") and path in got.stderr, (option, path, got)
            assert tree(home()) == before, (option, path, set(tree(home())) - set(before))


# Logs. --------------------------------------------------------------------------------------------


@case("--io-trace: a row per entry operation, and their sums are the results")
def _():
    path = home() / "work/io.csv"
    _, summary = measure(COUNTED, "--io-trace", path)
    text = path.read_text()
    assert text.startswith("Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n"), text[:100]
    table = list(csv.DictReader(io.StringIO(text)))
    for row in table:
        assert re.fullmatch(r"\d{10}\.\d{6}", row["Timestamp"]), row
        assert row["Operation"] in ("Read", "Write") and row["Tier"] in ("Tier-0", "Tier-1", "Tier-2"), row
        assert re.fullmatch(r"\d+/\d+|prompt-\d+", row["Key"]), row
        assert (row["Operation"], row["Phase"]) in (("Write", "Prefill"), ("Read", "Decode"), ("Read", "Evict"),
                                                    ("Write", "Evict")), row
        assert int(row["Object_Size_Bytes"]) % TOKEN_BYTES == 0, row
    for number, tier in enumerate(TIERS):
        for operation, way in (("Read", "read"), ("Write", "write")):
            sizes = [int(row["Object_Size_Bytes"]) for row in table
                     if row["Tier"] == "Tier-%d" % number and row["Operation"] == operation]
            assert len(sizes) == result(summary, "%s_%s_ops" % (tier, way)), (tier, way, len(sizes))
            assert sum(sizes) == result(summary, "%s_%s_bytes" % (tier, way)), (tier, way, sum(sizes))
    moves = [number for number, row in enumerate(table) if row["Phase"] == "Evict" and row["Operation"] == "Read"]
    for number in moves:
        above, below = table[number], table[number + 1]
        assert below["Phase"] == "Evict" and below["Operation"] == "Write", (above, below)
        assert (below["Key"], below["Object_Size_Bytes"]) == (above["Key"], above["Object_Size_Bytes"]), (above, below)
        assert below["Tier"] > above["Tier"], (above, below)
    assert len(moves) == result(summary, "demotions") > 0, len(moves)


@case("--io-trace in plan order: an entry is written before it is read, and moved from where it is")
def _():
    path = home() / "work/io.csv"
    measure(COUNTED, "--io-trace", path, "--db", "none")
    where = {}
    for row in csv.DictReader(io.StringIO(path.read_text())):
        places = where.setdefault(row["Key"], [])
        if row["Operation"] == "Write":
            places.append(row["Tier"])
        elif row["Phase"] == "Evict":
            assert places and places[-1] == row["Tier"], (places, row)
        else:  # an entry that is being moved is read at its old place
            assert row["Tier"] in places, (places, row)


@case("--io-trace to a name with .zst is the same, compressed")
def _():
    zstd = need_tool("zstd")
    path = home() / "work/io.csv.zst"
    _, summary = measure(COUNTED, "--io-trace", path)
    text = subprocess.run([zstd, "-dc", str(path)], stdout=subprocess.PIPE, check=True).stdout.decode()
    table = list(csv.DictReader(io.StringIO(text)))
    ops = sum(result(summary, "%s_%s_ops" % (tier, way)) for tier in TIERS for way in ("read", "write"))
    assert len(table) == ops and set(table[0]) == {"Timestamp", "Operation", "Object_Size_Bytes", "Tier", "Key", "Phase"}


@case("--request-log: a JSON line per request, and their sums are the results")
def _():
    path = home() / "work/requests.jsonl"
    _, summary = measure(COUNTED, "--request-log", path)
    log = request_log(path)
    names = {"id", "class", "phase", "turn", "generate_tokens", "context_tokens", "arrival_s", "queue_ms", "ttft_ms",
             "storage_ms", "generation_ms", "e2e_ms", "hits", "misses", "failed"}
    assert all(names <= set(line) for line in log), log[0]
    assert len(log) == result(summary, "requests_done") == 60, len(log)
    assert len({line["id"] for line in log}) == 60
    assert sum(line["generate_tokens"] for line in log) == result(summary, "tokens_generated")
    for tier in TIERS:
        assert sum(line["hits"][tier] for line in log) == result(summary, tier + "_hits"), tier
    assert sum(line["misses"] for line in log) == result(summary, "misses")
    done = {one["name"]: one["metrics"]["done"] for one in summary["qos"]}
    assert {name: sum(line["class"] == name for line in log) for name in done} == done
    for line in log:
        assert 0 <= line["queue_ms"] <= line["ttft_ms"] <= line["e2e_ms"] and line["failed"] is False, line
        assert line["storage_ms"] <= line["e2e_ms"] - line["queue_ms"] + 1e-3, line


@case("same seed, same requests, whatever the tiers; another seed, others")
def _():
    def requests(changes, *options):
        path = home() / "work/requests.jsonl"
        measure({**COUNTED, "run.max_requests": 120, **changes}, "--request-log", path, "--db", "none", *options)
        return {tuple(line[name] for name in ("id", "class", "phase", "conversation", "turn", "context_tokens",
                                              "generate_tokens")) for line in request_log(path)}

    first = requests({})
    assert len(first) == 120
    assert requests({}) == first
    assert requests({"tiers.gpu": None, "engine.workers": 3, "cache.placement": "spillover"}) == first
    assert requests({}, "--seed", "43") != first


@case("progress is a line an interval on standard error; --quiet says nothing")
def _():
    got, _ = measure({"run.warmup": "200ms", "run.duration": "300ms"})
    lines = got.stderr.splitlines()
    assert "\r" not in got.stderr and "\x1b" not in got.stderr, got
    phases = [line.split()[1] for line in lines if re.match(r"\d\d:\d\d ", line)]
    kept = [row["phase"] for row in rows("SELECT phase FROM intervals ORDER BY seq")]
    assert phases == kept and phases[0] == "warmup" and "measured" in phases, (kept, got)
    assert any(re.match(r"\d\d:\d\d measured .* tok/s .* req/s .*nvme r .*/s w .*/s  ETA \d\d:\d\d$", line)
               for line in lines), got
    got, _ = measure({"run.duration": "200ms"}, "--db", "none", "--quiet")
    assert got.stderr == "", got


@case("what the command line asks for in vain is told; what the file has in vain is for check")
def _():
    got, _ = measure({"run.duration": "100ms", "qos.aging": "2s"}, "--db", "none", "--quiet", "--rate", "5",
                     "--set", "workload.arrival.cv=2", "--seed", "3")
    assert got.stderr.splitlines() == [
        "kvfall: warning: --rate has no effect: arrivals are neither poisson nor gamma",
        "kvfall: warning: --set workload.arrival.cv has no effect: arrivals are not gamma distributed"], got
    got, summary = measure({"run.duration": "100ms", "workload.prefix": {"prompt_tokens": 256}}, "--db", "none", "--quiet", "--set",
                           "workload.prefix.probability=1")  # no context is longer than 256
    assert got.stderr.splitlines() == ["kvfall: warning: --set workload.prefix.probability has no effect: no prompt is shorter than a context"], got
    assert result(summary, "prefix_seen") == 0, summary["results"]
    got = run(["check", write({"workload.prefix": {"prompt_tokens": 256, "probability": 1}})])
    assert "workload.prefix.prompt_tokens: no prompt is shorter than a context" in got.stdout, got


def on_terminal(columns, env=None):
    """What a run writes to a terminal of so many columns."""
    terminal, program = pty.openpty()
    try:
        fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = start({"run.duration": "400ms"}, "--db", "none", stderr=program, env=env)
        os.close(program)
        text = b""
        with contextlib.suppress(OSError):  # how a terminal ends
            while part := os.read(terminal, 65536):
                text += part
    finally:
        os.close(terminal)
    assert finish(process).rc == 0, text
    return text.decode()


@case("progress on a terminal is one line, rewritten, that never wraps and keeps what matters")
def _():
    for columns, kept, lost in ((240, "gpu (emulated) r ", None), (80, "in service", "gpu"), (40, "ETA", "queue")):
        text = on_terminal(columns, {"TERM": "xterm"})
        assert text.count("\n") == 1 and text.endswith("\n"), text
        shown = [line for line in text.replace("\x1b[K", "").rstrip().split("\r") if line]
        assert all(len(line) < columns for line in shown), shown
        measured = [line for line in shown if re.match(r"\d\d:\d\d measured  .*ETA \d\d:\d\d$", line)]
        assert measured and all(kept in line for line in measured), shown
        assert not any(lost and lost in line for line in measured), shown
    text = on_terminal(80, {"TERM": "dumb"})
    assert "\x1b" not in text and text.count("\n") > 2, text


@case("without a scenario it is the quickstart")
def _():
    got = run(["run", "--headless", "--json", "-", *TINY, "--gpu", "16MiB", "--cpu", "16MiB", "--nvme", "64MiB"])
    assert got.rc == 0, got
    summary = json.loads(got.stdout)
    check_identities(summary)
    assert summary["run"]["name"] == "quickstart" and last_run()["scenario_yaml"] == "", summary["run"]
    assert [tier for tier in TIERS if summary["tiers"][tier]["on"]] == list(TIERS), summary["tiers"]
    assert summary["run"]["configuration"]["workload"]["users"] == 50, summary["run"]["configuration"]
    assert result(summary, "requests_done") > 0, summary["results"]


main()
