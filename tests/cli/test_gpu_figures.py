#!/usr/bin/env python3
"""Figures of GPUs, from a stand-in for the management library of the NVIDIA driver."""

import re

from runs import measure, rows, unwrapped
from tap import BUILD, Skip, case, main, run

FAKE = BUILD / "tests" / "unit" / "fake"
GIB = 1 << 30


def driver(how):
    if not (FAKE / "libnvidia-ml.so.1").exists():
        raise Skip("the stand-in is not built; make check builds it")
    return {"LD_LIBRARY_PATH": str(FAKE), "FAKE_NVML": how}


@case("probe lists driver and devices")
def _():
    got = run(["probe"], env=driver("devices=2"))
    assert got.rc == 0, got
    assert "\n  driver        580.65.06\n" in got.stdout, got
    for d, letter, mig in ((0, "a", "off"), (1, "b", "on")):
        assert ("device %d Fake H200 %d, 80.0 GiB, GPU-%s0000000-feed-beef-cafe-000000000000, PCI 0000:1%d:00.0, MIG %s "
                "now busy %d %%, memory in use %d.00 GiB, PCIe in 1.91 MiB/s, out %s/s "
                "power %d W, temperature %d C, SM clock %d MHz, memory clock %d MHz, ECC errors %d"
                % (d, d, letter, d, mig, 50 + 10 * d, d + 1, ("977 KiB", "978 KiB")[d],
                   312 + d, 41 + d, 1755 + d, 2619 + d, 3 + d)) in unwrapped(got), got


@case("what a device does not tell is --, and a driver that does not come back is named")
def _():
    every = "utilisation,memory,pcie_rx,pcie_tx,power,temperature,clock_sm,clock_mem,ecc"
    got = run(["probe"], env=driver(every))
    assert ("busy --, memory in use --, PCIe in --, out -- power --, temperature --, SM clock --, "
            "memory clock --, ECC errors --") in unwrapped(got), got
    got = run(["probe"], env=driver("hang:power"))
    assert got.rc == 0 and "  device 0      Fake H200 0, 80.0 GiB" in got.stdout, got
    assert "now unknown: the driver does not answer; the kernel log (dmesg, NVRM) may say why" in unwrapped(got), got
    got = run(["probe"], env=driver("init"))
    assert "nvml no figures: the NVIDIA driver does not answer: Driver Not Loaded" in unwrapped(got), got


@case("the versions of CUDA are told without a driver, and a refusal of the backend says what the build lacks")
def _():
    cuda = [line[16:] for line in run(["probe"]).stdout.splitlines() if line.startswith("cuda ")][0]
    build = [line.split(None, 1)[1] for line in run(["--version"]).stdout.splitlines() if line.split()[0] == "cuda"][0]
    got = run(["run", "--headless", "--db", "none", "--set", "tiers.gpu.backend=cuda"])
    if build.startswith("off: "):
        assert cuda == "none: in this build CUDA is " + build, (cuda, build)
        assert ("tiers.gpu.backend: cuda is not available in this build (CUDA is %s); it takes auto | emulated | off"
                % build) in got.stderr, got
    else:
        assert re.match(r"runtime \d+\.\d+, .*; the least driver is \d+\.\d+", cuda), cuda
        if "no driver here" in cuda:
            assert re.search(r"no NVIDIA driver is here; install one that supports CUDA \d+\.\d+, at least \d+\.",
                             got.stderr), got
            assert got.rc == 2, got


@case("probe says which device cannot be had, and why")
def _():
    got = run(["probe"], env=driver("devices=2,lost=0,mig,memory"))
    assert "device 0 not to be had: GPU is lost" in unwrapped(got), got
    assert "device 1 Fake H200 1, GPU-b0000000-feed-beef-cafe-000000000000, PCI 0000:11:00.0, MIG unknown" in unwrapped(got), got


@case("every interval of a run has a row for each device, what is missing is NULL")
def _():
    _, summary = measure({}, env=driver("devices=2,power,ecc"))
    found = rows("SELECT * FROM gpu_intervals ORDER BY seq, device")
    intervals = rows("SELECT count(*) AS n FROM intervals")[0]["n"]
    assert len(found) == 2 * intervals > 0, (len(found), intervals)
    for row in found:
        d = row["device"]
        assert row["utilisation"] == (50 + 10 * d) / 100, row
        assert (row["memory_used_bytes"], row["memory_total_bytes"]) == ((d + 1) * GIB, 80 * GIB), row
        assert (row["pcie_rx_bytes_s"], row["pcie_tx_bytes_s"]) == ((2000 + d) * 1000, (1000 + d) * 1000), row
        assert (row["temperature_c"], row["clock_sm_mhz"], row["clock_mem_mhz"]) == (41 + d, 1755 + d, 2619 + d), row
        assert row["power_w"] is None and row["ecc_errors"] is None, row
    gpu = summary["run"]["environment"]["gpu"]
    assert gpu["driver"] == "580.65.06" and gpu["nvml"] == "yes", gpu
    assert gpu["devices"] == [
        {"name": "Fake H200 %d" % d, "uuid": "GPU-%s0000000-feed-beef-cafe-000000000000" % "ab"[d],
         "memory_bytes": 80 * GIB, "mig": ["off", "on"][d]} for d in range(2)], gpu


@case("power and energy of the measured part come from the counters of energy")
def _():
    _, summary = measure({}, env=driver("devices=2"))
    value = {name: entry["value"] for name, entry in summary["results"].items()}
    assert 240 < value["gpu_power_mean_w"] < 360, value["gpu_power_mean_w"]  # 100 W and 200 W
    joules = value["gpu_power_mean_w"] * value["measured_s"]
    assert abs(value["gpu_energy_j"] / joules - 1) < 1e-6, value
    assert abs(value["gpu_energy_per_token_j"] * value["tokens_generated"] / joules - 1) < 1e-6, value
    assert abs(value["gpu_pcie_rx_gib_s"] * GIB / (2000 + 2001) / 1000 - 1) < 1e-6, value["gpu_pcie_rx_gib_s"]
    assert abs(value["gpu_pcie_tx_gib_s"] * GIB / (1000 + 1001) / 1000 - 1) < 1e-6, value["gpu_pcie_tx_gib_s"]
    assert all(row["energy_j"] > 0 for row in rows("SELECT energy_j FROM gpu_intervals")), "no energy in an interval"
    _, summary = measure({}, env=driver("devices=2,energy"))
    assert summary["results"]["gpu_energy_j"]["value"] is None, summary["results"]["gpu_energy_j"]


@case("a library that does not answer leaves no rows, and the environment says why")
def _():
    _, summary = measure({}, env=driver("init"))
    assert rows("SELECT * FROM gpu_intervals") == []
    gpu = summary["run"]["environment"]["gpu"]
    assert gpu["nvml"] == "the NVIDIA driver does not answer: Driver Not Loaded" and gpu["devices"] == [], gpu


@case("the screen shows the devices")
def _():
    measure({}, env=driver("devices=2"))
    for view in ("tiers", "system"):
        got = run(["watch", "--dump", "--view", view, "--at", "0.1", "--size", "120x50"])
        assert got.rc == 0, got
        for device, busy in (("GPU 0", "50.0 %"), ("GPU 1", "60.0 %")):
            found = [line for line in got.stdout.splitlines() if device in line]
            assert len(found) == 1 and busy in found[0], (view, got)


main()
