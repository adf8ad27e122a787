/* Links that the presets of tiers name, a row each: as they were measured or published.
 *
 * A gpu preset is the way between host and device, what the copies of a cache cost; device memory itself is
 * far faster. PCIe 5.0 x16 (H100): what this program measured on one (docs/BENCHMARKS.md), 53 GB/s each way
 * and 95 both ways at once; for the H200 about 55 of the 64 that 32 GT/s give, and 83 both ways at once,
 * measured (vLLM). PCIe 4.0 x16 (A100, L40S): 22 to 25 GB/s of 32, measured with pinned memory (vLLM, pull
 * request 40549); both ways the share of the H200 is assumed. NVLink-C2C (GH200): 450 GB/s each way, the
 * link's own rate and not one of copies: NVIDIA's "Grace Hopper Superchip Architecture" and data sheet have
 * 900 GB/s both ways, ten links of 45 GB/s each way. The other tiers: the device classes that storage models
 * commonly use; for remote, Ethernet at 96 % of its line rate (frames of 9,000 bytes) behind a store that
 * answers in a fraction of a millisecond. */
#ifndef KVF_TRAITS_LINKS_H
#define KVF_TRAITS_LINKS_H

/* id; word in scenarios; MB/s of reads, of writes; latency in us; MB/s both ways at once, 0: no limit. */
#define TRAITS_GPU_LINK_LIST(X)                                                                              \
    X(H100_PCIE5, "h100-pcie5", 53000, 53000, 8, 95000)                                                      \
    X(H200, "h200", 55000, 55000, 10, 83000)                                                                 \
    X(A100_PCIE4, "a100-pcie4", 24000, 24000, 10, 36000)                                                     \
    X(L40S, "l40s", 24000, 24000, 10, 36000)                                                                 \
    X(GH200, "gh200", 450000, 450000, 10, 0)
#define TRAITS_CPU_LINK_LIST(X) X(DRAM, "dram", 20000, 20000, 1, 0)
#define TRAITS_NVME_LINK_LIST(X)                                                                             \
    X(NVME_GEN4, "nvme_gen4", 7000, 5000, 80, 0)                                                             \
    X(NVME_GEN3, "nvme_gen3", 3500, 3000, 100, 0)                                                            \
    X(SATA, "sata", 550, 500, 150, 0)
#define TRAITS_REMOTE_LINK_LIST(X)                                                                           \
    X(ETHERNET_10G, "ethernet-10g", 1200, 1200, 200, 0)                                                      \
    X(ETHERNET_25G, "ethernet-25g", 3000, 3000, 150, 0)                                                      \
    X(ETHERNET_100G, "ethernet-100g", 12000, 12000, 100, 0)

#endif
