#!/usr/bin/env python3
"""Runs on conversations of a data set: what is asked, read and hit is what a reader in Python finds in the file."""
import hashlib
import json

from runs import healthy, last_run, measure, refused, result, rows, trace, write
from tap import case, home, main, run

# One tier that keeps no bytes, takes no time and holds everything.
ALL_FITS = {"tiers.cpu": None, "tiers.nvme": None, "tiers.gpu.capacity": "64GiB", "tiers.gpu.latency": "0s",
            "tiers.gpu.read_bandwidth": "100TB/s", "tiers.gpu.write_bandwidth": "100TB/s",
            "workload.source": "sharegpt", "workload.personas": None, "workload.prefix": {"probability": 0},
            "run.duration": "60s"}
MODELS = {"gpt", "assistant", "chatgpt", "bing", "bard", "model", "function_call"}
FILES = ("dialogstudio_sharegpt_5.json", "fastchat_dummy_conversation.json",
         "llamafactory_glaive_toolcall_en_demo.json")


def chars4(text):
    return -(-len(text) // 4)


def turns(conversation, count=chars4):
    """(context, generated) of each turn, as the manual has it."""
    found, asked = [], 0
    for message in conversation["conversations"]:
        tokens = count(message["value"])
        if message["from"] not in MODELS:
            asked += tokens
        elif asked:
            found.append([asked, tokens])
            asked = 0
        elif found:
            found[-1][1] += tokens
    return [(min(context, 16384), min(generated, 2048)) for context, generated in found]


def conversation(*texts):
    return {"conversations": [{"from": "gpt" if number % 2 else "human", "value": text}
                              for number, text in enumerate(texts)]}


def dataset(text, name="set.json", changes=None):
    path = home() / "work" / name
    path.write_bytes(text if isinstance(text, bytes) else (text if isinstance(text, str) else json.dumps(text)).encode())
    return {**ALL_FITS, "workload.path": path.name, **(changes or {})}


for file in FILES:
    @case("%s: every turn reads what was written in the turns before" % file)
    def _(file=file):
        path = trace("sharegpt/" + file)
        told = [turns(one) for one in json.loads(path.read_text())]
        each = [turn for one in told for turn in one]
        earlier = sum(len(one) * (len(one) - 1) // 2 for one in told)
        got, summary = measure({**ALL_FITS, "workload.path": str(path)})
        assert result(summary, "requests_done") == len(each), summary["results"]
        assert result(summary, "rows_read") == result(summary, "rows_emitted") == len(told), summary["results"]
        assert result(summary, "tokens_generated") == sum(generated for _, generated in each), summary["results"]
        assert result(summary, "gpu_write_bytes") == 2048 * sum(context for context, _ in each), summary["results"]
        assert result(summary, "conversation_lookups") == result(summary, "conversation_hits") == earlier
        assert result(summary, "gpu_read_decode_ops") == sum(1 + -(-generated // 32) for _, generated in each)
        assert result(summary, "turns_context_cut") == result(summary, "turns_generate_cut") == 0
        assert summary["run"]["trace"]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert summary["run"]["tokenizer"] == "chars4" == last_run()["tokenizer"] and healthy()
        assert "tokenizer chars4" in got.stdout, got


@case("at block granularity the blocks of what was said before are hits")
def _():
    path = trace("sharegpt/" + FILES[2])
    lookups = hits = written = 0
    for one in json.loads(path.read_text()):
        history = before = spoken = 0
        for context, generated in turns(one):
            history += spoken + context
            spoken = generated
            lookups, hits, written = lookups + history // 16, hits + before, written + history // 16 - before
            before = history // 16
    _, summary = measure({**ALL_FITS, "workload.path": str(path), "cache.granularity": "block",
                          "cache.block_tokens": 16}, "--db", "none")
    assert (result(summary, "lookups"), result(summary, "hits")) == (lookups, hits), summary["results"]
    assert result(summary, "gpu_write_ops") == written, summary["results"]


@case("a limit, a number of requests, replays")
def _():
    ten = [conversation("a" * 4 * number, "b" * 8, "c" * 4, "d" * 4) for number in range(1, 11)]
    _, summary = measure(dataset(ten, changes={"workload.limit": 4}), "--db", "none")
    assert result(summary, "rows_read") == 4 and result(summary, "requests_done") == 8, summary["results"]
    assert result(summary, "gpu_write_bytes") == 2048 * (1 + 2 + 3 + 4 + 4), summary["results"]
    changes = {"workload.arrival": {"cycles": 3}, "workload.users": 2}
    _, summary = measure(dataset(ten, changes=changes), "--db", "none")
    assert result(summary, "rows_read") == 30 and result(summary, "requests_done") == 60, summary["results"]
    assert result(summary, "conversation_hits") == 30 and result(summary, "gpu_entries") == 60, summary["results"]
    changes = {"workload.arrival": {"process": "poisson", "rate": 20000, "cycles": 3}, "workload.users": 2}
    _, summary = measure(dataset(ten, changes=changes), "--db", "none")
    assert result(summary, "rows_read") == 30 and result(summary, "requests_done") == 60, summary["results"]
    changes = {"workload.arrival": {"cycles": 0}, "run.max_requests": 77}
    _, summary = measure(dataset(ten, changes=changes), "--db", "none")
    assert result(summary, "requests_done") == 77, summary["results"]


# One conversation of many turns, and short ones: their users are through long before the run ends.
SHORT, LONG = conversation("a" * 400, "b" * 800), conversation(*["c" * 40, "d" * 400] * 60)
RUNS_OUT = {"mode": "simulate", "tiers": {"cpu": {"capacity": "64GiB"}, "nvme": {"capacity": "64GiB"}}, "compute": {"mode": "fixed", "ms_per_token": 5}, "qos": {"classes": [{"name": "a", "p95": "100s"}]},
            "run.duration": "20s", "run.warmup": "0s", "workload.users": 4}


def comparable():
    return rows("SELECT comparable FROM run_summary ORDER BY run_id DESC LIMIT 1")


@case("users who have played their conversations are no load any more, and the run says for how much of their time")
def _():
    log, file = home() / "work/requests.jsonl", [SHORT, SHORT, LONG, LONG]
    for warmup in (0, 0.5):
        changes = {**RUNS_OUT, "run.warmup": "%gs" % warmup}
        got, summary = measure(dataset(file, changes=changes), "--request-log", log, "--overwrite", "--assert", rc=3)
        asked = [json.loads(line) for line in log.read_text().splitlines()]
        ends = {row["conversation"]: row["arrival_s"] + row["e2e_ms"] / 1e3 for row in sorted(asked, key=lambda row: row["arrival_s"])}
        idle = sum(20 - max(0, end - warmup) for end in sorted(ends.values())[:2]) / 80
        assert abs(result(summary, "users_exhausted_ratio") - idle) < 1e-3 and 0.4 < idle < 0.5, (idle, summary["results"])
        assert "users had nothing left to ask for %.0f %% of their time in the measured part" % (100 * idle) in " ".join(got.stdout.split()), got
        assert [one["name"] for one in summary["criteria"] if one["passed"] is False] == ["users with nothing to ask"], summary["criteria"]
        assert result(summary, "slo_a_p95_met") == 1 and summary["verdict"]["sentence"].startswith("load: 4"), summary["verdict"]  # a part of the load met it
        assert comparable() == [{"comparable": 0}] and "its users ran out of requests" in run(["history", "--json"]).stdout
    _, summary = measure(dataset(file, changes={**changes, "workload.arrival": {"cycles": 0}}), "--assert")
    assert "users_exhausted_ratio" not in summary["results"] and comparable() == [{"comparable": 1}], summary["results"]


@case("a run that plays its whole file is one, unless the file has nothing for many of the users")
def _():
    changes = {**RUNS_OUT, "run.duration": "1h"}
    _, summary = measure(dataset([SHORT, SHORT, SHORT, LONG], changes=changes), "--assert")
    assert result(summary, "measured_s") < 3600 and "users_exhausted_ratio" not in summary["results"], summary["results"]
    got, summary = measure(dataset([SHORT, SHORT, SHORT, LONG], changes={**changes, "workload.users": 5}), "--assert", rc=3)
    assert result(summary, "users_exhausted_ratio") == 0.2 and "set workload.users to 4" in " ".join(got.stdout.split()), got
    got, summary = measure(dataset([conversation("a", "b" * 8000), *[conversation(*["c"] * 80)] * 3], changes={**changes, "run.warmup": "200ms"}), "--assert", rc=3)
    assert result(summary, "users_exhausted_ratio") > 0.05 and "or run.warmup: 0 to measure the whole file" in " ".join(got.stdout.split()), got


@case("users of ranks have conversations where the file has enough")
def _():
    for conversations, missing in ((40, set()), (36, {36})):
        path = home() / "work/ranks.json"
        got = run(["run", write(dataset([SHORT] * conversations, changes={**RUNS_OUT, "workload.users": 40})), "--headless", "--ranks", "4", "--json", path, "--overwrite", "--db", "none"])
        assert got.rc == 0, got
        told = [one["message"] for one in json.loads(path.read_text())["events"] if "nothing to ask" in one["message"]]
        assert all("1 of 10 users had nothing to ask: " in one for one in told), told
        assert {int(one.split("set workload.users to ")[1]) for one in told} == missing, told


@case("no sweep calls a point best whose users ran out, no autoscaler adds users to them, and no plan is made for them")
def _():
    path = dataset([SHORT, SHORT, LONG, LONG], changes=RUNS_OUT)
    got = run(["sweep", write({**path, "sweep": {"keys": {"workload.users": [2, 4]}, "metrics": "requests_per_s"}}), "--db", "none", "--quiet"])
    text = " ".join(got.stdout.split())
    assert "at workload.users=2" in text and "1 of 2 points had users with nothing left to ask" in text, got
    refused(["check", write({**path, "autoscaler": {"mode": "qos"}})], "workload.arrival.cycles", "set workload.arrival.cycles: 0")
    refused(["run", write(path), "--headless", "--db", "none", "--autoscaler", "capacity"], "set workload.arrival.cycles: 0")
    again = {**path, "workload.arrival": {"cycles": 0}}
    assert run(["check", write({**again, "autoscaler": {"mode": "qos"}})]).rc == 0
    refused(["plan", write({**path, "model": "llama3.1-8b", "compute": {"mode": "roofline"}})], "set workload.arrival.cycles: 0")


@case("a row for each conversation that is of no use, and a warning when the file breaks off")
def _():
    good = json.dumps(conversation("four", "eight888"))
    text = b"[%s,\n{},\n" % good.encode() + good.replace("four", "\0").encode() + b",\n7," + good.encode() + b",\n{\"id\""
    got, summary = measure(dataset(text))
    assert result(summary, "requests_done") == result(summary, "rows_emitted") == 2, summary["results"]
    assert result(summary, "rows_read") == 6 and result(summary, "rows_rejected_malformed") == 4, summary["results"]
    told = [event["message"] for event in summary["events"] if event["level"] == "warning"]
    assert "4 of 6 rows of the trace were rejected, the first at line 2: conversation 2: it has no \"conversations\"" \
        in told, told
    assert [one for one in told if one.startswith("the file of the workload was read no further: line 5, byte")], told
    assert "read no further" in got.stdout, got


@case("counts of another tokenizer take the place of characters, and the results say so")
def _():
    counts = home() / "work/counts.jsonl"
    counts.write_text('[100, 7]\n{"id": "b", "tokens": [20000, 3000]}\n')
    two = [conversation("x", "y"), {**conversation("x", "y"), "id": "b"}]
    got, summary = measure(dataset(two, changes={"workload.tokenizer": counts.name}))
    assert result(summary, "tokens_generated") == 7 + 2048, summary["results"]
    assert result(summary, "gpu_write_bytes") == 2048 * (100 + 16384), summary["results"]
    assert result(summary, "turns_context_cut") == result(summary, "turns_generate_cut") == 1, summary["results"]
    assert summary["run"]["tokenizer"] == "counts.jsonl (counts)" == last_run()["tokenizer"], summary["run"]
    assert "tokenizer counts.jsonl (counts)" in got.stdout, got
    shown = run(["show", "--json"])
    assert json.loads(shown.stdout)["run"]["tokenizer"] == "counts.jsonl (counts)", shown


@case("keys that conversations of a file use, and those they do not")
def _():
    def unused(changes):
        got = run(["check", write(dataset([conversation("four", "four")], changes=changes))])
        assert got.rc == 0, got
        return got.stdout.partition("Keys without effect here:\n")[2].partition("#\n")[0]

    used = {"engine.noise": None, "run.block_trace": None, "workload.tokenizer": "chars4", "workload.conversation": {"reads": "previous"},
            "workload.users": 3, "workload.limit": 7, "workload.arrival": {"cycles": 2},
            "workload.prefix": {"probability": 0.5, "prompt_tokens": 4}}
    assert unused(used) == "#   none\n", unused(used)
    told = unused({"workload.conversation": {"max_turns": 3, "end_probability": 0.1}, "cache.granularity": "block",
                   "workload.personas": [{"name": "brief"}]})
    for key in ("workload.conversation.max_turns", "workload.conversation.end_probability", "workload.personas"):
        assert "#   %s: " % key in told, told
    assert "workload.conversation.reads" in unused({"workload.conversation": {"reads": "all"},
                                                    "cache.granularity": "block"})


@case("what cannot be used is refused before anything is made")
def _():
    refused(["run", "--headless", write(dataset("{}"))], "set.json", "line 1, byte 0: this is no array of conversations")
    refused(["run", "--headless", write(dataset("[]"))], "set.json", "has no conversations")
    good = [conversation("four", "four")]
    for changes, words in (
            ({"workload.path": None}, ("workload.path: missing; source sharegpt reads a file",)),
            ({"workload.tokenizer": "none.jsonl"}, ("none.jsonl", "No such file")),
            ({"workload.tokenizer": "set.json"}, ("set.json", "a count of tokens is no whole number")),
            ({"workload.arrival": {"process": "paced"}}, ("which source sharegpt does not have; take closed",)),
            ({"workload.arrival": {"process": "trace"}}, ("source sharegpt takes closed",)),
            ({"workload.phase": "decode"}, ("which source sharegpt does not have; take both or prefill",))):
        refused(["run", "--headless", write(dataset(good, changes=changes))], *words)


if __name__ == "__main__":
    main()
