"""contrib/mlpstorage/mlperf_wrapper.py: kvfall where MLPerf Storage's harness starts its own script."""
import importlib.util
import json
import math
import os
import pathlib
import re
import shutil
import shlex
import signal
import stat
import statistics
import sys
import time

from tap import KVFALL, SOURCE, case, finish, home, main, run, scratch, spawn, wait_until

SHIM = SOURCE / "contrib/mlpstorage/mlperf_wrapper.py"
MANUAL = SOURCE / "man/kvfall-mlperf.7"
QUICK = ["--", "--model", "tiny-1b", "--duration", "400ms", "--users", "3", "--gpu", "0", "--cpu", "8MiB",
         "--nvme", "64MiB", "--set", "run.interval=100ms", "--set", "engine.noise=1MiB",
         "--set", "workload.personas=[{name: brief, context: [32, 256], generate: [20, 60], think: [2ms, 10ms]}]"]
LAUNCHERS = ("OMPI_", "PMI", "SLURM_", "MPI_")

sys.dont_write_bytecode = True
_spec = importlib.util.spec_from_file_location("mlperf_wrapper", SHIM)
shim = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(shim)


def start(args, env=None, program=KVFALL):
    """Starts the stand-in without what a launcher around the test would have set."""
    clean = {name: None for name in os.environ if name.startswith(LAUNCHERS)}
    clean.update({"KVFALL": program, **(env or {})})
    return spawn([SHIM, *args], env=clean, program=sys.executable)


def wrapper(args, env=None, program=KVFALL):
    return finish(start(args, env, program))


def stand_in(script, name="kvfall"):
    """A program that stands for kvfall."""
    path = scratch("bin") / name
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def told(args, env=None):
    """The command lines with which it runs kvfall: those of a program that writes them down, and writes xlsx."""
    log = home() / "work/said"
    if log.exists():
        log.unlink()
    got = wrapper(args, env, stand_in('if [ "$2" = --help ]; then echo "  xlsx: a spreadsheet"; else\n'
                                      'printf "%%s\\n" "$*" >>%s; fi\n' % shlex.quote(str(log))))
    assert got.rc == 0, got
    return log.read_text().splitlines()


def aggregate(trials, ranks):
    """What mlpstorage makes of the trials of an option: sums over ranks, means over trials, largest latencies."""
    sums, latencies, missing = [], [], []
    for trial in trials:
        found = []
        for rank in range(ranks):
            files = list((trial / ("rank_%d" % rank)).glob("kvcache_results_*.json"))
            if not files:
                missing.append(rank)
                continue
            summary = json.loads(files[-1].read_text()).get("summary", {})
            cache = summary.get("cache_stats", {})
            found.append([cache.get("tier_storage_read_bandwidth_gbps", 0.0),
                          cache.get("tier_storage_write_bandwidth_gbps", 0.0),
                          summary.get("storage_throughput_tokens_per_sec", 0.0)])
            latencies += [summary.get("storage_io_latency_ms", {}).get("p95", 0.0)]
        sums.append([sum(column) for column in zip(*found)])
    return [statistics.fmean(column) for column in zip(*sums)], max(latencies, default=None), missing


@case("two ranks of an option each run in their own places, and are added up as mlpstorage does")
def _():
    work = home() / "work"
    for trial in ("trial_0", "trial_1"):
        for lasts in ("400ms", "2s", "10s"):  # where the drive stands still for so long, longer
            together = ["--start-at", "%.3f" % (time.time() + 8)]  # so short a run may be over before the other one begins
            quick = [lasts if word == "400ms" else word for word in QUICK]
            ranks = [start(["--option", "1", "--seed", "42", "--base-output-dir", trial, "--cache-dir", "cache"] + quick + together,
                           {"OMPI_COMM_WORLD_RANK": 0} if n == 0 else {"PMI_RANK": 1}) for n in range(2)]
            ended = [finish(process) for process in ranks]
            if not any("no request was done" in got.stdout + got.stderr for got in ended):
                break
            shutil.rmtree(work / trial)
        for got in ended:
            assert got.rc == 0, got
    sums, latency, missing = aggregate([work / "trial_0", work / "trial_1"], 2)
    assert not missing and all(v > 0 for v in sums) and latency > 0, (sums, latency, missing)
    files = sorted((work / "trial_0").glob("rank_*/kvcache_results_*.json"))
    assert [re.sub(r"\d{8}_\d{6}", "TIME", str(f.relative_to(work))) for f in files] == [
        "trial_0/rank_%d/kvcache_results_TIME.json" % n for n in range(2)], files
    results = [json.loads(f.read_text()) for f in files]
    assert [r["seed"] for r in results] == [42, 43], results
    assert all(r["kvfall"]["name"] == "mlperf-closed-1" and r["summary"]["total_requests"] > 0 for r in results)
    databases = [f.with_suffix(".db") for f in files]
    stored = [json.loads(run(["show", "latest", "--json", "--db", db]).stdout) for db in databases]
    for n, one in enumerate(stored):
        assert one["run"]["uuid"] == results[n]["kvfall"]["uuid"] and one["run"]["trial"] is None, one["run"]
        assert one["run"]["configuration"]["tiers"]["nvme"]["path"] == "cache/rank_%d" % n, one["run"]
    for one in results:
        listed, said = one["end_to_end_latencies"], one["kvfall"]["latency_lists"]
        assert said == {"requests": one["summary"]["total_requests"], "listed": len(listed), "limit": 10000, "drawn_at_random": False}, said
        p50 = sorted(listed)[math.ceil(len(listed) / 2) - 1]
        assert abs(p50 * 1e3 / one["summary"]["end_to_end_latency_ms"]["p50"] - 1) < 0.01, (p50, one["summary"])
        assert len(one["storage_latencies"]) == len(one["generation_latencies"]) == len(listed)
    got = run(["merge", "--as-ranks", *databases])
    assert got.rc == 0 and got.stdout.startswith("run 1: 2 ranks, "), got
    whole = json.loads(run(["show", "latest", "--json"]).stdout)
    assert len(whole["ranks"]) == 2 and 0 < whole["results"]["requests_done"]["value"] <= sum(one["summary"]["total_requests"] for one in results)
    assert sorted(os.listdir(work / "cache")) == ["rank_0", "rank_1"]
    assert [os.listdir(work / ("cache/rank_%d" % n)) for n in range(2)] == [[], []]


@case("lists of latencies are bounded, and drawn so that every request is as likely to be there")
def _():
    lines = [json.dumps({"failed": n == 7, "arrival_s": n / 1e3, "e2e_ms": 0, "n": n}) for n in range(1000)]
    requests, count = shim.drawn(lines, 0.099, 0.899, 42, 50)
    assert count == 800 and len(requests) == 50, (count, len(requests))
    numbers = [request["n"] for request in requests]
    assert numbers == sorted(set(numbers)) and all(100 <= n <= 899 for n in numbers), numbers
    means = [statistics.fmean(request["n"] for request in shim.drawn(lines, 0.099, 0.899, seed, 50)[0]) for seed in range(40)]
    assert abs(statistics.fmean(means) - 499.5) < 20, means  # 40 times 50 of 800: a standard error of 5
    assert shim.drawn(lines, 0, 1, 1)[1] == 998, "one failed, and one was before"


@case("a run of a rank knows nothing of the others, whatever the launcher has set")
def _():
    log = home() / "work/environment"
    alone = stand_in("env | grep -E '^(OMPI_|PMI|MPI_|HYDI_|KEPT)' >>%s; exit 7\n" % shlex.quote(str(log)))
    got = wrapper(["--output", "out.json"], {"OMPI_COMM_WORLD_RANK": 1, "OMPI_COMM_WORLD_SIZE": 2, "PMI_SIZE": 2, "PMIX_RANK": 1,
                                             "MPI_LOCALNRANKS": 1, "HYDI_CONTROL_FD": 7, "KEPT": 1}, alone)
    assert got.rc == 7 and log.read_text() == "KEPT=1\n", (got, log.read_text())


@case("each option is the scenario of that name, once, with the seed of the rank")
def _():
    common = ["--base-output-dir", "out", "--cache-dir", "cache"]
    for option in "123":
        said = told(["--option", option, "--seed", "7", *common], {"PMIX_RANK": 2})
        scenario = re.fullmatch(r"run (\S+) --headless --quiet --set run.trials=1 --seed 9 --cache-dir cache/rank_2 "
                                r"--request-log \S+\.requests\.jsonl --db (out/rank_2/kvcache_results_\d{8}_\d{6})\.db", said[0])
        assert scenario, said
        assert os.path.samefile(scenario.group(1), SOURCE / ("configs/mlperf/mlperf-closed-%s.yaml" % option)), said
        assert said[1] == "export latest --format mlperf --db %s.db --output %s.json --overwrite" % (
            scenario.group(2), scenario.group(2)), said
    # without a launcher it is rank 0, and the seed is that of the rules; -- hands words on
    assert "--seed 42 --cache-dir cache/rank_0 --trials 2 --request-log" in told(["--option", "1", *common, "--", "--trials", "2"])[0]


@case("the form without an option takes the flags of kv-cache.py, and a config.yaml that is not there")
def _():
    said = told(["--rank-output-base", "out", "--rank-cache-base", "cache", "--seed-base", "42", "--config",
                 "away/config.yaml", "--model", "llama3.1-8b", "--num-users", "200", "--duration", "300", "--gpu-mem-gb",
                 "0", "--cpu-mem-gb", "4", "--max-concurrent-allocs", "16", "--generation-mode", "none"],
                {"SLURM_PROCID": 1})[0]
    assert said.split(" --headless --quiet ")[1].split(" --request-log ")[0] == (
        "--set run.trials=1 --set name=kv-cache --model llama3.1-8b --users 200 --duration 300s --gpu 0 "
        "--set tensor_parallel=1 --cpu 4294967296 --generation none --profile latency "
        "--set engine.max_concurrent_writes=16 --seed 43 --cache-dir cache/rank_1"), said
    # kv-cache.py itself: the file that is named, and its defaults; further ranks beside it
    said = told(["--output", "here/r.json", "--xlsx-output", "r.xlsx"])
    for words in ("--users 100 --duration 60s --gpu 17179869184", "--cpu 34359738368 --generation realistic",
                  "--set engine.max_concurrent_writes=0"):
        assert " %s " % words in said[0], said
    assert said[0].endswith(" --db here/r.db") and " --seed " not in said[0], said
    assert said[2] == "export latest --format xlsx --db here/r.db --output r.xlsx --overwrite", said
    (home() / "work/mine.yaml").write_text("")
    assert told(["--config", "mine.yaml"])[0].startswith("run mine.yaml --headless "), said
    assert told(["--output", "here/r.json"], {"PMI_RANK": 3})[0].endswith(" --db here/rank_3/r.db")


@case("ranks of one machine divide its disk")
def _():
    space = os.statvfs(home() / "work")
    free = space.f_bavail * space.f_frsize
    four = {"OMPI_COMM_WORLD_RANK": 0, "OMPI_COMM_WORLD_LOCAL_SIZE": 4}
    args = ["--option", "1", "--base-output-dir", "out", "--cache-dir", "cache"]
    part = re.search(r" --nvme (\d+) ", told(args, four)[0])
    if free > 3 << 30:
        assert 0.5 * free < 4 * int(part.group(1)) <= 0.95 * free, (part, free)
    assert " --nvme 5368709120 " in told(["--storage-capacity-gb", "5"], four)[0]


# What is given for a flag that takes a value, and which others it needs to mean something.
VALUES = {"--model": "tiny-1b", "--duration": "5", "--cache-dir": "elsewhere", "--generation-mode": "fast",
          "--performance-profile": "throughput", "--autoscaler-mode": "capacity", "--target-saturation": "0.7",
          "--burst-trace-path": "trace.csv", "--dataset-path": "talk.json", "--io-trace-log": "io.csv",
          "--trace-speedup": "2.5", "--request-rate": "7.5"}
NEEDS = {"--num-gpus": ["--gpu-mem-gb", "0.5"], "--tensor-parallel": ["--num-gpus", "2"],
         "--rag-num-docs": ["--enable-rag"], "--autoscaler-mode": ["--enable-autoscaling"],
         "--target-saturation": ["--enable-autoscaling"], "--use-burst-trace": ["--burst-trace-path", "trace.csv"],
         "--burst-trace-path": ["--use-burst-trace"],
         "--trace-speedup": ["--use-burst-trace", "--burst-trace-path", "trace.csv"],
         "--max-conversations": ["--dataset-path", "talk.json"], "--replay-cycles": ["--dataset-path", "talk.json"],
         "--precondition-size-gb": ["--precondition"]}
AFTERWARDS = {"--config", "--output", "--xlsx-output", "--log-level"}  # nothing of the scenario
TALK = '[{"conversations": [{"from": "human", "value": "?"}, {"from": "gpt", "value": "!"}]}]'
TRACE = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n1,GPT-4,100,20,120,API log\n"


def sample(flag):
    return [] if flag.takes is bool else [VALUES.get(flag.name, "2")]


@case("every flag gives a scenario that kvfall accepts, and changes it")
def _():
    work = home() / "work"
    (work / "talk.json").write_text(TALK)
    (work / "trace.csv").write_text(TRACE)
    (work / "elsewhere").mkdir()
    base = ["--gpu-mem-gb", "0.25", "--cpu-mem-gb", "0.25", "--storage-capacity-gb", "1"]

    def checked(args):
        words = shim.mapped(shim.parse(args))
        words = [word for n, word in enumerate(words) if word != "--io-trace" and words[n - 1] != "--io-trace"]
        got = run(["check", os.path.join(shim.SCENARIOS, shim.BASE_SCENARIO), *words])
        assert got.rc == 0, (args, got)
        return got.stdout
    for flag in shim.FLAGS:
        if flag.name in AFTERWARDS:
            continue
        needs = NEEDS.get(flag.name, [])
        without, with_it = checked(base + needs), checked(base + needs + [flag.name] + sample(flag))
        if flag.name == "--burst-trace-path":
            continue  # it is what --use-burst-trace was given above
        assert without != with_it, (flag.name, with_it)


def table():
    """{flag: (default, text)} of the manual, the text without its markup."""
    text = re.search(r"^\.Sh FLAGS\n(.*?)^\.Sh ", MANUAL.read_text(), re.MULTILINE | re.DOTALL).group(1)
    out = {}
    for head, body in re.findall(r"^\.It (.*)\n((?:(?!\.It|\.El).*\n)+)", text, re.MULTILINE):
        default = re.search(r" Pq (\S+)$", head)
        body = body.replace("\n.Fl", " Fl").replace("Fl -", "--").replace(" Ns Ar ", "").replace(" Ns ", "")
        for name in re.findall(r"Fl -([a-z-]+)", head):
            out["--" + name] = (default and default.group(1), re.sub(r"^\.|\b(Ar|Li) ", "", body))
    return out


@case("the manual has every flag with its default and the options that it stands for")
def _():
    manual = table()
    assert list(manual) == [flag.name for flag in shim.FLAGS + shim.REFUSED], list(manual)
    for flag in shim.FLAGS:
        default, body = manual[flag.name]
        assert default == (None if flag.default is None or flag.takes is bool else str(flag.default)), (flag, default)
        words = re.escape(flag.words).replace(re.escape("{}"), r"\w+") or "Nothing|A scenario in place|Ql kvfall export"
        assert re.match(r"(%s)(\n|[ ;,:.]|$)" % words, body), (flag.words, body)


@case("what cannot be followed is one sentence and exit status 2, before anything is made")
def _():
    out = ["--base-output-dir", "out", "--cache-dir", "cache"]
    for args, env, words in (
            (["--option", "4", *out], {}, "--option: invalid choice: '4'"),
            (["--option", "1", "--cache-dir", "cache"], {}, "--option needs --base-output-dir and --cache-dir"),
            (["--option", "1", "--num-users", "3", *out], {}, "--num-users cannot change what --option 1 fixes"),
            (["--use-magic"], {}, "unrecognized arguments: --use-magic"),
            (["--num-users", "many"], {}, "--num-users: invalid int value: 'many'"),
            (["--autoscaler-mode", "predictive"], {}, "--autoscaler-mode: invalid choice: 'predictive'"),
            (["--enable-latency-tracing"], {}, "--enable-latency-tracing has no counterpart in kvfall"),
            (["--validation-trace", "x"], {}, "--validation-trace has no counterpart in kvfall"),
            (["--prefill-only", "--decode-only"], {}, "--prefill-only and --decode-only exclude each other"),
            (["--use-burst-trace", "--dataset-path", "x"], {}, "--use-burst-trace and --dataset-path exclude each other"),
            (["--tensor-parallel", "2"], {}, "--tensor-parallel is more than --num-gpus"),
            (["--option", "1", *out], {"PMI_RANK": "first"}, 'PMI_RANK is "first", not a number'),
            (["--option", "1", *out], {"KVFALL": None, "PATH": "/nowhere"}, "kvfall is not in PATH")):
        got = wrapper(args, env)
        assert got.rc == 2 and got.stdout == "" and got.stderr.startswith("mlperf_wrapper.py: "), (args, got)
        assert words in got.stderr and got.stderr.count("\n") == 1, (args, got)
    got = wrapper(["--xlsx-output", "r.xlsx"], program=stand_in("echo csv: rows\n"))
    assert (got.rc, got.stdout) == (2, "") and "--xlsx-output needs a kvfall" in got.stderr, got
    assert os.listdir(home() / "work") == []


@case("the exit status of the run is handed on, and only a run that came to its end has results")
def _():
    out = ["--option", "1", "--base-output-dir", "out", "--cache-dir", "cache"]
    for status, results in ((0, True), (1, False), (2, False), (3, True), (143, False)):
        log = home() / "work" / ("said-%d" % status)
        fake = stand_in('echo $1 >>%s\ntest "$1" = export || exit %d\n' % (log, status))
        got = wrapper(out, program=fake)
        assert got.rc == status, got
        assert log.read_text().split() == ["run"] + ["export"] * results, log.read_text()
    got = wrapper(out, program=stand_in('test "$1" = run || exit 1\n'))
    assert got.rc == 1, got
    got = wrapper(out, program=stand_in("kill -SEGV $$\n"))
    assert got.rc == 128 + signal.SIGSEGV, got
    got = wrapper(out, program=home() / "nothing")
    assert got.rc == 2 and "nothing cannot be run: No such file" in got.stderr, got


@case("a signal ends the run, whose results are kept in its database alone")
def _():
    work = home() / "work"
    long = [("1h" if word == "400ms" else word) for word in QUICK]
    process = start(["--option", "1", "--base-output-dir", "out", "--cache-dir", "cache"] + long)

    def stored():
        files = list(pathlib.Path(work / "out/rank_0").glob("*.db"))
        return files and run(["sql", "SELECT count(*) FROM intervals", "--csv", "--db", files[0]]).stdout.split()[-1:] > ["0"]
    wait_until(stored, what="an interval")
    process.send_signal(signal.SIGTERM)
    got = finish(process)
    assert got.rc == 128 + signal.SIGTERM, got
    names = sorted(path.suffix for path in (work / "out/rank_0").iterdir())
    assert ".json" not in names and ".db" in names, names
    assert os.listdir(work / "cache/rank_0") == [], "the run has left its files"


main()
