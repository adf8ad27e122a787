#!/usr/bin/env python3
"""The remote tier through NIXL: the library itself, from PyPI, on a directory and on a bucket."""
import signal

from runs import kept_and_read, measure, refused, result, rows, start, write
from servers import SeaweedFS
from tap import case, finish, home, main, scratch, wait_until
from wheels import wheel_file

SMALL = {"tiers.gpu": None, "tiers.cpu.capacity": "1MiB", "tiers.nvme.capacity": "1MiB", "cache.verify": "full",
         "run.duration": "5m", "run.max_requests": 60}
OPS = {"tiers.gpu": None, "tiers.cpu": None, "tiers.nvme": None, "run.duration": "5m", "cache.verify": "full",
       "workload": {"source": "ops", "path": "ops.csv"}}


def nixl():
    """The environment with the library; skips the case where PyPI has none for us."""
    return {"LD_LIBRARY_PATH": str(wheel_file("nixl-cu12==1.5.1", "lib/python*/site-packages/.nixl_cu12*/libnixl_capi.so").parent)}


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


main()
