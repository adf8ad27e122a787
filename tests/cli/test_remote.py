#!/usr/bin/env python3
"""A store in the network below the drive, capacities in blocks, and the price of asking an index."""
import json

from runs import TOKEN_BYTES, measure, refused, result, rows, write
from tap import case, home, main, run

BLOCKS = {"cache.granularity": "block", "cache.block_tokens": 16}
BLOCK_BYTES = 16 * TOKEN_BYTES


@case("what falls out of nvme is kept in the remote tier, and read from there")
def _():
    got, summary = measure({"tiers.gpu": None, "tiers.cpu.capacity": "1MiB", "tiers.nvme.capacity": "1MiB",
                            "tiers.remote": {"capacity": "64MiB", "preset": "ethernet-100g"},
                            "workload.prefix.probability": 0, "run.duration": "600ms"})
    remote = summary["tiers"]["remote"]
    assert remote["on"] and remote["emulated"] and remote["usable_bytes"] == 64 << 20, remote
    assert result(summary, "nvme_demotions") > 0 and result(summary, "remote_entries") > 0, summary["results"]
    assert result(summary, "remote_write_bytes") == result(summary, "remote_write_demotion_bytes") > 0
    assert result(summary, "remote_hits") > 0 and result(summary, "remote_read_bytes") > 0
    assert "remote emulated" in " ".join(got.stdout.split()) or "remote" in got.stdout, got
    stored = rows("SELECT DISTINCT tier FROM tier_intervals ORDER BY tier")
    assert [row["tier"] for row in stored] == ["cpu", "nvme", "remote"], stored


@case("a tier's capacity may be a number of blocks")
def _():
    changes = {**BLOCKS, "tiers.gpu": None, "tiers.cpu": {"blocks": 40}, "cache.headroom": 0}
    _, summary = measure(changes)
    assert summary["tiers"]["cpu"]["usable_bytes"] == 40 * BLOCK_BYTES, summary["tiers"]
    assert result(summary, "cpu_entries") <= 40
    shown = run(["check", write(changes)]).stdout
    assert "    blocks: 40\n" in shown and "    capacity: 1280KiB\n" in shown, shown
    refused(["check", write({"tiers.cpu": {"blocks": 40}})], "tiers.cpu.blocks", "granularity is request")
    refused(["check", write({**BLOCKS, "tiers.cpu": {"blocks": 40, "capacity": "1MiB"}})], "tiers.cpu.blocks",
            "two different sizes")


@case("asking an index is part of the time to first token, and of no tier's")
def _():
    _, summary = measure({**BLOCKS, "cache.lookup_cost": "20ms"})
    assert result(summary, "requests_done") > 0
    assert result(summary, "ttft_p50_ms") >= 19.8, summary["results"]["ttft_p50_ms"]
    assert result(summary, "storage_io_p50_ms") < result(summary, "ttft_p50_ms") - 19, summary["results"]


@case("blocks that a request finds in a store are one load: its latency once, its bandwidth for all of them")
def _():
    requests = []
    for k in range(1, 61):  # a prompt of 5 to 300 blocks is written, and asked for again a second later
        for at in (2 * k, 2 * k + 1):
            requests.append({"timestamp": 1000 * at, "input_length": 16 * 5 * k, "output_length": 1,
                             "hash_ids": list(range(1000 * k, 1000 * k + 5 * k))})
    (home() / "work/blocks.jsonl").write_text("".join(json.dumps(one) + "\n" for one in requests))
    got, summary = measure({**BLOCKS, "mode": "simulate", "tiers.gpu": None, "tiers.cpu": None, "tiers.nvme": None,
                          "tiers.remote": {"capacity": "1GiB", "read_bandwidth": "100MB/s", "write_bandwidth": "1GB/s",
                                           "latency": "5ms"},
                          "compute": {"mode": "roofline", "gpu": "h100"}, "run.duration": "5m", "engine.slots": 600,
                          "workload": {"source": "mooncake", "path": "blocks.jsonl"}})
    for size, tokens in (("1k", 1000), ("4k", 4000)):
        expected = 5 + tokens * TOKEN_BYTES / 1e5
        load_ms = result(summary, "remote_load_%s_ms" % size)
        assert abs(load_ms - expected) < 0.01 * expected, (size, load_ms, expected)
    # the largest read is of 4800 tokens: of longer contexts nothing is said
    assert result(summary, "remote_loads_to_tokens") == 8192 and result(summary, "remote_load_16k_ms") is None
    assert result(summary, "recompute_4k_ms") > 0 and result(summary, "recompute_16k_ms") is None
    even = result(summary, "remote_break_even_tokens")
    words = "from %d tokens on" % even if even > 0 else "not up to 8192 tokens"
    assert "remote %s (of 64 to 8192 read)" % words in " ".join(got.stdout.split()), got.stdout
    assert "4k tokens: computing" in got.stdout and "16k tokens" not in got.stdout, got.stdout


main()
