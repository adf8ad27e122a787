#!/usr/bin/env python3
"""The remote tier in a Mooncake store, whose client library is played: PyPI has none."""
import re

from runs import kept_and_read, measure, refused, result, write
from tap import BUILD, case, home, main

SMALL = {"tiers.gpu": None, "tiers.cpu.capacity": "1MiB", "tiers.nvme.capacity": "1MiB", "cache.verify": "full",
         "run.duration": "5m", "run.max_requests": 120}
OPS = {"tiers.gpu": None, "tiers.cpu": None, "tiers.nvme": None, "run.duration": "5m", "cache.verify": "full",
       "workload": {"source": "ops", "path": "ops.csv"}}


def played(says=""):
    return {"LD_LIBRARY_PATH": str(BUILD / "tests/unit/fake"), "FAKE_MOONCAKE": says,
            "FAKE_MOONCAKE_COUNTS": str(home() / "counts")}


def counts():
    """What the played library has counted of the last run."""
    lines = (home() / "counts").read_text().splitlines()
    return {word: int(number) for word, number in re.findall(r"(\w+)=(-?\d+)", lines[-1])}


def on(base=SMALL, **more):
    return {**base, "tiers.remote": {"capacity": "64MiB", "backend": "mooncake", "url": "mooncake://127.0.0.1:50051",
                                     "chunk_tokens": 64, **more}}


def operations(says="", *options, rc=0, **more):
    """A write and two reads of an entry of four values."""
    (home() / "work/ops.csv").write_text("op,key,tokens\nwrite,1/1,200\nread,1/1,200\nread,1/1,200\n")
    return measure(on(OPS, **more), *options, rc=rc, env=played(says))


@case("without the library, and without a master, a run ends with one sentence")
def _():
    got = refused(["run", "--headless", write(on())], "the remote tier cannot be used: Mooncake", "libmooncake_store.so",
                  env={"LD_LIBRARY_PATH": ""})
    assert got.stderr.count("\n") == 1, got
    environment = {**played("setup=-800"), "FAKE_MOONCAKE_COUNTS": ""}
    refused(["run", "--headless", write(on())], "no Mooncake master answers at 127.0.0.1:50051", "mooncake_master",
            env=environment)


@case("the address of a master may be one of IPv6")
def _():
    _, summary = operations(url="mooncake://[::1]:50052")
    assert summary["tiers"]["remote"]["description"].startswith("mooncake: master at [::1]:50052, "), summary["tiers"]


@case("what falls out of nvme is kept in the store and read from there, and nothing stays")
def _():
    _, summary = measure(on(), env=played())
    kept_and_read(summary)
    assert summary["tiers"]["remote"]["description"].startswith("mooncake: master at 127.0.0.1:50051, values of ")
    had = counts()
    assert had["put"] == had["removed"] > 0 and had["left"] == had["buffers"] == 0 < had["got"], had


@case("an entry is as many values as its tokens need; lookup: get asks for none")
def _():
    _, summary = operations()
    kept_and_read(summary)
    had = counts()
    assert (had["put"], had["got"], had["asked"], had["removed"]) == (4, 8, 8, 4), had
    assert result(summary, "remote_lookup_mean_ms") > 0, summary["results"]
    operations(lookup="get")
    assert counts()["asked"] == 0, counts()


@case("an error of the library is counted, named once with its number, and no hit; what was lost is a miss")
def _():
    for says, words in (("put=-200", "has not taken a value (its client says: -200)"),
                        ("get=-800", "has not given a value (its client says: -800)"),
                        ("exist=-1", "does not say what it has (its client says: -1)"),
                        ("register=-600", "does not take a buffer (its client says: -600)"),
                        ("short", "bytes where")):
        short = {"timeout": "1s"} if says.startswith("register") else {}
        got, _ = operations(says, rc=1, **short)
        assert words in got.stderr, (says, got)
        _, summary = operations(says, "--keep-going", **short)
        assert result(summary, "operation_errors") > 0 and result(summary, "hits") == 0, (says, summary["results"])
    _, summary = operations("lose")
    assert result(summary, "operation_errors") == 0 == result(summary, "hits"), summary["results"]
    assert result(summary, "remote_lost") > 0, summary["results"]


@case("a version that says -1 to all: what is not there is a miss, and deleted")
def _():
    got, summary = operations("lose,old")
    assert result(summary, "operation_errors") == 0 < result(summary, "remote_lost"), summary["results"]
    assert "values stay" not in got.stderr and counts()["left"] == 0, got


@case("calls that fail now and then: errors are counted, no byte is wrong, and nothing stays")
def _():
    _, summary = measure({**on(), "run.max_requests": 300}, "--keep-going", env=played("every=7"))
    assert result(summary, "remote_hits") > 0 and result(summary, "verify_mismatched") == 0, summary["results"]
    assert counts()["left"] == counts()["buffers"] == 0 < counts()["got"], counts()


@case("what cannot be deleted stays and is counted in a warning")
def _():
    got, _ = operations("remove=-706")
    assert "up to 4 values stay" in got.stderr and counts()["left"] == 4, got


@case("a call that never returns holds up neither the run nor its end")
def _():
    got, summary = operations("hang", "--keep-going", timeout="1s")
    assert "has not answered within tiers.remote.timeout" in got.stderr or result(summary, "hits") == 2, got
    assert summary["run"]["status"] == "completed" and result(summary, "verify_mismatched") == 0, summary["run"]


@case("of calls that never return many hold up the end of a run no longer than one")
def _():
    (home() / "work/ops.csv").write_text("op,key,tokens\nwrite,1/1,1024\nread,1/1,1024\n")
    of = {**on(OPS, timeout="1s", connections=64), "engine.workers": 1}
    got, summary = measure(of, "--keep-going", env=played("hangs"))
    assert "has not answered within tiers.remote.timeout" in " ".join(got.stdout.split()), got
    assert result(summary, "hits") == 0 < result(summary, "operation_errors"), summary["results"]
    assert summary["run"]["status"] == "completed", summary["run"]


main()
