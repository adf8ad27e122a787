#!/usr/bin/env python3
"""record --events: what an engine publishes becomes a trace with its blocks, and gaps are asked for again."""
import json
import re
import signal
import time

import runs
from played_events import BLOCK, Engine, requests
from tap import case, finish, home, main, run, spawn, wait_until


def recording(engines, serve, *options, replay=True, rc=143, turn="0s"):
    out = home() / "work/events.jsonl"
    process = spawn(["record", "-o", out, "--overwrite", "--turn-after", turn, *options] + [word for engine in engines for word in (
        "--events", engine.address + ("," + engine.replay if replay else ""))])
    try:
        for engine in engines:
            wait_until(engine.subscribed, what="a subscription")
        rows = serve()
        wait_until(lambda: out.exists() and out.read_bytes().count(b"\n") == rows, what="%d rows" % rows)
        process.send_signal(signal.SIGTERM)
        got = finish(process, 30)
    finally:
        for engine in engines:
            engine.close()
    assert got.rc == rc, got
    return [json.loads(line) for line in out.read_text().splitlines()], got


def alike(lists, others):
    """The same lists of blocks under other names."""
    names = {}
    return len(lists) == len(others) and all(
        [names.setdefault(block, len(names)) for block in one] == other for one, other in zip(lists, others))


def served(engine, made, **how):
    """The prefixes of the requests of which something was stored."""
    wanted = []
    for number, one in enumerate(made):
        found, names = engine.serve(one["at"], one["tokens"], **(how.get("each", lambda number: {})(number)))
        if found < len(names):
            wanted.append(names)
    return wanted


for arrays in (False, True):
    @case("each stored run of blocks is a request with its whole prefix, from %s" % ("lists" if arrays else "maps"))
    def _(arrays=arrays):
        engine, wanted = Engine(400, BLOCK, arrays), []
        rows, got = recording([engine], lambda: wanted.extend(served(engine, requests(200))) or len(wanted))
        assert alike(wanted, [row["hash_ids"] for row in rows]), got
        assert all(row["block_size"] == BLOCK and row["input_length"] == BLOCK * len(row["hash_ids"]) for row in rows)
        assert "%d blocks stored" % engine.stored in got.stdout and "%d removed" % engine.removed in got.stdout, got
        assert engine.removed > 0 and "Residence: P50" in got.stdout and "lost" not in got.stdout, got


@case("the stream of blocks has each that was stored and removed, and the engine's hits are those of its requests")
def _():
    engine, wanted, stream = Engine(400, BLOCK), [], home() / "work/blocks.csv"
    _, got = recording([engine], lambda: wanted.extend(served(engine, requests(200))) or len(wanted), "--blocks", stream)
    head, *lines = stream.read_text().splitlines()
    assert head == "time_s,pod,event,block,medium" and all(line.endswith(",GPU") for line in lines)
    events = [line.split(",")[2:4] for line in lines]
    assert sum(event == "stored" for event, _ in events) == engine.stored
    assert sum(event == "removed" for event, _ in events) == engine.removed
    there = set()
    for event, block in events:
        assert (block in there) == (event == "removed"), (event, block)
        (there.remove if event == "removed" else there.add)(block)
    assert len(there) == len(engine.cache)
    hits = 1 - engine.stored / sum(map(len, wanted))
    assert "Hits of the engine: %.1f %%" % (100 * hits) in got.stdout and hits > 0.3, (hits, got)


for arrays in (False, True):
    @case("copies in another medium are no requests, from %s" % ("lists" if arrays else "maps"))
    def _(arrays=arrays):
        engine, stream = Engine(10 ** 6, BLOCK, arrays), home() / "work/blocks.csv"

        def serve():
            _, names = engine.serve(1.7e9, list(range(64)))
            copy = engine._event("BlockStored", block_hashes=names[:2], parent_block_hash=None, token_ids=[], block_size=BLOCK,
                                 lora_id=None, medium="CPU")
            engine.publish(1.7e9 + 1, [copy, engine._event("BlockRemoved", block_hashes=names[:1], medium="CPU")])
            engine.serve(1.7e9 + 2, list(range(64)) + [9] * 16)
            return 2

        rows, got = recording([engine], serve, "--blocks", stream)
        assert [len(row["hash_ids"]) for row in rows] == [4, 5], rows
        assert "7 blocks stored, 0 of them again, 1 removed" in got.stdout, got
        assert [line.split(",")[2:] for line in stream.read_text().splitlines()[5:8]] == [
            ["stored", "0", "CPU"], ["stored", "1", "CPU"], ["removed", "0", "CPU"]], stream.read_text()


@case("parts of a prompt are one request, blocks of its answer none, and what comes later is the next turn")
def _():
    engine, names = Engine(10 ** 6, BLOCK), list(range(100, 120))

    def store(at, first, last, parent=True):
        engine.publish(1.7e9 + at, [engine._event(
            "BlockStored", block_hashes=names[first:last], parent_block_hash=names[first - 1] if parent else None,
            token_ids=list(range(first * BLOCK, last * BLOCK)), block_size=BLOCK, lora_id=None, medium="GPU")])

    def serve():
        for at, first, last in ((0, 0, 4), (0.3, 4, 5), (0.6, 5, 8), (0.9, 8, 11), (1.4, 11, 12), (3.2, 12, 13), (5.1, 13, 14),  # a prompt, its answer
                                (5.6, 14, 17),  # an agent's next turn
                                (9, 17, 18)):   # and one much later
            store(at, first, last, first > 0)
        return 3

    rows, got = recording([engine], serve, turn="2s")
    assert [(row["timestamp"], len(row["hash_ids"])) for row in rows] == [(0, 11), (5600, 17), (9000, 18)], rows
    assert "18 blocks stored" in got.stdout and "Blocks stored while answering, which are no lookups: 3" in got.stdout, got
    assert "Hits of the engine: %.1f %%" % (100 - 100 * (11 + 3 + 1) / (11 + 17 + 18)) in got.stdout, got
    refused = run(["record", "--events", "tcp://127.0.0.1:9", "-o", home() / "work/x.jsonl", "--turn-after", "soon"])
    assert refused.rc == 2 and "--turn-after" in refused.stderr, refused


for _name in ("events.jsonl", "events.jsonl.zst"):
    @case("a prompt in parts over seconds stands at its time, and a kill amid it leaves it as it was: " + _name)
    def _(name=_name):
        out = home() / "work" / name

        def store(at, first, last):
            engine.publish(1.7e9 + at, [engine._event("BlockStored", block_hashes=list(range(first, last)), parent_block_hash=first - 1 if first % 100 else None,
                                                      token_ids=list(range(first * BLOCK, last * BLOCK)), block_size=BLOCK, lora_id=None, medium="GPU")])

        def rows():
            if run(["trace", out, "-o", home() / "work/left.jsonl", "--overwrite"]).rc:
                return []
            return [(row["timestamp"], len(row["hash_ids"])) for row in map(json.loads, (home() / "work/left.jsonl").read_text().splitlines())]

        for ends in (signal.SIGKILL, signal.SIGTERM):
            engine = Engine(10 ** 6, BLOCK)
            process = spawn(["record", "-o", out, "--overwrite", "--turn-after", "9s", "--events", engine.address])
            try:
                wait_until(engine.subscribed, what="a subscription")
                store(0, 400, 404)
                for at in range(1, 8):
                    store(0.5 * at + 1, 100 + 4 * at - 4, 100 + 4 * at)
                    store(0.5 * at + 1.1, 500 + 100 * at, 505 + 100 * at)
                wanted = [(0, 4), (1500, 28)] + [(500 * at + 1100, 5) for at in range(1, 8)]
                if ends == signal.SIGKILL:
                    wait_until(lambda: out.exists() and rows() == wanted, what="what is there of the prompt")
                else:
                    wait_until(lambda: out.exists() and out.stat().st_size > 0, what="rows")
                process.send_signal(ends)
                got = finish(process, 30)
            finally:
                engine.close()
            assert rows() == wanted and "Later" not in got.stdout, (rows(), got)


@case("residence is right behind an early clock and months; adapters share nothing; other sizes of blocks are left out")
def _():
    engines = [Engine(10 ** 6, BLOCK), Engine(10 ** 6, BLOCK, arrays=True)]

    def store(engine, at, names, parent=None, size=BLOCK, lora=None):
        engine.publish(float(at), [engine._event("BlockStored", block_hashes=names, parent_block_hash=parent,
                                                 token_ids=[7] * size * len(names), block_size=size, lora_id=lora, medium="GPU")])

    def serve():
        one, two = engines
        store(one, 100, [1, 2])
        store(one, 101, [1, 2])
        for day in (0, 100, 9000):
            store(one, 1.7e9 + 86400 * day, [3 + day, 4 + day])
            store(one, 1.7e9 + 86400 * day + 1, [20000 + day, 20001 + day])
            one.publish(1.7e9 + 86400 * day + 10, [one._event("BlockRemoved", block_hashes=[3 + day, 4 + day], medium="GPU")])
        for lora in (1, 2, 1):
            store(one, 1.7e9 + 86400 * 9000 + 20 + lora, [10 * lora, 10 * lora + 1], lora=lora)
        store(one, 1.7e9 + 86400 * 9000 + 30, [50], parent=21)
        wait_until(lambda: (home() / "work/events.jsonl").read_bytes().count(b"\n") == 12, what="12 rows")
        store(two, 1.7e9 + 86400 * 9000 + 40, [60], size=2 * BLOCK)
        for second in (41, 42):
            store(two, 1.7e9 + 86400 * 9000 + second, [70, 71], lora=2)
        return 14

    rows, got = recording(engines, serve)
    ids = [row["hash_ids"] for row in rows]
    assert ids == [[0, 1]] * 8 + [[2, 3], [2, 3], [4, 5], [4, 5, 6], [4, 5], [4, 5]], rows
    assert "Residence: P50 10.0 s, P90 10.0 s, mean 10.0 s." in got.stdout, got
    assert "Left out: 1 of 15 requests with blocks of another size than the first." in got.stdout, got


@case("an answer that came too late is none to the next request for lost batches")
def _():
    class Late(Engine):
        def _send(self, socket, *parts):
            for _ in range(2 if parts[1:] == (b"", b"\xff" * 8, b"") else 1):
                super()._send(socket, *parts)

    engine = Late(10 ** 6, BLOCK)

    def serve():
        for number in range(6):
            engine.serve(1.7e9 + number, [number] * BLOCK, heard=number % 2 == 0)
            if number % 2 == 0:
                wait_until(lambda: (home() / "work/events.jsonl").read_bytes().count(b"\n") >= number + 1, what="%d rows" % (number + 1))
        return 5

    rows, got = recording([engine], serve)
    assert "Batches that came when asked for again: 2" in got.stdout and "Lost batches" not in got.stdout, got


@case("an end that comes late, amid the next answer, does not end it")
def _():
    class Slow(Engine):
        """Its first answer comes when it is asked again."""
        first, answered = [], False

        def _send(self, socket, *parts):
            if socket is self.router and not self.answered:
                self.first.append(parts)
                self.answered = parts[2] == b"\xff" * 8
                return
            if socket is self.router and self.first:
                for late in self.first:
                    super()._send(socket, *late)
                self.first = []
                time.sleep(0.2)
            super()._send(socket, *parts)

    engine = Slow(10 ** 6, BLOCK)

    def serve():
        for number in range(5):
            engine.serve(1.7e9 + number, [number] * BLOCK, heard=number % 2 == 0)
            wait_until(lambda: (home() / "work/events.jsonl").read_bytes().count(b"\n") >= (1, 1, 2, 2, 4)[number], what="%d rows" % number)
        return 4

    rows, got = recording([engine], serve)
    assert "Batches that came when asked for again: 1" in got.stdout and "Lost batches: 1." in got.stdout, got


@case("batches that were not heard are asked for again; those that nobody has are counted, in every replay too")
def _():
    engine, wanted, lost = Engine(10 ** 6, BLOCK), [], []

    def each(number):
        if number == 60:
            lost.append(number)
        return {"heard": number % 20 not in (7, 8) and number != 60, "kept": number != 60}

    def serve():
        made = [{"at": 1.7e9 + number, "tokens": [number] * BLOCK * 3} for number in range(100)]
        wanted.extend(served(engine, made, each=each))
        del wanted[60]
        return len(wanted)

    rows, got = recording([engine], serve)
    assert alike(wanted, [row["hash_ids"] for row in rows]), got
    assert "Batches that came when asked for again: 10" in got.stdout and "Lost batches: 1" in got.stdout, got
    assert sum(row.get("lost", 0) for row in rows) == 1 == rows[0]["lost_in_all"]
    path = home() / "work/events.jsonl"
    assert json.loads(run(["trace", path, "--json", "-"]).stdout)["lost"] == 1
    _, summary = runs.measure({"model": "tiny-1b", "mode": "simulate", "cache": {"granularity": "block", "block_tokens": BLOCK},
                               "tiers": {"cpu": {"capacity": "1GiB"}}, "run": {"duration": "1h", "warmup": "0s"},
                               "workload": {"source": "mooncake", "path": str(path)}})
    assert "lost messages: 1" in json.dumps(summary["events"]), summary["events"]


for name in ("events.jsonl", "events.jsonl.zst"):
    @case("a gap behind the last request stands in the first row, and in what is cut out of it: " + name)
    def _(name=name):
        engine, out, cut = Engine(10 ** 6, BLOCK), home() / "work" / name, home() / "work/cut.jsonl"
        process = spawn(["record", "-o", out, "--events", engine.address])
        try:
            wait_until(engine.subscribed, what="a subscription")
            for number in range(3):
                engine.serve(1.7e9 + number, [number] * 16 * BLOCK, heard=number < 2)
            for _ in range(2):
                engine.publish(1.7e9 + 9, [{"type": "AllBlocksCleared"}], heard=False)
            engine.publish(1.7e9 + 10, [{"type": "AllBlocksCleared"}])
            wait_until(lambda: out.exists() and b'"lost_in_all":                    3' in out.read_bytes(), what="the gap")
            process.send_signal(signal.SIGKILL)
            finish(process, 30)
        finally:
            engine.close()
        for path in (out, cut):
            said = json.loads(run(["trace", path, "--json", "-"]).stdout)
            assert (said["requests"], said["lost"]) == (2, 3), said
            if path == out:
                assert run(["trace", out, "-o", cut]).rc == 0
        assert [json.loads(line).get("lost_in_all") for line in cut.read_text().splitlines()] == [3, None]
        # a pipe cannot be written over: its first row says nothing
        piped = run(["trace", out, "-o", "/dev/stdout", "--overwrite"])
        assert piped.rc == 0 and '{"timestamp": ' in piped.stdout and "lost_in_all" not in piped.stdout, piped


@case("a replay of recorded events looks up, hits and moves what a replay of the requests does")
def _():
    # of each request something is new, and all is whole blocks: an engine tells of no others
    made = [{**one, "tokens": [token for token in one["tokens"][::4] for _ in range(BLOCK)]} for one in requests(200)]
    engine, plain, names, results = Engine(10 ** 6, BLOCK), home() / "work/direct.jsonl", {}, []
    rows, _ = recording([engine], lambda: len(served(engine, made)))
    assert len(rows) == len(made)
    plain.write_text("".join(json.dumps({
        "timestamp": round((one["at"] - made[0]["at"]) * 1000), "input_length": len(one["tokens"]), "output_length": 0, "block_size": BLOCK,
        "hash_ids": [names.setdefault(tuple(one["tokens"][:end]), len(names)) for end in range(BLOCK, len(one["tokens"]) + 1, BLOCK)]}) + "\n"
        for one in made))
    for path in (plain, home() / "work/events.jsonl"):
        _, summary = runs.measure({"model": "tiny-1b", "mode": "simulate", "cache": {"granularity": "block", "block_tokens": BLOCK},
                                   "tiers": {"gpu": {"capacity": "64MiB"}, "cpu": {"capacity": "128MiB"}}, "run": {"duration": "1h", "warmup": "0s"},
                                   "workload": {"source": "mooncake", "path": str(path)}})
        results.append({name: runs.result(summary, name) for name in (
            "lookups", "hits", "misses", "gpu_hits", "cpu_hits", "gpu_write_bytes", "cpu_write_bytes", "total_read_bytes", "requests_done")})
    assert results[0] == results[1] and results[0]["requests_done"] == 200 and 0 < results[0]["cpu_hits"] < results[0]["hits"], results


@case("with one salt the blocks of an engine's events are those of the log of its gateway")
def _():
    made, log, salt, ids = requests(40), home() / "work/gateway.log", home() / "work/salt", home() / "work/log.jsonl"
    log.write_text("".join(json.dumps({"created": one["at"], "prompt_token_ids": one["tokens"]}) + "\n" for one in made))
    assert run(["record", log, "-o", ids, "--block-tokens", BLOCK, "--salt", salt]).rc == 0
    engine, wanted = Engine(10 ** 6, BLOCK), []
    rows, _ = recording([engine], lambda: wanted.extend(served(engine, made)) or len(wanted), "--salt", salt)
    logged = {block for line in ids.read_text().splitlines() for block in json.loads(line)["hash_ids"]}
    assert {block for row in rows for block in row["hash_ids"]} <= logged and len(logged) > 50
    joined = json.loads(run(["trace", ids, home() / "work/events.jsonl", "--json", "-"]).stdout)
    assert joined["sharing"]["blocks"] == len(logged), joined


@case("two pods at once share blocks that have the same tokens")
def _():
    engines, wanted = [Engine(10 ** 6, BLOCK), Engine(10 ** 6, BLOCK, arrays=True)], []

    def serve():
        for number, one in enumerate(requests(80)):
            found, names = engines[number % 2].serve(one["at"], one["tokens"])
            if found < len(names):
                wanted.append(names)
        return len(wanted)

    rows, got = recording(engines, serve)
    assert sorted(len(row["hash_ids"]) for row in rows) == sorted(map(len, wanted)), got
    assert len({block for row in rows for block in row["hash_ids"]}) == len({name for names in wanted for name in names})


@case("an engine that starts anew, a cleared cache and messages that are no events are survived and counted")
def _():
    engine = Engine(10 ** 6, BLOCK)

    def serve():
        engine.serve(1.7e9, list(range(64)))
        engine.publish(1.7e9 + 1, [{"type": "AllBlocksCleared"}])
        engine.sent[engine.sequence] = b"\xdd\xff\xff\xff\xff\x01"
        engine._send(engine.publisher, b"t", engine.sequence.to_bytes(8, "big"), engine.sent[engine.sequence])
        engine._send(engine.publisher, b"alone")
        engine.sequence, engine.sent, engine.cache = 0, {}, type(engine.cache)()
        engine.serve(1.7e9 + 2, list(range(64)))
        return 2

    rows, got = recording([engine], serve)
    assert rows[0]["hash_ids"] == rows[1]["hash_ids"] == [0, 1, 2, 3], rows
    assert "cleared 1 times, started anew 1" in got.stdout and "1 of 4 batches that are no events" in got.stdout, got
    assert re.search("4 of them again", got.stdout), got


@case("an address that is none is refused")
def _():
    engine = Engine(1, BLOCK)
    engine.close()
    out = home() / "work/none.jsonl"
    for address in ("nonsense", "tcp://127.0.0.1:1,nonsense"):
        got = run(["record", "--events", address, "-o", out, "--overwrite"])
        assert got.rc == 2 and "tcp://host:555" in got.stderr, got
    got = run(["record", out, "--events", "tcp://127.0.0.1:1", "-o", out, "--overwrite"])
    assert got.rc == 2 and "--events" in got.stderr, got


main()
