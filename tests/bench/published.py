"""Published tables of offloading beside the sweeps of configs/offload, for validation.py."""
import itertools
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

# Tokens/s, TTFT and TPOT in ms, at the peak of ten rates.
EVALUATION_A = {
    ("qwen3-0.6b", "none"): (5031, 641, 12.8), ("qwen3-0.6b", "native"): (4947, 662, 12.8),
    ("qwen3-0.6b", "lmcache"): (4707, 694, 14.9), ("qwen3-8b", "none"): (2407, 587, 47.5),
    ("qwen3-8b", "native"): (2425, 544, 46.7), ("qwen3-8b", "lmcache"): (2407, 563, 47.4)}
# Peak tokens/s without offload, and the changes against it in percent.
CONFIGURATIONS = ("native", "lmcache-local", "lmcache-redis", "lmcache-valkey", "llm-d-redis", "llm-d-valkey")
EVALUATION_B = {
    "qwen3-0.6b": (602, (-29.1, -13.6, -6.0, -13.0, -0.7, -1.5)), "qwen3-8b": (113, (-36.5, -5.6, -10.0, -6.5, -0.1, 0.4)),
    "qwen3-14b": (58.7, (0.6, 11.8, 2.5, 13.0, 3.4, 10.0)), "qwen3-32b-awq": (49.2, (-1.0, -12.7, -12.8, -12.7, -0.1, -0.1))}
TWICE = {"qwen3-14b": {"native-20000": 68.5, "lmcache-local-20000": 76.5, "lmcache-valkey-20000": 74.6},
         "qwen3-32b-awq": {"native-20000": 48.9, "lmcache-local-20000": 48.1, "lmcache-valkey-20000": 43.2}}
# Storage tokens/s and their standard deviation.
TIERS = {"gpu": (1691, 154), "gpu-cpu": (1546, 257), "gpu-cpu-nvme": (1175, 178), "nvme": (263, 2)}
# Context in tokens, tok/s, P95 of nvme reads in ms, end-to-end P50 in ms.
CONTEXTS = {"real": (133, 2610, 291, 93), "random": (2676, 362, 6752, 121000)}
FULL_ANSWER = ((50 + 200) / 2 + (100 + 500) / 2 + (200 + 800) / 2) / 3 # tokens: mean of the personas of random contexts
TOLD, WITHIN = 2, 10 # percent that count as a change; points that a change may be off
LMCACHE_H100 = {"none": 13730, "lmcache-gpu": 9508, "lmcache-cpu": 9411}


def sweep(kvfall, config, *settings):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "sweep.json"
        words = [word for setting in settings for word in ("--set", setting)]
        got = subprocess.run([kvfall, "sweep", str(config), "--db", "none", "--quiet", "--json", str(path), *words],
                             capture_output=True, text=True)
        if got.returncode:
            sys.exit("%s: %s" % (config, got.stderr))
        return json.loads(path.read_text())


def change(part, whole):
    return 100 * (part / whole - 1)


def evaluation_a(kvfall, folder):
    rows = []
    peaks = {tuple(peak["variants"].values()): peak["results"] for peak in sweep(kvfall, folder / "evaluation-a.yaml")["peaks"]}
    for (model, configuration), (tok_s, ttft, tpot) in EVALUATION_A.items():
        got, base = peaks[model, configuration], peaks[model, "none"]["throughput_tok_s"]
        rows.append("| %s | %s | %d | %.0f | %+.1f %% | %+.1f %% | %+.1f %% | %.1f | %.1f | %d | %.0f |" % (
            model, configuration, tok_s, got["throughput_tok_s"], change(got["throughput_tok_s"], tok_s),
            change(tok_s, EVALUATION_A[model, "none"][0]), change(got["throughput_tok_s"], base), tpot, got["tpot_mean_ms"],
            ttft, got["ttft_mean_ms"]))
    return rows


def lmcache_h100(kvfall, folder):
    tok_s = {point["values"]["configuration"]: point["results"]["throughput_tok_s"]["value"]
             for point in sweep(kvfall, folder / "lmcache-h100.yaml")["points"]}
    return ["| %s | %d | %.0f | %+.1f %% | %+.1f %% | %+.1f %% |" % (
        name, published, tok_s[name], change(tok_s[name], published), change(published, LMCACHE_H100["none"]),
        change(tok_s[name], tok_s["none"])) for name, published in LMCACHE_H100.items()]


def missed(published, ours):
    """What of the bar a change misses."""
    return [word for word, bad in (("sign", abs(published) > TOLD and round(ours, 1) * published <= 0),
                                   ("size", abs(ours - published) > WITHIN)) if bad]


def out_of_order(published, ours):
    """Pairs of cells that differ by more than the noise of both: how many, and those that are the other way round here."""
    pairs = [(a, b) for a, b in itertools.combinations(published, 2) if abs(published[a] - published[b]) > 2 * TOLD]
    return len(pairs), [(a, b) for a, b in pairs if (published[a] - published[b]) * (ours[a] - ours[b]) <= 0]


def evaluation_b(kvfall, folder):
    """The tables by their marks."""
    out = sweep(kvfall, folder / "evaluation-b.yaml")
    users = {point["point"]: point["values"]["workload.users"] for point in out["points"]}
    peaks = {tuple(peak["variants"].values()): peak for peak in out["peaks"]}
    ours = {key: 100 * peak["delta"] for key, peak in peaks.items()}
    cold = {tuple(peak["variants"].values()): 100 * peak["delta"] for peak in sweep(
        kvfall, folder / "evaluation-b.yaml", "run.duration=120s", "run.warmup=0s")["peaks"]}
    told = {(model, name): value for model, (_, row) in EVALUATION_B.items() for name, value in zip(CONFIGURATIONS, row)}
    tables = {"B_PEAKS": [], "B_MISSED": [], "B_ORDER": [], "B_TWICE": []}
    for model, (level, row) in EVALUATION_B.items():
        got = peaks[model, "none"]
        tables["B_PEAKS"].append("| %s | %g, %.4g (%+.1f %%) | %d | " % (
            model, level, got["results"]["throughput_tok_s"], change(got["results"]["throughput_tok_s"], level),
            users[got["point"]]) + " | ".join(
                "%+.1f, %+.1f%s" % (value, ours[model, name], " *" if missed(value, ours[model, name]) else "")
                for name, value in zip(CONFIGURATIONS, row)) + " |")
    for key, value in told.items():
        if missed(value, ours[key]):
            tables["B_MISSED"].append("| %s | %s | %+.1f | %+.1f | %s |" % (*key, value, ours[key], ", ".join(missed(value, ours[key]))))
    lines = [("row", model, {name: told[model, name] for name in CONFIGURATIONS}, {name: ours[model, name] for name in CONFIGURATIONS})
             for model in EVALUATION_B]
    lines += [("column", name, {model: told[model, name] for model in EVALUATION_B}, {model: ours[model, name] for model in EVALUATION_B})
              for name in CONFIGURATIONS]
    for kind, name, published, here in lines:
        pairs, wrong = out_of_order(published, here)
        tables["B_ORDER"].append("| %s %s | %d | %d | %s |" % (kind, name, pairs, len(wrong), ", ".join(
            "%s and %s" % pair for pair in wrong) or "--"))
    for model, row in TWICE.items():
        base = EVALUATION_B[model][0]
        for name, value in row.items():
            tables["B_TWICE"].append("| %s | %s | %g | %.4g | %+.1f %% | %+.1f %% | %+.1f %% |" % (
                model, name, value, peaks[model, name]["results"]["throughput_tok_s"], change(value, base), ours[model, name],
                cold[model, name]))
    names = ("throughput_tok_s", "batch_running_mean", "batch_waiting_mean", "kv_use_mean", "hit_ratio", "ttft_mean_ms", "tpot_mean_ms")
    value = {name: [point["results"][name]["value"] for point in out["points"]] for name in names}
    tables["B_CORRELATIONS"] = ["| %s | " % a + " | ".join("%.2f" % statistics.correlation(value[a], value[b]) for b in names) + " |"
                                for a in names]
    at_50 = [point["results"] for point in out["points"]
             if point["values"]["workload.users"] in (50, "50") and point["values"]["configuration"] == "none"]
    tables["B_MEANS"] = ["| 16.8 | %.1f | 112 | %.1f | under 0.5 %% | %.0f %% |" % tuple(
        factor * statistics.mean(one[name]["value"] for one in at_50)
        for name, factor in (("batch_running_mean", 1), ("batch_waiting_mean", 1), ("kv_use_mean", 100)))]
    return tables


def tiers(kvfall, folder):
    score = {tuple(point["values"].values()): point["results"]["storage_throughput_tok_s"]["value"]
             for point in sweep(kvfall, folder / "tiers-published.yaml")["points"]}
    return ["| %s | %d +- %d | %.1f | %.0f | %.1f | %.0f | %.1f |" % (
        name, told, deviation, told / TIERS["nvme"][0], score["copied", name], score["copied", name] / score["copied", "nvme"],
        score["link", name], score["link", name] / score["link", "nvme"]) for name, (told, deviation) in TIERS.items()]


def contexts(kvfall, folder):
    rows, rate = [], {}
    for point in sweep(kvfall, folder / "real-and-random.yaml")["points"]:
        name, got = point["values"]["contexts"], {key: one["value"] for key, one in point["results"].items()}
        told, rate[name] = CONTEXTS[name], got["throughput_tok_s"]
        rows.append("| %s | %d | %.0f | %d | %.0f | %d | %.0f | %d | %.0f |" % (
            name, told[0], got["context_tokens_mean"], told[1], rate[name], told[2], got["nvme_read_p95_ms"], told[3], got["e2e_p50_ms"]))
        full = FULL_ANSWER * got["requests_per_s"]
    ratio = CONTEXTS["real"][1] / CONTEXTS["random"][1]
    return rows + ["| ratio | | | %.1f | %.1f | | | | |" % (ratio, rate["real"] / rate["random"]),
                   "| random, full answers | | | %d | %.0f | | | | |" % (CONTEXTS["random"][1], full),
                   "| ratio, full answers | | | %.1f | %.1f | | | | |" % (ratio, rate["real"] / full)]
