#!/usr/bin/env python3
"""Chunks of documents that miss are never written or computed again: less work never looks like success."""
import json
import re

from reports import case
from runs import result, rows
from tap import home, main, run

RAG = {"name": "rag", "model": "llama3.1-8b", "mode": "simulate", "run": {"duration": "60s", "warmup": "5s"},
       "tiers": {"gpu": {"capacity": "4GiB"}, "cpu": {"capacity": "16GiB"}, "nvme": {"capacity": "64GiB", "path": "."}},
       "workload": {"users": 30, "prefix": {"probability": 0}, "conversation": {"end_probability": 1},
                    "rag": {"documents": 20, "probability": 0.9, "top_k": 10}}}
TURNS = {**RAG, "workload": {"users": 20}, "run": {"duration": "20s", "warmup": "5s"},
         "tiers": {"gpu": {"capacity": "1GiB"}, "cpu": {"capacity": "2GiB"}, "nvme": {"capacity": "16GiB", "path": "."}}}
GPU = {"mode": "roofline", "gpu": "h100"}
NO_ADVICE = "with cache.granularity: block a modelled GPU "


def ran(changes):
    """The summary of a run, and its text as one line."""
    (home() / "work/rag.yaml").write_text(json.dumps({**RAG, **changes}))
    got = run(["run", "rag.yaml", "--headless", "--db", "none", "--json", "run.json"])
    assert got.rc == 0, got
    return json.loads((home() / "work/run.json").read_text()), " ".join(got.stdout.split())


def swept(scenario, sweep):
    """What a sweep prints, and its report from the database: each as one line."""
    (home() / "work/sweep.yaml").write_text(json.dumps({**scenario, "sweep": sweep}))
    got = run(["sweep", "sweep.yaml", "--quiet", "--headless"])
    report = run(["report", "sweep:latest", "--format", "md", "-o", "-"])
    assert (got.rc, report.rc) == (0, 0), (got, report)
    return [" ".join(text.split()) for text in (got.stdout, report.stdout)]


def nvme(capacity):
    return {**RAG["tiers"], "nvme": {"capacity": capacity, "path": "."}}


@case("lookups of chunks that miss are told in a warning, at either granularity")
def _():
    for granularity in ("block", "request"):
        for capacity, told in (("200GiB", False), ("4GiB", True)):
            summary, text = ran({"tiers": nvme(capacity), "cache": {"granularity": granularity}})
            lookups, hits = (int(result(summary, "rag_%s" % what)) for what in ("lookups", "hits"))
            words = "%d of %d lookups of document chunks missed: nothing reads or computes those chunks" % (lookups - hits, lookups)
            assert (lookups > 2 * hits) == told and lookups > 0, (lookups, hits)
            assert (words in text) == told and ("document chunks missed" in text) == told, text
            assert "misses_not_computed" not in summary["results"]


@case("beside a modelled GPU chunks that miss at granularity block are not computed, and what was not kept is undone work")
def _():
    for admission, undone in (("always", False), ("size_limit", True)):
        summary, _ = ran({"compute": GPU, "tiers": nvme("4GiB"), "workload": {**RAG["workload"], "rag": {**RAG["workload"]["rag"], "documents": 60}},
                          "cache": {"granularity": "block", "admission": admission, **({"admission_limit": "1MiB"} if undone else {})}})
        missed = result(summary, "rag_lookups") - result(summary, "rag_hits")
        assert result(summary, "misses_not_computed") == missed > 0, summary["results"]
        assert ("writes were not admitted" in (summary["run"]["undone"] or "")) == undone, summary["run"]
        assert undone or summary["run"]["undone"] is None, summary["run"]
    summary, _ = ran({"compute": GPU, "tiers": nvme("200GiB"), "cache": {"granularity": "block"}})
    assert result(summary, "rag_lookups") == result(summary, "rag_hits") and "misses_not_computed" not in summary["results"]


@case("a search counts the chunks that missed, and gives no advice that does not help them")
def _():
    search = {"profile": "capacity", "find": "tiers.nvme.capacity", "between": ["4GiB", "8GiB"], "precision": 0.5,
              "target": {"metric": "throughput_tok_s", "op": ">=", "value": 1}}
    both = {**RAG, "workload": {"users": 20, "rag": RAG["workload"]["rag"]}}
    chunks = r"[0-9.k]+ lookups of document chunks missed at 4GiB\. Such a miss makes no work, so less room can look faster\."
    turns = r"[0-9.k]+ lookups missed at 4GiB\. At granularity request .* %s.*, unless it is of a document chunk\." % NO_ADVICE
    for scenario, words in (({**RAG, "cache": {"granularity": "block"}}, chunks), (RAG, chunks), (both, turns),
                            ({**RAG, "cache": {"granularity": "block"}, "compute": GPU}, chunks)):
        for text in swept(scenario, search):
            assert re.search(words, text) and (NO_ADVICE in text) == (words == turns), text


@case("a sweep gives the reason why fewer hits look better at its granularity, also where a group of settings chooses it")
def _():
    written, chunk = "a miss is written instead of being read and computed by nothing", "A miss of a document chunk makes no work"
    request, computed = "At granularity request a miss makes no work", "Computing a miss again can take less time than loading a hit"
    blocks = {"cache": {"granularity": "block"}}
    expires = {"cache": {"granularity": "block", "eviction": "ttl"}}
    slow = {**TURNS["tiers"], "nvme": {"capacity": "16GiB", "path": ".", "read_bandwidth": "200MB/s", "write_bandwidth": "4GB/s"}}
    short = {"keys": {"cache.ttl": ["1us", "1h"]}, "metrics": "throughput_tok_s"}
    room = {"keys": {"tiers.nvme.capacity": ["4GiB", "200GiB"]}, "metrics": "throughput_tok_s"}
    group = {"variants": {"cache": {"blocks": {"cache.granularity": "block"}}}, **room}
    for scenario, sweep, words in (({**TURNS, **expires, "tiers": slow}, short, written), ({**TURNS, **expires, "tiers": slow, "compute": GPU}, short, computed),
                                   ({**RAG, **blocks}, room, chunk), (RAG, group, chunk), (RAG, room, request)):
        for text in swept(scenario, sweep):
            assert "Point 1, the best by tokens/s, hits less than point 2" in text, (words, text)
            assert [one for one in (written, chunk, request, computed) if one in text] == [words], (words, text)


@case("a system that loses all documents is called best only beside the chunks that it missed, and never better")
def _():
    small = {"model": "llama3.1-8b", "mode": "simulate", "run": {"duration": "60s", "warmup": "30s"},
             "tiers": {"gpu": {"capacity": "8GiB"}, "nvme": {"capacity": "200GiB", "read_bandwidth": "7GB/s", "write_bandwidth": "6GB/s"}},
             "cache": {"granularity": "block", "block_tokens": 16, "headroom": 0},
             "workload": {"users": 20, "prefix": {"probability": 0}, "conversation": {"end_probability": 0.3, "max_turns": 8},
                          "personas": [{"name": "chat", "context": [1024, 4096], "generate": [50, 200], "think": ["1s", "2s"]}],
                          "rag": {"documents": 200, "probability": 0.3, "chunk_tokens": 1024, "top_k": 5, "distribution": "uniform",
                                  "tokens": [4000, 12000]}},
             "qos": {"classes": [{"name": "all", "share": 1, "p95": "2s"}]}}
    words = r"Point 1, the best by end-to-end P95, finds fewer document chunks than point 2: of those looked up [0-9.]+ % against " \
            r"[89]\d\.\d %\. A miss of a document chunk makes no work"
    for text in swept(small, {"keys": {"tiers.nvme.capacity": ["30GiB", "300GiB"]}, "metrics": "e2e_p95_ms"}):
        assert re.search(words, text), text
    hit = [row["hits"] for row in rows("SELECT max(CASE metric WHEN 'reuse_hit_ratio' THEN value END) AS hits FROM results GROUP BY run_id")]
    assert abs(hit[0] - hit[1]) < 0.01, hit  # all that comes again hides them
    few, many = (str(row["run_id"]) for row in rows("SELECT run_id FROM runs ORDER BY sweep_point"))
    for sides, verdict in (([many, few], r"worse than run \d: fewer lookups of document chunks hit \([0-9.]+ % after [89]\d"),
                           ([few, many], r"run \d.*: more lookups of document chunks hit \([89]\d.* % after")):
        text = " ".join(run(["compare", *sides]).stdout.split())
        assert re.search(verdict, text) and "The document chunks that run %s looked up hit less than those of run %s: " % (few, many) in text, text


main()
