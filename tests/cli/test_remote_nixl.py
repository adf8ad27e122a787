#!/usr/bin/env python3
"""The remote tier through NIXL: the library itself, from PyPI, on a directory and on a bucket; and one that is played,
for what it does wrong."""
import re
import signal

from runs import kept_and_read, measure, refused, result, rows, start, write
from servers import SeaweedFS
from tap import BUILD, case, finish, home, main, scratch, wait_until
from wheels import wheel_file

SMALL = {"tiers.gpu": None, "tiers.cpu.capacity": "1MiB", "tiers.nvme.capacity": "1MiB", "cache.verify": "full",
         "run.duration": "5m", "run.max_requests": 60}
OPS = {"tiers.gpu": None, "tiers.cpu": None, "tiers.nvme": None, "run.duration": "5m", "cache.verify": "full",
       "workload": {"source": "ops", "path": "ops.csv"}}


def nixl():
    """The environment with the library; skips the case where PyPI has none for us."""
    return {"LD_LIBRARY_PATH": str(wheel_file("nixl-cu12==1.5.1", "lib/python*/site-packages/.nixl_cu12*/libnixl_capi.so").parent)}


def played(says="", folder=None):
    return {"LD_LIBRARY_PATH": str(BUILD / "tests/unit/fake"), "FAKE_NIXL": says,
            "FAKE_NIXL_COUNTS": str((folder or home()) / "counts")}


def counts(folder=None):
    """What the played library has counted of the last run."""
    lines = ((folder or home()) / "counts").read_text().splitlines()
    return {word: int(number) for word, number in re.findall(r"(\w+)=(-?\d+)", lines[-1])}


def on(folder, base=SMALL, **more):
    return {**base, "tiers.remote": {"capacity": "64MiB", "backend": "nixl", "url": "file://%s" % folder,
                                     "chunk_tokens": 64, **more}}


def operations(text):
    (home() / "work/ops.csv").write_text("op,key,tokens\n" + text)


@case("without the library a run ends with one sentence that says how to get it")
def _():
    folder = scratch("shared")
    got = refused(["run", "--headless", write(on(folder))], "the remote tier cannot be used: NIXL", "libnixl_capi.so",
                  "pip install nixl-cu12", env={"LD_LIBRARY_PATH": ""})
    assert got.stderr.count("\n") == 1, got


@case("files in a directory: what falls out of nvme is kept and read, direct where the drive can, and nothing stays")
def _():
    folder, env = scratch("shared", on_disk=True), nixl()
    _, summary = measure(on(folder), env=env)
    kept_and_read(summary)
    description = summary["tiers"]["remote"]["description"]
    assert description.startswith("nixl: plugin POSIX, ") and " I/O (" in description, description
    assert result(summary, "remote_lookup_mean_ms") > 0 and list(folder.iterdir()) == [], list(folder.iterdir())


@case("files are as many as an entry has values, sizes need fit neither chunks nor blocks, and a name is no path")
def _():
    folder, env = scratch("shared", on_disk=True), nixl()
    operations("write,1/1,200\n" + "read,1/1,200\n" * 20000)
    process = start(on(folder, OPS, key_prefix="a/b:"), env=env)
    files = wait_until(lambda: len(found := [one for one in folder.iterdir() if "~" not in one.name]) == 4 and found, 60,
                       "the entry's files")
    assert all(one.name.startswith("a%2Fb:") and one.stat().st_size % 4096 == 0 for one in files), files
    process.send_signal(signal.SIGINT)
    assert finish(process).rc == 130 and list(folder.iterdir()) == []
    for tokens, io_size in ((1000, "4KiB"), (3, "64KiB"), (7, "4KiB")):
        _, summary = measure({**on(folder, chunk_tokens=tokens), "tiers.nvme.io_size": io_size, "run.max_requests": 60},
                             env=env)
        kept_and_read(summary)
    assert list(folder.iterdir()) == []


@case("a file that somebody removed is a miss and counted; one that was cut is an error, named, and no hit")
def _():
    for cut in (False, True):
        folder, env = scratch("shared", on_disk=True), nixl()
        operations("write,1/1,200\n" + "read,1/1,200\n" * 20000)
        process = start(on(folder, OPS), "--keep-going", env=env)
        file = sorted(wait_until(lambda: len(found := [one for one in folder.iterdir() if "~" not in one.name]) == 4 and found,
                                 60, "the entry's files"))[0]
        if cut:
            with open(file, "r+") as short:
                short.truncate(4096)
        else:
            file.unlink()
        got = finish(process)
        assert got.rc == 0, got
        values = {row["metric"]: row["value"] for row in
                  rows("SELECT metric, value FROM results WHERE metric IN ('remote_lost', 'operation_errors')")[-2:]}
        assert (values["operation_errors"] > 0) == cut and (values["remote_lost"] == 1) != cut, (cut, values)
        assert not cut or "bytes where" in " ".join((got.stdout + got.stderr).split()), got


@case("objects in a bucket: kept and read; the bucket keeps them, and the run says so")
def _():
    env, server = nixl(), SeaweedFS()
    env = {**server.env, **env}
    bucket = {**SMALL, "tiers.remote": {"capacity": "64MiB", "backend": "nixl", "url": server.url, "chunk_tokens": 64}}
    refused(["run", "--headless", write(bucket)], "no way to delete objects", "tiers.remote.evicted_by", env=env)
    bucket["tiers.remote"]["evicted_by"] = "server"
    got, summary = measure(bucket, env=env)
    kept_and_read(summary)
    assert summary["tiers"]["remote"]["description"].startswith("nixl: plugin OBJ, bucket kvcache at 127.0.0.1:")
    said = got.stderr + " ".join(event["message"] for event in summary["events"])
    assert "values stay on the server at 127.0.0.1:" in said, got
    for secret in server.env.values():
        assert secret == "kvfall" or secret not in got.stdout + got.stderr, got


def of_four_values(says="", *options, rc=0, **more):
    """A write and two reads of an entry of four values, with the played library."""
    folder = scratch("shared", on_disk=True)
    operations("write,1/1,200\nread,1/1,200\nread,1/1,200\n")
    got, summary = measure(on(folder, OPS, **more), *options, rc=rc, env=played(says))
    return folder, got, summary


@case("played: an entry goes there and back, all that was made is destroyed, and nothing stays")
def _():
    folder, _, summary = of_four_values()
    kept_and_read(summary)
    assert counts() == {"written": 4, "read": 8, "things": 0, "let_go": 0} and list(folder.iterdir()) == [], counts()


@case("played: an error is counted, named once with its number, and no hit; half a value is never one")
def _():
    for says, words in (("post=-5", "could not be written to"), ("status=-5", "could not be written to"),
                        ("status=-5,after=4", "could not be read from"), ("post=-5,after=4", "could not be read from")):
        folder, got, _ = of_four_values(says, rc=1)
        assert words in got.stderr and "(it says: -5)" in got.stderr and list(folder.iterdir()) == [], (says, got)
        folder, got, summary = of_four_values(says, "--keep-going")
        assert result(summary, "operation_errors") > 0 and result(summary, "hits") == 0, (says, summary["results"])
        assert result(summary, "verify_mismatched") == 0 == counts()["things"] == counts()["let_go"], (says, counts())
        assert list(folder.iterdir()) == [], (says, list(folder.iterdir()))
    folder, counted = scratch("shared", on_disk=True), scratch("counted")
    for says, words in (("stub", "does nothing; it is for builds alone"), ("open=-9", "cannot use its plugin POSIX"),
                        ("register=-4", "cannot use its plugin POSIX"), ("query=-4", "does not say what it has")):
        got = refused(["run", "--headless", write(on(folder))], "the remote tier cannot be used: ", words,
                      env=played(says, counted))
        assert counts(counted)["things"] == 0 and got.stderr.count("\n") == 1, (says, counts(counted), got)


@case("played: transfers that fail now and then: no byte is wrong, nothing is let go too early, and nothing stays")
def _():
    for says in ("status=-5,every=3", "post=-5,every=2"):
        folder = scratch("shared", on_disk=True)
        _, summary = measure({**on(folder), "run.max_requests": 300}, "--keep-going", env=played(says))
        assert result(summary, "remote_hits") > 0 and result(summary, "verify_mismatched") == 0, (says, summary["results"])
        assert counts()["things"] == counts()["let_go"] == 0 and list(folder.iterdir()) == [], (says, counts())


@case("played: objects in a bucket; --insecure is refused where NIXL would check the certificate all the same")
def _():
    keys = {"AWS_ACCESS_KEY_ID": "kvfall", "AWS_SECRET_ACCESS_KEY": "kvfall"}
    bucket = {**SMALL, "tiers.remote": {"capacity": "64MiB", "backend": "nixl", "url": "http://[::1]:9/kvcache/a",
                                        "chunk_tokens": 64, "evicted_by": "server"}}
    got, summary = measure(bucket, "--insecure", env={**played(), **keys})
    kept_and_read(summary)
    assert summary["tiers"]["remote"]["description"].startswith("nixl: plugin OBJ, bucket kvcache at [::1]:9, "), summary
    assert counts()["things"] == counts()["let_go"] == 0 < counts()["read"] and "values stay on the server" in got.stderr, got
    for url in ("https://store:9/kvcache", "s3://kvcache"):
        bucket["tiers.remote"]["url"] = url
        refused(["run", "--headless", "--insecure", write(bucket)], "tiers.remote.insecure: nixl checks every certificate",
                "SSL_CERT_FILE", "backend s3", env={**played("", scratch()), **keys})


@case("played: a transfer that takes longer than the timeout has ended before its buffer is used again")
def _():
    _, got, summary = of_four_values("slow=2500", "--keep-going", timeout="1s")
    assert summary["run"]["status"] == "completed" and result(summary, "verify_mismatched") == 0, summary["run"]
    assert counts()["let_go"] == 0, (counts(), got)


@case("played: a transfer that never ends holds up neither the run nor its end")
def _():
    _, got, summary = of_four_values("hang", "--keep-going", timeout="1s")
    assert summary["run"]["status"] == "completed" and result(summary, "verify_mismatched") == 0, summary["run"]
    assert counts()["let_go"] == 0, (counts(), got)


main()
