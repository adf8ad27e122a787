#include "scenario/load.h"

#include "base/units.h"

void scenario_quickstart(uint64_t available_bytes, struct buf *out) {
    uint64_t cpu = available_bytes / 4;
    char size[40];

    if (cpu > 4 * KVF_GIB) cpu = 4 * KVF_GIB;
    cpu -= cpu % KVF_MIB;
    buf_addf(out,
             "name: quickstart\n"
             "description: 50 users of an 8B model on a small three-tier cache\n"
             "model: llama3.1-8b\n"
             "run: {max_written: 20GiB}\n"
             "tiers:\n"
             "  gpu: {capacity: 2GiB}\n"
             "  cpu: {capacity: %s}\n"
             "  nvme: {capacity: 8GiB, path: .}\n",
             units_size_exact(cpu, size, sizeof size));
}
