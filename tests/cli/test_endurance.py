#!/usr/bin/env python3
"""Bytes a day, the life of drives, what they tell of their health, and energy."""
import contextlib
import json
import os
import sqlite3
import subprocess

from runs import measure, result, write
from tap import BUILD, Skip, case, home, main, need_tool, run

FAKE = BUILD / "tests" / "unit" / "fake"
DRIVE = {"tiers.gpu.capacity": 0, "tiers.cpu.capacity": 0, "run.duration": "1s"}


@contextlib.contextmanager
def mounted():
    """A file system on a loop device of our own, whose node can be opened whatever the machine's disk is."""
    tools = [need_tool(name) for name in ("losetup", "mkfs.ext4", "mount", "umount")]
    image, where = home() / "drive.img", home() / "drive"
    where.mkdir(exist_ok=True)
    with open(image, "wb") as out:
        out.truncate(256 << 20)
    made = subprocess.run([tools[0], "--find", "--show", image], capture_output=True, text=True)
    if made.returncode:
        raise Skip("no loop device can be made here: " + made.stderr.strip())
    device = made.stdout.strip()
    try:
        subprocess.run([tools[1], "-q", device], check=True)
        done = subprocess.run([tools[2], device, where], capture_output=True, text=True)
        if done.returncode:
            raise Skip("nothing can be mounted here: " + done.stderr.strip())
        try:
            yield where
        finally:
            subprocess.run([tools[3], where], check=True)
    finally:
        subprocess.run([tools[0], "--detach", device], check=True)


def played(says):
    """The summary of a run on a drive that says this, and what was printed."""
    if not (FAKE / "libnvme.so.1").exists():
        raise Skip("the stand-in is not built; make check builds it")
    if os.geteuid() != 0:
        raise Skip("a drive is asked by root alone")
    with mounted() as where:
        got = run(["run", "--headless", write({**DRIVE, "tiers.nvme.endurance": "1024TiB", "tiers.nvme.path": str(where)}), "--db", "health.db",
                   "--json", "health.json"], env={"LD_LIBRARY_PATH": str(FAKE), "FAKE_NVME": says})
    assert got.rc == 0, got
    return json.loads((home() / "work/health.json").read_text()), got


@case("a day's bytes and the years that a drive lasts follow from what was written")
def _():
    for endurance, years in (("1024TiB", 1 << 50), ("0", None)):
        got, summary = measure({**DRIVE, "tiers.nvme.endurance": endurance})
        day = result(summary, "nvme_write_bytes") / result(summary, "measured_s") * 86400
        assert abs(result(summary, "nvme_written_per_day_bytes") / day - 1) < 1e-9, summary["results"]
        lasts = result(summary, "nvme_lifetime_years")
        assert lasts is None if years is None else abs(lasts * 365.25 * day / years - 1) < 1e-9, (lasts, day)
        assert ("Drive life" in got.stdout) == (years is not None), got


@case("temperature, life used and flash writes come from the drive, and its warnings are events")
def _():
    summary, got = played("temperature=71,used=112,warnings=2,ocp")
    assert result(summary, "drive_temperature_max_c") == 71 and result(summary, "drive_used_ratio") == 1.12, summary["results"]
    host = result(summary, "drive_host_written_bytes")
    assert host > 0 and host % 512e6 == 0 and result(summary, "drive_media_written_bytes") == 1.5 * host
    assert result(summary, "drive_media_per_host") == 1.5
    said = [one["message"] for one in summary["events"] if "warns of itself" in one["message"]]
    assert len(said) == 1 and said[0].endswith(": its temperature is outside its limits"), summary["events"]
    assert "71 C at most, 112.0 % of its life used" in " ".join(got.stdout.split()), got
    with contextlib.closing(sqlite3.connect(home() / "work/health.db")) as db:
        rows = set(db.execute("SELECT drive_temperature_c, drive_used_ratio, drive_warnings FROM intervals WHERE phase = 'measured'"))
    assert rows == {(71, 1.12, 1)}, rows
    page = run(["report", "1", "--db", "health.db", "--format", "txt"])
    assert "Temperature of the hottest drive" in page.stdout and "112.0 %" in page.stdout, page.stdout
    (home() / "work/health.db").unlink()
    summary, _ = played("")
    assert result(summary, "drive_media_per_host") is None and result(summary, "drive_host_written_bytes") > 0


@case("a device that is not an NVMe drive has no figures, and the environment says why")
def _():
    summary, got = played("errno=25")
    for name in ("drive_temperature_max_c", "drive_used_ratio", "drive_host_written_bytes", "drive_media_per_host"):
        assert result(summary, name) is None, summary["results"][name]
    path, = summary["run"]["environment"]["nvme_paths"]
    assert path["health_unknown"] == path["disk"] + " is not an NVMe drive: its health is unknown", path


@case("energy is told where the kernel counts it, else it is missing")
def _():
    _, summary = measure(DRIVE)
    watts, joules, per_token = (result(summary, name) for name in ("cpu_power_mean_w", "cpu_energy_j", "energy_per_token_j"))
    if watts is None:
        assert joules is None and per_token is None, (joules, per_token)
        return
    assert abs(joules / (watts * result(summary, "measured_s")) - 1) < 1e-9, (watts, joules)
    assert per_token is None or per_token * result(summary, "tokens_generated") >= 0.999 * joules


main()
