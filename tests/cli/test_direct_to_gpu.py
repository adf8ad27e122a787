#!/usr/bin/env python3
"""tiers.nvme.direct_to_gpu on a machine without a device, and what probe says of cuFile."""
from runs import measure, rows
from tap import BUILD, Skip, case, main, run

FAKE = BUILD / "tests" / "unit" / "fake"
SMALL = ["run", "--headless", "--quiet", "--model", "tiny-1b", "--users", "2", "--max-requests", "4", "--gpu", "64MiB",
         "--cpu", "0", "--nvme", "128MiB", "--set", "tiers.gpu.backend=emulated", "--set", "run.warmup=0s"]


def built_with_cuda():
    if "not available in this build" in run(SMALL + ["--set", "tiers.nvme.direct_to_gpu=on"]).stderr:
        raise Skip("this build has no CUDA")


@case("probe says whether cuFile and its kernel module are there")
def _():
    if not (FAKE / "libcufile.so.0").exists():
        raise Skip("the stand-in is not built; make check builds it")
    got = run(["probe"], env={"LD_LIBRARY_PATH": str(FAKE)})
    assert "\ngds             cuFile 1.15, the kernel module nvidia-fs is " in got.stdout, got


@case("on is refused in one sentence, and nothing is made")
def _():
    built_with_cuda()
    got = run(SMALL + ["--set", "tiers.nvme.direct_to_gpu=on"])
    assert got.rc == 2 and got.stdout == "", got
    assert got.stderr == ("kvfall: tiers.nvme.direct_to_gpu is on, and there is no such path here: the gpu tier is "
                          "emulated; auto or off run without\n"), got


@case("auto goes without: an event has the reason, the environment what was there")
def _():
    built_with_cuda()
    _, summary = measure({"tiers.nvme.capacity": "128MiB", "tiers.nvme.path": ".", "tiers.nvme.direct_to_gpu": "auto"})
    reasons = [e["message"] for e in summary["events"] if "direct_to_gpu" in e["message"]]
    assert len(reasons) == 1 and reasons[0].startswith("tiers.nvme.direct_to_gpu is off: the gpu tier is "), reasons
    assert "gds" in summary["run"]["environment"], summary["run"]["environment"]
    assert summary["tiers"]["nvme"]["compat"] is False, summary["tiers"]["nvme"]
    assert [r["compat"] for r in rows("SELECT compat FROM run_tiers WHERE tier = 'nvme'")] == [0]


if __name__ == "__main__":
    main()
