"""Traces in the shapes of the published ones, drawn with a seed: for tests that need such a trace, and not its totals."""
import csv
import fcntl
import io
import json
import random
import shutil

from tap import BUILD

FOLDER = BUILD / "tests/shapes-1"  # another number when what is made changes
BLOCK, AGENT_BLOCK = 512, 64
# where the real ones are
PUBLISHED = {"mooncake": "github.com/kvcache-ai/Mooncake, FAST25-release/traces",
             "azure2023": "github.com/Azure/AzurePublicDataset, data",
             "burstgpt": "github.com/HPMLL/BurstGPT, the first rows of BurstGPT_1.csv",
             "kv-cache-tester": "github.com/callanjfox/kv-cache-tester, traces",
             "sharegpt": "github.com/salesforce/DialogStudio, github.com/lm-sys/FastChat and github.com/hiyouga/LLaMA-Factory"}


def _tokens(rng, median, sigma, most):
    return max(1, min(most, int(rng.lognormvariate(0, sigma) * median)))


def _chained(talks):
    """Rows in the order of their times; a block's number is that of all before it, dense from 0. A part of a block is of
    its own request."""
    names, rows = {}, []
    for at, talk, tokens, out, prefix in sorted(talks, key=lambda one: one[:3]):
        keys = [prefix[i] if i < len(prefix) else (talk, i) for i in range(tokens // BLOCK)]
        keys += [(talk, tokens)] if tokens % BLOCK else []
        rows.append({"timestamp": at, "input_length": tokens, "output_length": out,
                     "hash_ids": [names.setdefault(key, len(names)) for key in keys]})
    return "".join(json.dumps(row) + "\n" for row in rows)


def _conversation(rng):
    """Conversations that grow over minutes, a few behind a document that others have too; all begin with one block."""
    talks, talk = [], 0
    while len(talks) < 12000:
        at, talk, tokens = rng.uniform(0, 3500e3), talk + 1, BLOCK + _tokens(rng, 5000, 1.1, 60000)
        document = rng.randrange(200) if rng.random() < 0.1 else None
        prefix = ["all"] + ([("document", document, i) for i in range(20)] if document is not None else [])
        for _ in range(min(20, 1 + int(rng.expovariate(0.8)))):
            out = _tokens(rng, 300, 0.8, 2000)
            talks.append((int(at), talk, tokens, out, prefix))
            at, tokens = at + rng.expovariate(1 / 90e3), min(tokens + out + _tokens(rng, 600, 1, 20000), 60000)
    return _chained([one for one in talks if one[0] < 3537e3][:12000])


def _synthetic(rng):
    """Questions about long documents, which come again and again."""
    documents, talks = [_tokens(rng, 15000, 0.6, 100000) for _ in range(700)], []
    for talk in range(4000):
        which = rng.randrange(700)
        prefix = [("document", which, i) for i in range(documents[which] // BLOCK)]
        talks.append((int(rng.uniform(0, 1022e3)), talk, documents[which] + _tokens(rng, 400, 1, 4000), _tokens(rng, 100, 1, 1000), prefix))
    return _chained(talks)


def _azure(rng, rows, median):
    at, out = 0, io.StringIO()
    out.write("TIMESTAMP,ContextTokens,GeneratedTokens")
    for _ in range(rows):
        at += rng.expovariate(rows / 3400)
        out.write("\n2023-11-16 %02d:%02d:%02d.%07d,%d,%d" % (18 + int(at) // 3600, int(at) // 60 % 60, int(at) % 60, at % 1 * 1e7,
                                                         _tokens(rng, median, 1, 7437), _tokens(rng, 40, 1, 1899)))
    return out.getvalue()


def _burstgpt(rng):
    at, out = 0, io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["Timestamp", "Model", "Request tokens", "Response tokens", "Total tokens", "Log Type"])
    for row in range(30):
        at, asked, told = at + rng.randint(5, 150), _tokens(rng, 400, 1, 4000), 0 if row == 20 else _tokens(rng, 200, 1, 1500)
        table.writerow([at, rng.choice(("ChatGPT", "GPT-4")), asked, told, asked + told, "Conversation log"])
    return out.getvalue()


def _words(rng, most):
    return " ".join("".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(rng.randint(1, most))).capitalize() + "."


def _sharegpt(rng, count, tools=False, most=40, turns=4):
    told = []
    for number in range(count):
        messages = []
        for _ in range(rng.randint(1, turns)):
            messages.append({"from": "human", "value": _words(rng, most)})
            if tools and rng.random() < 0.4:
                messages += [{"from": "function_call", "value": json.dumps({"name": "look_up", "arguments": _words(rng, 5)})},
                             {"from": "observation", "value": _words(rng, 20)}]
            messages.append({"from": "gpt", "value": _words(rng, 3 * most)})
        told.append({"conversations": messages, "tools": "[]"} if tools else {"id": "made_%d" % number, "conversations": messages})
    return json.dumps(told, indent=2)


def _agent(rng, requests, fresh, tokens):
    """Requests of one agent, each with all that was said before and some more."""
    at, ids, made = 0.0, [], []
    for number in range(requests):
        ids = ids + [next(fresh) for _ in range(tokens // AGENT_BLOCK - len(ids))]
        api, think, out = round(rng.uniform(1, 20), 3), 0.0 if number == 0 else round(rng.expovariate(1 / 8), 3), _tokens(rng, 200, 1, 4000)
        at = round(at + think, 3)
        made.append({"t": at, "type": "n", "model": "m", "in": tokens, "out": out, "hash_ids": ids, "input_types": ["text"],
                     "output_types": ["text"], "stop": "tool_use", "api_time": api, "think_time": think})
        at, tokens = round(at + api, 3), tokens + out + _tokens(rng, 800, 1, 8000)
    return made


def _agents(rng, folder):
    """43 conversations; of those that begin, two have three sub-agents."""
    numbers = sorted([21 + 17 * number for number in range(41)] + [274, 282])
    for number in numbers:
        fresh = iter(range(1, 10 ** 9))
        requests = _agent(rng, rng.randint(5, 60), fresh, _tokens(rng, 18000, 0.3, 40000))
        if number in (274, 282):
            first = requests[0]["api_time"]
            requests[1:1] = [{"t": round(first + wait, 3), "type": "subagent", "agent_id": "agent_%d" % wait, "subagent_type": "Explore",
                              "status": "completed", "models": ["m"], "requests": _agent(rng, 12, fresh, 13000)} for wait in (1, 2, 9)]
        (folder / ("trace_%04d.json" % number)).write_text(json.dumps(
            {"id": "trace_%04d" % number, "models": ["m"], "block_size": AGENT_BLOCK, "hash_id_scope": "local", "requests": requests}))


def _make(folder):
    for name in PUBLISHED:
        (folder / name).mkdir(parents=True)
    (folder / "kv-cache-tester/traces").mkdir()
    _agents(random.Random(1), folder / "kv-cache-tester/traces")
    for number, (name, text) in enumerate({
            "mooncake/conversation_trace.jsonl": _conversation, "mooncake/synthetic_trace.jsonl": _synthetic,
            "azure2023/AzureLLMInferenceTrace_code.csv": lambda rng: _azure(rng, 8819, 1500),
            "azure2023/AzureLLMInferenceTrace_conv.csv": lambda rng: _azure(rng, 19366, 1000),
            "burstgpt/burstgpt_1_head30.csv": _burstgpt,
            "burstgpt/burstgpt_1_request_tokens_first500_clamped1023.csv": lambda rng: "row,request_tokens_clamped\n" + "".join(
                "%d,%d\n" % (row, _tokens(rng, 400, 1, 1023)) for row in range(500)),
            "sharegpt/dialogstudio_sharegpt_5.json": lambda rng: _sharegpt(rng, 5, most=150, turns=6),
            "sharegpt/fastchat_dummy_conversation.json": lambda rng: _sharegpt(rng, 500, most=6, turns=3),
            "sharegpt/llamafactory_glaive_toolcall_en_demo.json": lambda rng: _sharegpt(rng, 300, tools=True)}.items()):
        (folder / name).write_text(text(random.Random(100 + number)))


def made(name):
    """One of them by the name that the published one has; all are made once for a build."""
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    with open(str(FOLDER) + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not FOLDER.exists():
            half = FOLDER.with_suffix(".half")
            shutil.rmtree(half, ignore_errors=True)
            _make(half)
            half.rename(FOLDER)
    return FOLDER / name
