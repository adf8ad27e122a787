#!/usr/bin/env python3
"""The remote tier in a bucket of a server that speaks S3."""
import re

from played_s3 import BUCKET, PlayedS3
from runs import last_run, measure, refused, result, write
from servers import certificate
from tap import case, home, main

SMALL = {"tiers.gpu": None, "tiers.cpu.capacity": "1MiB", "tiers.nvme.capacity": "1MiB", "cache.verify": "full",
         "run.duration": "5m", "run.max_requests": 120}


def on(server, **more):
    return {**SMALL, "tiers.remote": {"capacity": "64MiB", "backend": "s3", "url": server.url, "chunk_tokens": 64, **more}}


def moved(summary):
    """Bytes were written to the server and read back, and every block was what was written."""
    remote_tier = summary["tiers"]["remote"]
    assert remote_tier["on"] and not remote_tier["emulated"], remote_tier
    assert summary["run"]["status"] == "completed", summary["run"]
    assert result(summary, "remote_write_bytes") > 0 and result(summary, "remote_read_bytes") > 0, summary["results"]
    assert result(summary, "remote_hits") > 0, summary["results"]
    assert result(summary, "verify_mismatched") == 0 < result(summary, "verify_checked"), summary["results"]
    assert result(summary, "operation_errors") == 0 == result(summary, "remote_lost"), summary["results"]


@case("what falls out of nvme is kept in the bucket and read from there, every request signed; nothing stays")
def _():
    server = PlayedS3()
    _, summary = measure(on(server), env=server.env)
    moved(summary)
    assert re.match(r"s3: bucket kvcache at 127.0.0.1:\d+ \(Played-S3\)", summary["tiers"]["remote"]["description"])
    assert server.objects == {}, sorted(server.objects)
    assert server.count("DELETE") == server.count("PUT") > 0, server.requests[-10:]


main()
