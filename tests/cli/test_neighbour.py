#!/usr/bin/env python3
"""What a verdict says of another program on the drive, and of which time its sentence speaks: real and long runs."""
import json
import mmap
import os
import re
import sqlite3
import threading

from reports import case
from runs import result
from tap import SOURCE, Skip, finish, home, main, spawn

MIB = 1 << 20
LIGHT = {"model": "tiny-1b", "run.duration": "4s", "run.warmup": "0s", "run.interval": "500ms", "tiers.gpu.capacity": 0,
         "tiers.cpu.capacity": 0, "tiers.nvme.capacity": "128MiB", "workload.users": 2,
         "workload.personas": "[{name: light, context: [64, 128], generate: [10, 20], think: [150ms, 250ms]}]",
         "workload.prefix.probability": 0, "qos.classes": "[{name: all, p95: 1us}]"}


def run(changes, *options):
    """The summary of a run that was told so."""
    path = home() / "work/summary.json"
    told = [option for key, value in changes.items() for option in ("--set", "%s=%s" % (key, value))]
    got = finish(spawn(["run", SOURCE / "configs/quickstart.yaml", "--headless", "--quiet", "--json", path, *told, *options],
                       cwd=home() / "work"))
    assert got.rc == 0, got
    return json.loads(path.read_text())


class Writer:
    """Writes past the page cache to a file of its own, over and over, as dd with oflag=direct would."""

    def __enter__(self):
        self.path = home() / "work/neighbour.bin"
        try:
            self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
        except OSError as error:
            raise Skip("files there cannot be written past the page cache: %s" % error) from error
        self.bytes, self.over = 0, threading.Event()
        self.thread = threading.Thread(target=self.write)
        self.thread.start()
        return self

    def write(self):
        block = mmap.mmap(-1, MIB)
        while not self.over.is_set():
            self.bytes += os.pwrite(self.fd, block, self.bytes % (32 * MIB))
            self.over.wait(0.005)

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        os.close(self.fd)
        self.path.unlink()


@case("a program that writes to the same drive is named before the drive, with its share; alone nobody is")
def _():
    with Writer() as writer:
        summary = run(LIGHT, "--db", "none")
        if summary["results"]["device_write_bytes"]["value"] is None:
            raise Skip("the kernel's counters of the drive under %s cannot be read" % home())
        written = writer.bytes
    verdict = summary["verdict"]
    if written < 20 * MIB:
        raise Skip("the drive took no more than %d bytes of the other program" % written)
    kernel = result(summary, "device_write_bytes") + result(summary, "device_read_bytes")
    ours = result(summary, "nvme_write_bytes") + result(summary, "nvme_read_bytes")
    assert kernel > 1.2 * ours, summary["results"]
    assert (verdict["limited_by"], verdict["cause"]) == ("neighbour", "foreign"), verdict
    assert verdict["sentence"].startswith("another program on the device under nvme: the kernel counted "), verdict
    evidence = {one["name"]: one["value"] for one in verdict["evidence"]}
    assert abs(evidence["device_bytes_ratio"] / (kernel / ours) - 1) < 0.3, (evidence, kernel / ours)
    assert any(one.startswith("another program used the device under nvme: ") for one in verdict["warnings"]), verdict
    assert abs(verdict["share"] - (1 - ours / kernel)) < 0.2, (verdict, kernel, ours)


@case("the sentence of an interval names the time that it is about: five minutes, or the last ten seconds")
def _():
    for length, words in (("5m", " (last 5 min)"), ("1s", " (last 10 s)")):
        path = home() / "work" / (length + ".db")
        run({"mode": "simulate", "run.duration": "20m" if length == "5m" else "30s", "run.warmup": "0s",
             "run.interval": length, "workload.users": 8}, "--db", path)
        with sqlite3.connect(path) as db:
            told = [row[0] for row in db.execute("SELECT bottleneck FROM intervals WHERE phase = 'measured' ORDER BY seq")]
            (whole,) = db.execute("SELECT bottleneck FROM runs").fetchone()
        assert len(told) >= 4 and all(one.endswith(words) for one in told[-2:]), told
        assert not re.search(r"\(last ", whole), whole


main()
