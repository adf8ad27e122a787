"""Published tables of offloading beside the sweeps of configs/offload, for validation.py."""
import json
import pathlib
import subprocess
import sys
import tempfile

# Tokens/s, TTFT and TPOT in ms, at the peak of ten rates.
EVALUATION_A = {
    ("qwen3-0.6b", "none"): (5031, 641, 12.8), ("qwen3-0.6b", "native"): (4947, 662, 12.8),
    ("qwen3-0.6b", "lmcache"): (4707, 694, 14.9), ("qwen3-8b", "none"): (2407, 587, 47.5),
    ("qwen3-8b", "native"): (2425, 544, 46.7), ("qwen3-8b", "lmcache"): (2407, 563, 47.4)}
LMCACHE_H100 = {"none": 13730, "lmcache-gpu": 9508, "lmcache-cpu": 9411}


def sweep(kvfall, config):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "sweep.json"
        got = subprocess.run([kvfall, "sweep", str(config), "--db", "none", "--quiet", "--json", str(path)],
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
