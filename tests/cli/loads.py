"""Scenarios of random loads for simulation, and changes that make one thing of a scenario worse."""
import copy
import math

MODELS = (({"preset": "tiny-1b", "layers": 1}, 2048), ("llama3.1-8b", 131072))


def spread(r, low, high):
    """A number between two, of which each order of magnitude is as likely."""
    return math.exp(r.uniform(math.log(low), math.log(high)))


def size(number):
    return "%dKiB" % max(4, number / 1024)


def rate(number):
    return "%.3fMB/s" % max(1, number / 1e6)


def persona(r, name):
    context, generate, think = spread(r, 100, 4000), spread(r, 10, 300), spread(r, 0.02, 5)
    return {"name": name, "share": round(r.uniform(0.2, 1), 2), "context": [int(context), int(context * r.choice((1, 2, 4)))],
            "generate": [int(generate), int(generate * r.choice((1, 3)))],
            "think": ["%.3fs" % think, "%.3fs" % (think * r.choice((1, 3)))], "spread": r.choice((1, 0.25))}


def classes(r):
    found = []
    for i in range(r.randint(1, 3)):
        one = {"name": ("first", "second", "third")[i], "share": round(r.uniform(0.2, 1), 2)}
        if r.random() < 0.8:
            one["p95"] = "%.3fs" % spread(r, 0.05, 20)
        found.append(one)
    total = sum(one["share"] for one in found)
    for one in found:
        one["share"] = round(one["share"] / total, 4)
    found[0]["share"] = round(found[0]["share"] + 1 - sum(one["share"] for one in found), 4)
    return found


def tiers(r, token_bytes, tokens, demand, on, calm):
    """Of the given names; `tokens`: of all users at a time; `demand`: bytes a second that requests write."""
    found, capacity = {}, spread(r, *((0.5, 10) if calm else (0.1, 3))) * tokens * token_bytes
    speed = spread(r, *((5, 100) if calm else (0.5, 30))) * demand
    for tier in on:
        found[tier] = {"capacity": size(capacity), "read_bandwidth": rate(speed * r.choice((1, 1, 1.4))), "write_bandwidth": rate(speed),
                       "latency": {"gpu": "10us", "cpu": "1us", "nvme": "80us", "remote": "500us"}[tier], "duplex": r.choice(("half", "full"))}
        capacity, speed = capacity * spread(r, 1, 6), speed / spread(r, 1.5, 5)
    if "nvme" in found:
        found["nvme"]["io_size"] = r.choice(("64KiB", "1MiB"))
        found["nvme"]["io_depth"] = r.choice((1, 8, 32))
    return found


def arrivals(r, found, asked):
    """How requests come, `asked` a second, how many, and what their generation takes."""
    process = r.choice(("closed", "closed", "paced", "poisson", "gamma"))
    found["workload"]["arrival"] = {"process": process}
    if process in ("poisson", "gamma"):
        found["workload"]["arrival"].update(rate=round(asked, 4), batch=r.choice((1, 1, 10)))
    if process == "gamma":
        found["workload"]["arrival"]["cv"] = r.choice((0, 1, 4))
    if r.random() < 0.15:
        found["run"]["max_requests"] = int(spread(r, 20, 2000))
    if r.random() < 0.1:
        found["engine"]["queue_limit"] = r.choice((1, 10, 1000))
    if r.random() < 0.1:
        found["engine"]["max_concurrent_writes"] = r.choice((1, 4))
    if r.random() < 0.1:
        found["cache"]["lookup_cost"] = r.choice(("1ms", "50ms"))
    compute = r.random()
    if compute < 0.3 and found["model"] == "llama3.1-8b":
        found["compute"] = {"mode": "roofline", "gpu": r.choice(("h100", "l40s", "a100"))}
    elif compute < 0.4:
        found["compute"] = {"mode": r.choice(("fast", "realistic"))}
    elif compute < 0.5:
        found["compute"] = {"mode": r.choice(("fixed", "deterministic")), "ms_per_token": r.choice((1, 10))}


def alone(r, found):
    """Of one machine: what a fleet, which begins empty and keeps no documents, cannot have."""
    if r.random() < 0.15:
        found["workload"]["rag"] = {"documents": int(spread(r, 2, 40)), "probability": r.choice((0.1, 1)), "top_k": r.choice((1, 5)),
                                    "ingest": r.choice(("before", "during")), "max_documents": r.choice((0, 0, 5)), "chunk_tokens": r.choice((64, 512)),
                                    "tokens": [500, 3000]}
    if r.random() < 0.1:
        found["workload"]["phase"] = r.choice(("prefill",) if found["cache"]["granularity"] == "block" else ("prefill", "decode"))
    if r.random() < 0.15:
        found["run"]["prepopulate"] = r.choice((0.5, 1))


def pods(r, found):
    """Several machines."""
    if found["cache"]["placement"] == "inclusive" and "remote" in found["tiers"]:  # shared, it takes what falls
        found["cache"]["placement"] = "waterfall"
    by_blocks = ("estimated", "precise") if found["cache"]["granularity"] == "block" else ()
    found["fleet"] = {"pods": r.choice((2, 4)), "delay": r.choice(("0s", "10ms")),
                      "routing": r.choice(("random", "round_robin", "least_loaded", "power_of_two", "session") + by_blocks)}


def load(r):
    """A scenario with a load between an idle and a far too busy one."""
    model, token_bytes = MODELS[r.random() < 0.5]
    people = [persona(r, name) for name in ("a", "b")[:r.randint(1, 2)]]
    users = int(spread(r, 2, 200))
    context = sum(sum(one["context"]) / 2 for one in people) / len(people)
    think = sum(float(one["think"][0][:-1]) + float(one["think"][1][:-1]) for one in people) / 2 / len(people)
    asked = users / (think + 0.2)  # a second
    block, calm = r.random() < 0.4, r.random() < 0.7
    found = {
        "name": "load", "model": model, "mode": "simulate", "seed": r.randrange(1 << 20),
        "run": {"duration": r.choice(("30s", "60s", "120s")), "warmup": r.choice(("0s", "5s", "20s")), "interval": "1s"},
        "tiers": tiers(r, token_bytes, users * context, asked * context * token_bytes,
                       r.choice((("gpu", "cpu", "nvme"), ("gpu", "cpu", "nvme"), ("cpu", "nvme"), ("gpu", "nvme"), ("gpu", "cpu"), ("nvme",), ("cpu",),
                                 ("gpu", "cpu", "nvme", "remote"), ("cpu", "remote"))), calm),
        "cache": {"granularity": "block" if block else "request", "placement": r.choice(("waterfall", "waterfall", "spillover", "inclusive")),
                  "eviction": r.choice(("lru", "lru", "fifo", "lfu", "s3fifo", "ttl"))},
        "workload": {"users": users, "personas": people, "conversation": {"end_probability": r.choice((0.05, 0.2, 0.5, 1)),
                                                                         "max_turns": r.choice((1, 5, 50))},
                     "prefix": {"probability": r.choice((0, 0, 0.2, 1)), "prompt_tokens": int(spread(r, 50, 1000)), "count": r.choice((1, 3, 40)),
                                "on_top": r.choice((False, True))}},
        "qos": {"latency": r.choice(("ttft", "e2e")), "scheduler": r.choice(("strict", "aging")), "classes": classes(r)},
        "engine": {"slots": r.choice((16, 64, 256) if calm else (1, 4, 16, 64)), "workers": r.choice((1, 2, 8)),
                   "room_wait": r.choice(("10s", "10s", "1h") if calm else ("0s", "100ms", "1s", "10s"))},
        "assess": {"profile": r.choice(("latency", "throughput"))}}
    if len(found["tiers"]) == 1 and found["cache"]["placement"] == "inclusive":
        found["cache"]["placement"] = "waterfall"
    if block:
        found["cache"]["block_tokens"] = r.choice((16, 64, 256))
    if len(found["tiers"]) > 1 and r.random() < 0.3:
        found["cache"]["promotion"] = r.choice(("on_hit", "second_hit"))
    if r.random() < 0.15:
        found["cache"]["make_room"] = "background"
    arrivals(r, found, asked)
    if r.random() < 0.25:
        pods(r, found)
    else:
        alone(r, found)
    return found


def seconds(text):
    return float(text[:-2]) / 1e3 if text.endswith("ms") else float(text[:-1])


def worse_capacity(r, s):
    tier, part = r.choice(sorted(s["tiers"])), r.choice((2, 4, 16))
    s["tiers"][tier]["capacity"] = size(int(s["tiers"][tier]["capacity"][:-3]) * 1024 / part)
    return "%s capacity / %d" % (tier, part)


def worse_bandwidth(r, s):
    tier, part, way = r.choice(sorted(s["tiers"])), r.choice((2, 8)), r.choice(("read", "write", "both"))
    for one in ("read", "write") if way == "both" else (way,):
        s["tiers"][tier][one + "_bandwidth"] = rate(float(s["tiers"][tier][one + "_bandwidth"][:-4]) * 1e6 / part)
    return "%s %s bandwidth / %d" % (tier, way, part)


def worse_latency(r, s):
    tier = r.choice(sorted(s["tiers"]))
    s["tiers"][tier]["latency"] = r.choice(("10ms", "100ms"))
    return "%s latency" % tier


def worse_duplex(r, s):
    tier = r.choice(sorted(s["tiers"]))
    s["tiers"][tier]["duplex"] = "half"
    return "%s half duplex" % tier


def worse_room_wait(r, s):
    s["engine"]["room_wait"] = r.choice(("0s", "1ms", "100ms"))
    return "room_wait"


def worse_users(r, s):
    times = r.choice((2, 4, 10))
    if "rate" in s["workload"]["arrival"]:
        s["workload"]["arrival"]["rate"] *= times
    else:
        s["workload"]["users"] *= times
    return "load x %d" % times


def worse_slots(r, s):
    s["engine"]["slots"] = max(1, s["engine"]["slots"] // r.choice((2, 4, 16)))
    return "slots"


def worse_queue_limit(r, s):
    s["engine"]["queue_limit"] = r.choice((1, 5))
    return "queue_limit"


def worse_writes(r, s):
    s["engine"]["max_concurrent_writes"] = 1
    return "max_concurrent_writes"


def worse_admission(r, s):
    s["cache"].update(r.choice(({"admission": "second_hit"}, {"admission": "size_limit", "admission_limit": "%dKiB" % spread(r, 16, 1e5)})))
    return "admission"


def worse_headroom(r, s):
    s["cache"]["headroom"] = 0.9
    return "headroom"


def worse_duration(r, s):
    s["run"]["duration"] = r.choice(("2s", "5s", "10s"))
    return "duration"


def worse_warmup(r, s):
    s["run"]["warmup"] = "0s"
    return "warmup"


def worse_compute(r, s):
    compute = s.setdefault("compute", {"mode": "none"})
    if compute["mode"] == "roofline":
        compute.update(r.choice(({"mfu": 0.1}, {"efficiency": 0.1}, {"max_batch": 2}, {"max_batch_tokens": 512}, {"overhead": "50ms"})))
    elif "ms_per_token" in compute:
        compute["ms_per_token"] *= 5
    else:
        compute["mode"] = "realistic"
    return "compute"


def worse_stalls(r, s):
    if "nvme" not in s["tiers"]:
        return None
    s["tiers"]["nvme"].update(stalls=[500], stall_every="5s")
    return "stalls"


def worse_depth(r, s):
    if "nvme" not in s["tiers"]:
        return None
    s["tiers"]["nvme"]["io_depth"] = 1
    return "io_depth"


def worse_lookup_cost(r, s):
    s["cache"]["lookup_cost"] = r.choice(("100ms", "1s"))
    return "lookup_cost"


def worse_tier(r, s):
    if len(s["tiers"]) < 2:
        return None
    tier = r.choice(sorted(s["tiers"]))
    del s["tiers"][tier]
    if len(s["tiers"]) == 1:
        s["cache"].pop("promotion", None)
        s["cache"]["placement"] = "waterfall"
    return "no " + tier


def worse_pods(r, s):
    if "fleet" not in s:
        return None
    s["fleet"]["pods"] = 1 if s["fleet"]["pods"] == 2 else s["fleet"]["pods"] // 2
    return "pods"


def worse_delay(r, s):
    if "fleet" not in s:
        return None
    s["fleet"]["delay"] = "1s"
    return "delay"


def worse_outage(r, s):
    if "fleet" not in s and ("rag" in s["workload"] or "phase" in s["workload"] or "prepopulate" in s["run"]):
        return None
    fleet = s.setdefault("fleet", {"pods": 1, "routing": "round_robin"})
    what = [{"pod": r.randrange(fleet["pods"])}, {"pod": r.randrange(fleet["pods"])}, {"router": 0}] + ([{"remote": True}] if "remote" in s["tiers"] else [])
    if fleet.get("routing") == "precise":
        what.append({"index": True})
    one = r.choice(what)
    end = seconds(s["run"]["warmup"]) + seconds(s["run"]["duration"])
    fleet["outages"] = [{**one, "at": "%.1fs" % (end * r.choice((0.05, 0.3, 0.9))), "for": r.choice(("10ms", "1s", "20s"))}]
    return "outage of " + sorted(one)[0]


def worse_documents(r, s):
    rag = s["workload"].get("rag")
    if not rag:
        return None
    rag["documents"] *= 4
    return "documents"


def worse_think(r, s):
    if "rate" in s["workload"]["arrival"]:
        return None
    for one in s["workload"]["personas"]:
        one["think"] = ["%.3fs" % (float(part[:-1]) / 10) for part in one["think"]]
    return "load think / 10"


def worse_context(r, s):
    for one in s["workload"]["personas"]:
        one["context"] = [part * 3 for part in one["context"]]
    return "load context x 3"


def worse_max_requests(r, s):
    if "max_requests" not in s["run"]:
        return None
    s["run"]["duration"] = "3s"
    return "max_requests in 3s"


def worse_ttl(r, s):
    if s["cache"]["eviction"] != "ttl":
        return None
    s["cache"]["ttl"] = r.choice(("10ms", "1s"))
    return "ttl"


def worse_prepopulate(r, s):
    if "fleet" in s:
        return None
    s["run"]["prepopulate"] = 1
    return "prepopulate"


def worse_index(r, s):
    if s.get("fleet", {}).get("routing") != "precise":
        return None
    s["fleet"]["index"] = {"staleness": r.choice(("1s", "30s"))}
    return "staleness"


def worse_refresh(r, s):
    if "fleet" not in s:
        return None
    s["fleet"]["load_refresh"] = r.choice(("1s", "30s"))
    return "load_refresh"


def worse_routing(r, s):
    if "fleet" not in s:
        return None
    s["fleet"]["routing"] = "random"
    return "routing random"


WORSE = [one for name, one in sorted(globals().items()) if name.startswith("worse_")]


def pair(r):
    """A scenario, what is worse in another, and that one."""
    first = load(r)
    while True:
        second = copy.deepcopy(first)
        what = r.choice(WORSE)(r, second)
        if what and second != first:
            return first, what, second
