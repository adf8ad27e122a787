"""kvfall export --format fio: a job that does what a run did on nvme."""
import configparser
import json
import os
import subprocess

import histories
import runs
from tap import Skip, case, home, main, need_tool, run, scratch

MIB = 1 << 20
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def size(text):
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def stored(sizes=(1, 2), nvme=None, engine=None, **results):
    """A run of 10 s with these measures, its least and greatest entry as given; returns its job as read."""
    values = dict(measured_s=10.0, entry_bytes_min=sizes[0], entry_bytes_max=sizes[1], nvme_used_bytes=64 * MIB)
    values.update(results)
    configuration = {"tiers": {"nvme": dict({"io_size": "1MiB", "io_depth": 16, "direct": True, "sync": "none"},
                                            **(nvme or {}))},
                     "engine": dict({"workers": 4}, **(engine or {}))}
    with histories.make() as db:
        run_id = histories.add_run(db, results=values, effective_json=json.dumps(configuration))
        histories.insert(db, "run_tiers", run_id=run_id, tier="nvme", emulated=0, capacity_bytes=128 * MIB,
                         usable_bytes=128 * MIB, description="libaio: ext4 on vda, direct I/O; layout files")
    got = run(["export", "1", "--format", "fio"])
    assert got.rc == 0, got
    return got.stdout, parse(got.stdout)


def parse(text):
    job = configparser.ConfigParser(allow_no_value=True, interpolation=None)
    job.read_string(text)
    return {section: dict(job[section]) for section in job.sections()}


def split(text):
    """{size: percent} of a direction."""
    return {size(part.split("/")[0]): int(part.split("/")[1]) for part in text.split(":")} if text else {}


@case("entries of one size that chunks divide are chunks of io_size alone")
def _():
    # 40 entries of 8 MiB read, 10 written: 320 and 80 chunks
    _, job = stored((8 * MIB, 8 * MIB), nvme_read_ops=40, nvme_read_bytes=320 * MIB, nvme_write_ops=10,
                    nvme_write_bytes=80 * MIB)
    whole = job["global"]
    assert whole["rw"] == "randrw:8" and whole["rwmixread"] == "80", whole
    assert [split(part) for part in whole["bssplit"].split(",")] == [{MIB: 100}, {MIB: 100}], whole
    assert (whole["iodepth"], whole["numjobs"], whole["ioengine"], whole["direct"]) == ("16", "4", "libaio", "1"), whole
    assert size(whole["size"]) * 4 == 64 * MIB and whole["directory"] == "${DIR}", whole
    assert (whole["runtime"], whole["time_based"], whole["group_reporting"]) == ("10", "1", "1"), whole
    assert whole["percentile_list"] == "50:95:99:99.9:99.99", whole
    # 320 MiB and 80 MiB in 10 s by four jobs
    assert job["at-the-run-rate"]["rate"] == "%d,%d" % (8 * MIB, 2 * MIB), job
    assert "rate" not in job["as-fast-as-it-can"], job


@case("a remainder is a part of a chunk, with the mean kept; reads alone need no share")
def _():
    # 1.25 MiB is a chunk and a quarter of one
    _, job = stored((1310720, 1310720), nvme_read_ops=100, nvme_read_bytes=131072000)
    assert split(job["global"]["bssplit"]) == {MIB: 50, MIB // 4: 50}, job
    assert job["global"]["rw"] == "randread:2" and "rwmixread" not in job["global"], job
    assert job["at-the-run-rate"]["rate"] == "3276800,", job


@case("entries smaller than a chunk are their own size in whole pages; writes are synced as the run did")
def _():
    _, job = stored((30000, 30000), {"sync": "data", "direct": False}, nvme_write_ops=1000, nvme_write_bytes=30000000)
    # 30,000 bytes are 8 pages of 4 KiB
    assert job["global"]["bssplit"].startswith(",") and split(job["global"]["bssplit"][1:]) == {32768: 100}, job
    assert (job["global"]["rw"], job["global"]["fdatasync"], job["global"]["direct"]) == ("randwrite", "1", "0"), job
    assert job["at-the-run-rate"]["rate"] == ",%d" % (1000 * 32768 / 10 / 4), job


@case("entries of many sizes keep their mean: half a chunk remains, and half a page")
def _():
    # 3.5 MiB are 3 chunks and a half in the mean; with half a page more, 4 chunks are 3,672,064 bytes
    _, job = stored((MIB, 6 * MIB), nvme_read_ops=100, nvme_read_bytes=350 * MIB)
    shares = split(job["global"]["bssplit"])
    assert set(shares) == {MIB, MIB // 2} and sum(shares.values()) == 100, job
    mean = sum(length * share for length, share in shares.items()) / 100
    assert abs(mean / (3672064 / 4) - 1) < 0.01, (mean, job)


@case("bursts of what was in flight at a time, and pauses until the next is due")
def _():
    # 200 entries of two chunks in 10 s by four jobs: each has one every 200 ms. They stay 50 ms, alone in the job
    entries = dict(nvme_read_ops=150, nvme_read_bytes=300 * MIB, nvme_write_ops=50, nvme_write_bytes=100 * MIB)
    _, job = stored((2 * MIB, 2 * MIB), nvme_read_device_mean_ms=40.0, nvme_write_device_mean_ms=80.0,
                    nvme_read_mean_ms=900.0, **entries)
    think = job["with-think-time"]
    assert (think["thinktime"], think["thinktime_blocks"]) == ("150000us", "2"), think
    assert think["thinktime_blocks_type"] == "issue" and "rate" not in think, think
    assert not any(key.startswith("think") for name in ("global", "at-the-run-rate") for key in job[name]), job


@case("entries that stay longer than the next takes to come go out together")
def _():
    # one every 200 ms that stays 500 ms: three are in flight, due every 600 ms; without a device, the whole latency
    entries = dict(nvme_read_ops=200, nvme_read_bytes=400 * MIB)
    _, job = stored((2 * MIB, 2 * MIB), nvme_read_mean_ms=500.0, **entries)
    assert (job["with-think-time"]["thinktime"], job["with-think-time"]["thinktime_blocks"]) == ("100000us", "6"), job


@case("a run that does not say how long its entries took has no pauses, and the job says so")
def _():
    text, job = stored((2 * MIB, 2 * MIB), nvme_read_ops=200, nvme_read_bytes=400 * MIB)
    assert "thinktime" not in job["with-think-time"] and "no pause between them" in text, text


@case("a run that did nothing on nvme has no job")
def _():
    with histories.make() as db:
        histories.add_run(db, results={"measured_s": 5.0})
        for name in ("idle", "unknown"):
            run_id = histories.add_run(db, name=name, results={"measured_s": 5.0, "nvme_read_ops": 0, "nvme_read_bytes": 0},
                                       effective_json='{"tiers": {"nvme": {"io_size": "1MiB", "io_depth": 32}}, '
                                       '"engine": {"workers": 2}}' if name == "idle" else None)
            histories.insert(db, "run_tiers", run_id=run_id, tier="nvme", capacity_bytes=1000)
    runs.refused(["export", "1", "--format", "fio"], "run 1 had no nvme tier")
    runs.refused(["export", "2", "--format", "fio"], "run 2 moved nothing on nvme")
    runs.refused(["export", "3", "--format", "fio"], "run 3 does not say how its nvme tier was used")
    with histories.make() as db:
        db.execute("DELETE FROM results WHERE run_id = 2")
        db.execute("UPDATE runs SET status = 'crashed' WHERE run_id = 2")
    runs.refused(["export", "2", "--format", "fio"], "run 2 has no results, it is crashed")
    runs.refused(["export", "1", "2", "--format", "fio"], "--format fio takes one run at a time")


@case("fio takes the job and moves what the run did, at its rate")
def _():
    fio = need_tool("fio")
    _, summary = runs.measure()
    got = run(["export", "--output", "run.fio"])
    assert got.rc == 0, got
    work, folder = home() / "work", scratch(on_disk=True)
    env = dict(os.environ, DIR=str(folder))
    checked = subprocess.run([fio, "--parse-only", "run.fio"], cwd=work, env=env, capture_output=True, text=True)
    assert checked.returncode == 0, checked
    none = subprocess.run([fio, "--parse-only", "run.fio"], cwd=work, capture_output=True, text=True,
                          env={name: value for name, value in os.environ.items() if name != "DIR"})
    assert none.returncode != 0 and "directory" in none.stderr, none  # rather than in some directory
    whole = parse((work / "run.fio").read_text())["global"]
    done = subprocess.run([fio, "--output-format=json", "--section=as-fast-as-it-can", "run.fio"], cwd=work, env=env,
                          capture_output=True, text=True)
    if "direct" in done.stderr:
        raise Skip("no direct I/O in %s" % folder)
    assert done.returncode == 0, done
    job = json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]
    total = {way: job[way]["total_ios"] for way in ("read", "write")}
    assert all(total.values()), total
    share = total["read"] / (total["read"] + total["write"])
    assert abs(share - int(whole["rwmixread"]) / 100) < 0.05, (share, whole)
    for way, part in zip(("read", "write"), whole["bssplit"].split(",")):
        wanted = sum(length * percent for length, percent in split(part).items()) / 100
        assert abs(job[way]["io_bytes"] / total[way] / wanted - 1) < 0.1, (way, job[way], whole)
        entry = runs.result(summary, "nvme_%s_bytes" % way) / runs.result(summary, "nvme_%s_ops" % way)
        assert wanted <= min(65536, entry + 4096), (wanted, entry)


main()
