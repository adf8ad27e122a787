#!/usr/bin/env python3
"""The remote tier on the servers that people run beside Redis, and on one that two runs share."""
import json
import re

from exposition import scrape, serving
from played_redis import Played
from runs import kept_and_read, measure, result, stop, write
from servers import Redis, SeaweedFS, remote, valkey
from tap import case, home, main, run, spawn, wait_until

SMALL = {"tiers.gpu": None, "tiers.cpu.capacity": "1MiB", "tiers.nvme.capacity": "1MiB", "cache.verify": "full",
         "run.duration": "5m", "run.max_requests": 120}


def bucket(server, **more):
    return {"capacity": "64MiB", "backend": "s3", "url": server.url, "chunk_tokens": 64, **more}


@case("Valkey: what falls out of nvme is kept there, and nothing stays")
def _():
    server = valkey()
    _, summary = measure({**SMALL, "tiers.remote": remote(server, chunk_tokens=64)})
    kept_and_read(summary)
    assert re.match(r"resp: Valkey [\d.]+ at ", summary["tiers"]["remote"]["description"]), summary["tiers"]
    assert server.keys() == [], "values are left behind"
    got = run(["report", "1", "-o", "page.html"])
    assert got.rc == 0, got
    drawn = (home() / "work/page.html").read_text()
    for title in ("bytes on the wire", "commands", "lookups", "memory"):
        assert "Server: " + title in drawn, title


@case("SeaweedFS: what falls out of nvme is kept in the bucket, and nothing stays")
def _():
    server = SeaweedFS()
    _, summary = measure({**SMALL, "tiers.remote": bucket(server)}, env=server.env)
    kept_and_read(summary)
    assert "bucket kvcache at 127.0.0.1:" in summary["tiers"]["remote"]["description"], summary["tiers"]
    # a second run in the same bucket begins with nothing, and finds what it has written itself
    _, summary = measure({**SMALL, "tiers.remote": bucket(server, lookup="get")}, env=server.env)
    kept_and_read(summary)


@case("SeaweedFS: prompts that runs share are put where nothing of their name is, and nothing stays")
def _():
    server = SeaweedFS()
    changes = {**SMALL, "tiers.nvme": None, "workload.prefix": {"prompt_tokens": 64, "count": 40, "probability": 1},
               "tiers.remote": bucket(server, share_prompts=True)}
    for _ in range(2):
        _, summary = measure(changes, env=server.env)
        kept_and_read(summary)
        assert result(summary, "remote_found") == 0 == result(summary, "operation_errors"), summary["results"]


@case("two runs on one server share their prompts: each counts what it found of the other's, and deletes its own alone")
def _():
    server = Redis()

    def on(**more):
        return {**SMALL, "tiers.nvme": None, "workload.prefix": {"prompt_tokens": 64, "count": 40, "probability": 1}, **more,
                "tiers.remote": remote(server, chunk_tokens=32, share_prompts=True)}

    def prompts():
        return {key for key in server.keys() if key.startswith("kvfall:shared:")}

    for more in ({}, {"cache.granularity": "block", "cache.block_tokens": 32}):
        first_path = home() / "work/first.json"
        first = spawn(["run", "--headless", write(on(**{"run.max_requests": 0}, **more), "first.yaml"), "--json", first_path])
        wait_until(lambda: len(prompts()) > 10, 60, "prompts on the server")
        _, second = measure(on(**more))
        assert result(second, "remote_found") > 0 == result(second, "verify_mismatched"), second["results"]
        assert result(second, "operation_errors") == 0 and result(second, "requests_done") == 120, second["results"]
        assert len(prompts()) > 10, "the first run's prompts are gone"
        _, summary = stop(first, first_path)
        assert result(summary, "operation_errors") == 0 == result(summary, "verify_mismatched"), summary["results"]
        assert result(summary, "remote_found") is not None, summary["results"]
        assert server.keys() == [], "values are left behind"
    _, alone = measure(on())
    assert result(alone, "remote_found") == 0 == result(alone, "remote_lost"), alone["results"]
    assert server.keys() == []


PROMPTS = {"tiers.gpu": None, "tiers.cpu": None, "tiers.nvme": None, "run.duration": "5m", "cache.verify": "full",
           "workload": {"source": "ops", "path": "ops.csv"}}


def shared(values):
    return {key for key in values if key.startswith(b"kvfall:shared:")}


@case("a prompt that a run has dropped and writes again is not found of others, also while the old values cannot be deleted")
def _():
    sent, kept = [], {}

    def answer(words, usual):
        sent.append(words)
        if words[0] == b"SET":
            kept[words[1]] = words[2]
        if words[0] != b"UNLINK" or sum(one[0] == b"SET" for one in sent) > 4:
            return usual
        server.values[words[1]] = kept[words[1]]
        return b"-ERR not now\r\n"

    server = Played(answer)
    (home() / "work/ops.csv").write_text("op,key,tokens\nwrite,prompt-1,64\nwrite,prompt-2,64\nwrite,prompt-1,64\nread,prompt-1,64\n")
    _, summary = measure({**PROMPTS, "cache.headroom": 0, "tiers.remote": {
        **remote(server, chunk_tokens=32, share_prompts=True, timeout="1s"), "capacity": "192KiB"}})
    assert result(summary, "remote_found") == 0 == result(summary, "remote_lost"), summary["results"]
    assert result(summary, "remote_hits") == 1 and result(summary, "verify_mismatched") == 0, summary["results"]
    names = [words[1] for words in sent if words[0] == b"SET"]
    assert len(set(names)) == 6 and len(shared(names)) == 4, names
    assert not server.values, "values are left behind"


@case("a prompt of which another run's values are there in part is neither overwritten nor deleted nor found")
def _():
    server = Played(lambda words, usual: server.values.update(kept) or b"-ERR not now\r\n" if words[0] == b"UNLINK" else
                    kept.update({words[1]: words[2]}) or usual if words[0] == b"SET" else usual)
    kept = {}
    (home() / "work/ops.csv").write_text("op,key,tokens\nwrite,prompt-1,96\nread,prompt-1,96\n")
    changes = {**PROMPTS, "tiers.remote": remote(server, chunk_tokens=32, share_prompts=True, timeout="1s")}
    measure(changes)
    assert len(shared(server.values)) == 3 == len(server.values), list(server.values)
    lost = sorted(server.values)[1]
    del server.values[lost]
    others, sent = dict(server.values), []
    server.answer = lambda words, usual: sent.append(words) or usual
    _, summary = measure(changes)
    assert server.values == others, "another run's values were touched"
    assert not shared(words[1] for words in sent if words[0] in (b"SET", b"UNLINK")), sent
    assert result(summary, "remote_found") == 0 == result(summary, "remote_lost"), summary["results"]
    assert result(summary, "remote_hits") == 1, summary["results"]
    server.values[lost] = kept[lost]
    _, summary = measure(changes)
    assert result(summary, "remote_found") == 1 and result(summary, "remote_read_ops") == 1, summary["results"]
    assert result(summary, "remote_write_ops") == 0 == result(summary, "remote_write_bytes"), "nothing was written"


@case("of two runs that write a prompt at the same moment the first one owns it: the other writes and deletes nothing of it")
def _():
    kept, sent = {}, []

    def keeps(words, usual):
        kept.update({words[1]: words[2]} if words[0] == b"SET" else {})
        return usual

    def sooner(words, usual):
        sent.append(words)
        if words[0] != b"SET":
            return usual
        server.values.clear()
        server.values.update(kept)  # between our lookup and our write
        return b"$-1\r\n" if b"NX" in words else usual

    server = Played(keeps)
    (home() / "work/ops.csv").write_text("op,key,tokens\nwrite,prompt-1,96\nread,prompt-1,96\n")
    changes = {**PROMPTS, "tiers.remote": remote(server, chunk_tokens=32, share_prompts=True)}
    measure(changes)
    assert len(shared(kept)) == 3 and not server.values, list(kept)
    server.answer = sooner
    _, summary = measure(changes)
    assert [words[0] for words in sent].count(b"SET") == 1 and server.values == kept, sent
    assert not shared(words[1] for words in sent if words[0] == b"UNLINK"), sent
    assert result(summary, "remote_found") == 1 == result(summary, "remote_hits"), summary["results"]
    assert result(summary, "remote_write_bytes") == 0 == result(summary, "verify_mismatched"), summary["results"]


def counted(port, name):
    return scrape(port).total("kvfall_tier_%s_total" % name, tier="remote")


@case("SeaweedFS that is killed and comes back: errors are counted, and the run goes on")
def _():
    server = SeaweedFS()
    path, summary_path = write({**SMALL, "tiers.remote": bucket(server, timeout="500ms"), "run.max_requests": 0,
                                "run.interval": "200ms"}), home() / "work/summary.json"
    going = spawn(["run", "--headless", path, "--keep-going", "--json", summary_path, "--metrics", "127.0.0.1:0"],
                  env=server.env)
    port = serving(going)
    wait_until(lambda: counted(port, "transferred_bytes") > 0, 60, "bytes in the bucket")
    server.kill()
    wait_until(lambda: counted(port, "errors") > 0, 60, "an error that is counted")
    server.start()
    before = counted(port, "transferred_bytes")
    wait_until(lambda: counted(port, "transferred_bytes") > before, 60, "bytes in the bucket that came back")
    _, summary = stop(going, summary_path)
    assert result(summary, "operation_errors") > 0 == result(summary, "verify_mismatched"), summary["results"]


@case("nvme, Valkey and S3 under the same requests: which loads sooner than it computes, in text and JSON")
def _():
    kv, s3 = valkey(), SeaweedFS()
    common = {**SMALL, "tiers.nvme": None, "compute": {"mode": "roofline", "gpu": "h100"}, "run.max_requests": 150,
              "workload.personas": [{"name": "brief", "context": [600, 1800], "generate": [20, 60], "think": ["2ms", "10ms"]}]}
    each = [measure({**common, **store}, env=s3.env)[1]
            for store in ({"tiers.nvme": {"capacity": "8MiB", "path": ".", "io_size": "64KiB"}},
                          {"tiers.remote": remote(kv, chunk_tokens=64)}, {"tiers.remote": bucket(s3)})]
    got = run(["compare", "1", "2", "3", "--json"])
    assert got.rc == 0, got
    stores = [side["store"] for side in json.loads(got.stdout)["sides"]]
    assert [one["tier"] for one in stores] == ["nvme", "remote", "remote"], stores
    assert [one["description"].split(":")[0] for one in stores] == ["libaio", "resp", "s3"], stores
    for summary, one in zip(each, stores):
        for size, ms in one["load_ms"].items():
            assert ms == result(summary, "%s_load_%s_ms" % (one["tier"], size)) and (ms is not None) == (size == "1k"), (one, size)
            again = one["recompute_ms"][size]
            assert again == result(summary, "recompute_%s_ms" % size) and (again is None) == (ms is None), (one, size)
        for what in ("break_even_tokens", "loads_from_tokens", "loads_to_tokens"):
            assert one[what] == result(summary, one["tier"] + "_" + what), (one, what)
    text = run(["compare", "1", "2", "3"], env={"COLUMNS": "120"}).stdout
    first = min(range(3), key=lambda i: stores[i]["load_ms"]["1k"])
    assert "Loading from stores below memory, against recomputing" in text, text
    assert "run %d loads 1k tokens soonest, from %s in " % (first + 1, stores[first]["tier"]) in " ".join(text.split()), text
    assert "A size has no time where no read was as large, or as small" in " ".join(text.split()), text


main()
