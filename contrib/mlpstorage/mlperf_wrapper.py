#!/usr/bin/env python3
"""Lets the harness of MLPerf Storage run kvfall in place of its own kv cache benchmark.

Three forms, as mlpstorage calls mlperf_wrapper.py or kv-cache.py itself:

    mlperf_wrapper.py --option 1|2|3 --seed N --base-output-dir D --cache-dir D
    mlperf_wrapper.py --rank-output-base D --rank-cache-base D --seed-base N  and flags of kv-cache.py
    mlperf_wrapper.py --output FILE  and flags of kv-cache.py

Words after "--" go to `kvfall run` as they are. KVFALL names the program, else it is looked for in PATH.
Results are written when the run has come to its end; the exit status is the program's. The table FLAGS below
is also that of kvfall-mlperf(7).
"""
import argparse
import collections
import datetime
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

GIB = 1 << 30
RANK = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")
# By these a program knows that it is one of several; the harness wants a run and a result of each rank.
LAUNCHED = ("OMPI_", "PMI_", "PMIX_", "MPI_LOCAL", "HYDI_")
RANKS_HERE = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE")
HANDED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ENDED = (0, 3)  # exit statuses of a run with results: done; done, and an assessment failed
DATA = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
SCENARIOS = os.path.join(DATA, "configs", "mlperf")
BASE_SCENARIO = "mlperf-closed-1.yaml"  # has the personas, prompts and arrivals of kv-cache.py
DEFAULT_SEED = 42
# Lists of latencies have this many requests at most, drawn from all of them: each is as likely to be there.
RESERVOIR = 10000
LISTS = (("end_to_end_latencies", "e2e_ms"), ("storage_latencies", "storage_ms"), ("generation_latencies", "generation_ms"))
BESIDE_OPTION = ("--config", "--xlsx-output", "--log-level")


class Problem(Exception):
    """What cannot be done as it was asked for, in a sentence."""


def size(gib):
    """GiB as bytes."""
    return str(int(round(gib * GIB)))


def gpu_size(flags):
    return size(flags["--gpu-mem-gb"] * flags["--num-gpus"])


def precondition_size(flags):
    return size(flags["--precondition-size-gb"]) if flags["--precondition-size-gb"] else "auto"


def always(flags):
    """Also when the value is the default, which is not that of the scenario."""
    return True


def has_file(flags):
    return flags["--use-burst-trace"] or flags["--dataset-path"]


# A flag of kv-cache.py: what it takes (a type, its choices, or bool for a switch), what holds without it, the
# words of `kvfall run` that it stands for ("{}" is the value), whether they are said (unless told: when the flag
# has a value that is neither 0 nor false) and what makes the value out of all flags.
Flag = collections.namedtuple("Flag", "name takes default words when make", defaults=("", None, None))

FLAGS = (
    Flag("--model", str, "llama3.1-8b", "--model {}"),
    Flag("--num-users", int, 100, "--users {}"),
    Flag("--duration", float, 60, "--duration {}s"),
    Flag("--gpu-mem-gb", float, 16, "--gpu {}", always, gpu_size),
    Flag("--num-gpus", int, 1),
    Flag("--tensor-parallel", int, 1, "--set tensor_parallel={}"),
    Flag("--cpu-mem-gb", float, 32, "--cpu {}", always, lambda f: size(f["--cpu-mem-gb"])),
    Flag("--cache-dir", str, None, "--cache-dir {}"),
    Flag("--storage-capacity-gb", float, 0, "--nvme {}", None, lambda f: size(f["--storage-capacity-gb"])),
    Flag("--generation-mode", ("none", "fast", "realistic"), "realistic", "--generation {}"),
    Flag("--performance-profile", ("latency", "throughput"), "latency", "--profile {}"),
    Flag("--disable-multi-turn", bool, False, "--set workload.conversation.max_turns=1"),
    Flag("--disable-prefix-caching", bool, False, "--set workload.prefix.probability=0"),
    Flag("--enable-rag", bool, False, "--rag {}", None, lambda f: f["--rag-num-docs"]),
    Flag("--rag-num-docs", int, 10),
    Flag("--enable-autoscaling", bool, False, "--autoscaler {}", None, lambda f: f["--autoscaler-mode"]),
    Flag("--autoscaler-mode", ("qos", "capacity"), "qos"),
    Flag("--target-saturation", float, None,
         "--set autoscaler.signal=saturation --set autoscaler.target_saturation={}",
         lambda f: f["--enable-autoscaling"] and f["--target-saturation"] is not None),
    Flag("--use-burst-trace", bool, False,
         "--set workload.source=burstgpt --set workload.arrival.process=trace --dataset {}", None,
         lambda f: f["--burst-trace-path"]),
    Flag("--burst-trace-path", str, "BurstGPT/data/BurstGPT_1.csv"),
    Flag("--trace-speedup", float, 1, "--set workload.arrival.speedup={}", lambda f: f["--use-burst-trace"]),
    Flag("--dataset-path", str, None,
         "--set workload.source=sharegpt --set workload.arrival.process=closed --dataset {}"),
    Flag("--max-conversations", int, 500, "--set workload.limit={}", lambda f: f["--dataset-path"]),
    Flag("--replay-cycles", int, 0, "--set workload.arrival.cycles={}", has_file),
    Flag("--request-rate", float, 0,
         "--set workload.arrival.process=gamma --set workload.arrival.cv=0 --rate {}"),
    Flag("--max-requests", int, 0, "--max-requests {}"),
    Flag("--seed", int, None, "--seed {}", lambda f: f["--seed"] is not None),
    Flag("--max-concurrent-allocs", int, 0, "--set engine.max_concurrent_writes={}", always),
    Flag("--precondition", bool, False, "--set run.precondition={}", None, precondition_size),
    Flag("--precondition-size-gb", float, 0),
    Flag("--prefill-only", bool, False, "--set workload.phase=prefill"),
    Flag("--decode-only", bool, False, "--set workload.phase=decode"),
    Flag("--io-trace-log", str, None, "--set mode=simulate --io-trace {}"),
    Flag("--config", str, None),
    Flag("--output", str, None),
    Flag("--xlsx-output", str, None),
    Flag("--log-level", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"), "INFO"),
)

# Flags of kv-cache.py that kvfall cannot follow, and what to do instead.
REFUSED = (
    Flag("--validation-trace", str, "compare with another run by kvfall compare or kvfall validate"),
    Flag("--precondition-threads", int, "the workers of the run write the volume"),
    Flag("--enable-latency-tracing", bool, "device and host time are told apart in every run"),
)

# Flags of mlperf_wrapper.py itself, of both its generations.
OWN = (
    Flag("--option", ("1", "2", "3"), None),
    Flag("--base-output-dir", str, None),
    Flag("--rank-output-base", str, None),
    Flag("--rank-cache-base", str, None),
    Flag("--seed-base", int, None),
    Flag("--start-delay", int, 0),
    Flag("--end-delay", int, 0),
)


class Parser(argparse.ArgumentParser):
    """Says what is wrong in a sentence."""

    def error(self, message):
        raise Problem(message)


def parse(words):
    """{flag: value} of those that were given."""
    parser = Parser(prog="mlperf_wrapper.py", allow_abbrev=False, description=__doc__,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in FLAGS + REFUSED + OWN:
        how = {"dest": flag.name, "default": argparse.SUPPRESS}
        if flag.takes is bool:
            how["action"] = "store_true"
        elif isinstance(flag.takes, tuple):
            how["choices"] = flag.takes
        else:
            how["type"] = flag.takes
        parser.add_argument(flag.name, **how)
    given = vars(parser.parse_args(words))
    for flag in REFUSED:
        if given.get(flag.name):
            raise Problem("%s has no counterpart in kvfall: %s" % (flag.name, flag.default))
    for one, other in (("--prefill-only", "--decode-only"), ("--use-burst-trace", "--dataset-path")):
        if given.get(one) and given.get(other):
            raise Problem("%s and %s exclude each other" % (one, other))
    if given.get("--tensor-parallel", 1) > given.get("--num-gpus", 1):
        raise Problem("--tensor-parallel is more than --num-gpus")
    return given


def plain(value):
    """A number as short as it can be written."""
    return "%d" % value if isinstance(value, float) and value == int(value) else str(value)


def mapped(given):
    """The words of `kvfall run` for flags of kv-cache.py; for those that were not given, its defaults."""
    flags = {flag.name: given.get(flag.name, flag.default) for flag in FLAGS}
    out = []
    for flag in FLAGS:
        if flag.when(flags) if flag.when else flags[flag.name]:
            value = flag.make(flags) if flag.make else flags[flag.name]
            out += [word.format(plain(value)) for word in flag.words.split()]
    return out


def number_of(names):
    """What the launcher says under the first of these names; None: nothing."""
    for name in names:
        text = os.environ.get(name)
        if text:
            if not text.isdigit():
                raise Problem('%s is "%s", not a number' % (name, text))
            return int(text)
    return None


def share_of_disk(path, ranks):
    """Ranks of one machine fill one file system: what a run would take for itself, in equal parts."""
    room = os.statvfs(path)
    free = room.f_bavail * room.f_frsize
    part = min(free * 9 // 10, free - 2 * GIB) // ranks
    return ["--nvme", str(part)] if part > 0 else []


class Plan:
    """What is run, and where its files go."""

    def __init__(self, given, now):
        rank, self.given = number_of(RANK), given
        base = given.get("--base-output-dir", given.get("--rank-output-base"))
        name = now.strftime("%Y%m%d_%H%M%S")
        cache = given.get("--rank-cache-base", given.get("--cache-dir"))
        if "--option" in given and not (base and cache):
            raise Problem("--option needs --base-output-dir and --cache-dir")
        if base:
            rank = rank or 0
            self.output = os.path.join(base, "rank_%d" % rank, "kvcache_results_%s.json" % name)
        else:
            self.output = given.get("--output", "benchmark_results_%s.json" % name)
            if rank:
                self.output = os.path.join(os.path.dirname(self.output), "rank_%d" % rank,
                                           os.path.basename(self.output))
        self.database = os.path.splitext(self.output)[0] + ".db"
        self.rank = rank
        self.seed = given.get("--seed-base", given.get("--seed"))
        if base:
            self.seed = (DEFAULT_SEED if self.seed is None else self.seed) + rank
        self.cache = os.path.join(cache, "rank_%d" % rank) if cache and rank is not None else cache

    def scenario(self):
        """mlpstorage names a config.yaml beside this file, which is not there."""
        config = self.given.get("--config")
        if config and (os.path.exists(config) or os.path.basename(config) != "config.yaml"):
            return config
        option = self.given.get("--option")
        return os.path.join(SCENARIOS, "mlperf-closed-%s.yaml" % option if option else BASE_SCENARIO)

    def words(self):
        """Of `kvfall run`, without where its files go."""
        own = {name: value for name, value in self.given.items() if name not in ("--seed", "--cache-dir")}
        out = ["--set", "run.trials=1"]
        if "--option" in own:
            for flag in FLAGS:
                if flag.name in own and flag.name not in BESIDE_OPTION:
                    raise Problem("%s cannot change what --option %s fixes" % (flag.name, own["--option"]))
        else:
            out += ["--set", "name=kv-cache"] + mapped(own)
        if self.seed is not None:
            out += ["--seed", str(self.seed)]
        if self.cache:
            out += ["--cache-dir", self.cache]
        return out


def program():
    path = os.environ.get("KVFALL") or shutil.which("kvfall")
    if not path:
        raise Problem("kvfall is not in PATH; set KVFALL to where it is")
    return path


def carry_out(command):
    """Runs a program, hands signals on to it, and returns its exit status."""
    child, early = [], []

    def hand_on(number, frame):
        for process in child:
            process.send_signal(number)
        if not child:
            early.append(number)

    before = {number: signal.signal(number, hand_on) for number in HANDED_ON}
    try:
        alone = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHED)}
        child.append(subprocess.Popen(command, env=alone))
        for number in early:
            child[0].send_signal(number)
        status = child[0].wait()
    except OSError as error:
        raise Problem("%s cannot be run: %s" % (command[0], error.strerror))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def export(kvfall, database, form, path):
    return carry_out([kvfall, "export", "latest", "--format", form, "--db", database, "--output", path, "--overwrite"])


def measured_part(kvfall, database):
    """Where the measured part begins and ends, in seconds of the run."""
    sql = ("SELECT min(t_s - length_s), max(t_s) FROM intervals WHERE phase = 'measured' AND run_id = "
           "(SELECT max(run_id) FROM runs)")
    told = subprocess.run([kvfall, "sql", sql, "--csv", "--full", "--db", database], stdout=subprocess.PIPE,
                          universal_newlines=True)
    values = told.stdout.splitlines()[-1].split(",") if told.returncode == 0 else []
    return [float(value) for value in values] if len(values) == 2 and all(values) else None


def drawn(lines, begin, end, seed, limit=RESERVOIR):
    """Requests done between two times, at most `limit` of them, in their order; and how many there were."""
    kept, count, rng = [], 0, random.Random(seed)
    for line in lines:
        request = json.loads(line)
        if request["failed"] or not begin < request["arrival_s"] + request["e2e_ms"] / 1e3 <= end:
            continue
        at = count if count < limit else rng.randrange(count + 1)
        count += 1
        if at < limit:
            kept[at:at + 1] = [(count, request)]
    return [request for _, request in sorted(kept, key=lambda one: one[0])], count


def add_latencies(kvfall, plan, log):
    """The lists that kv-cache.py has, in seconds, into the results; whether all requests are in them stands beside."""
    part = measured_part(kvfall, plan.database)
    if not part or not os.path.exists(plan.output):
        return
    with open(log) as lines:
        requests, count = drawn(lines, *part, plan.seed)
    with open(plan.output) as file:
        results = json.load(file)
    for name, member in LISTS:
        results[name] = [round(request[member] / 1e3, 9) for request in requests]
    results.setdefault("kvfall", {})["latency_lists"] = {
        "requests": count, "listed": len(requests), "limit": RESERVOIR, "drawn_at_random": len(requests) < count}
    with open(plan.output, "w") as file:
        json.dump(results, file, indent=2)
        file.write("\n")


def check_formats(kvfall, given):
    """Before the run, whose time would be lost: a spreadsheet is not in every build."""
    if given.get("--xlsx-output"):
        try:
            told = subprocess.run([kvfall, "export", "--help"], stdout=subprocess.PIPE, universal_newlines=True)
        except OSError as error:
            raise Problem("%s cannot be run: %s" % (kvfall, error.strerror))
        if " xlsx: " not in told.stdout:
            raise Problem("--xlsx-output needs a kvfall that was built to write xlsx")


def run(given, extra):
    plan = Plan(given, datetime.datetime.now())
    kvfall, words = program(), plan.words()
    check_formats(kvfall, given)
    for folder in (os.path.dirname(plan.output), plan.cache):
        if folder:
            os.makedirs(folder, exist_ok=True)
    ranks = number_of(RANKS_HERE) or 1
    if ranks > 1 and not given.get("--storage-capacity-gb"):
        words += share_of_disk(plan.cache or ".", ranks)
    time.sleep(given.get("--start-delay", 0))
    if "--io-trace" in words:
        words = words + ["--overwrite"]  # as kv-cache.py does
    log = os.path.splitext(plan.output)[0] + ".requests.jsonl"
    status = carry_out([kvfall, "run", plan.scenario(), "--headless", "--quiet"] + words + extra +
                       ["--request-log", log, "--db", plan.database])
    try:
        return finish(given, kvfall, plan, log) or status if status in ENDED else status
    finally:
        if os.path.exists(log):
            os.remove(log)


def finish(given, kvfall, plan, log):
    """The files of a run that has come to its end."""
    for form, path in (("mlperf", plan.output), ("xlsx", given.get("--xlsx-output"))):
        failed = path and export(kvfall, plan.database, form, path)
        if failed:
            return failed
    if os.path.exists(log):
        add_latencies(kvfall, plan, log)
    time.sleep(given.get("--end-delay", 0))
    return 0


def main(words):
    own = words[:words.index("--")] if "--" in words else words
    try:
        return run(parse(own), words[len(own) + 1:])
    except (Problem, OSError) as problem:
        print("mlperf_wrapper.py: %s" % problem, file=sys.stderr)
        return 2 if isinstance(problem, Problem) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
