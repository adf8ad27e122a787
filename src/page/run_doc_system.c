#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "page/run_doc_inside.h"

static const double per_gib = 1.0 / (1024.0 * 1024.0 * 1024.0);

static void put_processor(const struct run_part *p) {
    struct plot *plot = run_plot_time(p, "CPU time of the process", "CPUs", "");
    plot->kind = PLOT_STACK;
    run_plot_field(plot, p, "user", &(struct run_field){"cpu_user_s", 1, true});
    run_plot_field(plot, p, "kernel", &(struct run_field){"cpu_sys_s", 1, true});
    run_plot_add(p, plot);
    plot = run_plot_time(p, "CPUs of the host", "busy", "%");
    run_plot_field(plot, p, "busy", &(struct run_field){"host_cpu_ratio", 1, false});
    run_plot_field(plot, p, "stolen", &(struct run_field){"host_steal_ratio", 1, false});
    plot->y.high = 1;
    run_plot_add(p, plot);
    plot = run_plot_time(p, "Power of processors and memory", "power", "W");
    run_plot_field(plot, p, "", &(struct run_field){"cpu_power_w", 1, false});
    run_plot_add(p, plot);
    plot = run_plot_time(p, "Memory", "memory", "B");
    run_plot_field(plot, p, "of the process", &(struct run_field){"rss_bytes", 1, false});
    run_plot_field(plot, p, "available", &(struct run_field){"host_available_bytes", 1, false});
    run_plot_add(p, plot);
}

static void put_device(const struct run_part *p) {
    const char *device = p->series->tier_device[KVF_TIER_NVME];
    struct buf title = {0};
    buf_addf(&title, "Device %s by the kernel's counts", device);
    struct plot *plot =
        run_plot_time(p, *device ? buf_text(&title) : "Device by the kernel's counts", "moved", "GiB/s");
    run_plot_field(plot, p, "read", &(struct run_field){"device_read_bytes", per_gib, true});
    run_plot_field(plot, p, "written", &(struct run_field){"device_write_bytes", per_gib, true});
    run_plot_add(p, plot);
    buf_free(&title);
    plot = run_plot_time(p, "Device utilisation", "busy", "%");
    run_plot_field(plot, p, "", &(struct run_field){"device_busy_ratio", 1, false})->area = true;
    plot->y.high = 1;
    run_plot_add(p, plot);
    plot = run_plot_time(p, "Temperature of the hottest drive", "temperature", "C");
    run_plot_field(plot, p, "", &(struct run_field){"drive_temperature_c", 1, false});
    run_plot_add(p, plot);
    plot = run_plot_time(p, "Requests at the device", "mean in the interval", "");
    run_plot_field(plot, p, "", &(struct run_field){"device_queue", 1, false})->area = true;
    run_plot_add(p, plot);
}

static void put_gpus(const struct run_part *p) {
    static const struct {
        const char *title, *label, *unit;
        struct run_field field;
        double high;
    } plots[] = {
        {"GPU utilisation", "busy", "%", {"utilisation", 1, false}, 1},
        {"GPU memory", "used", "B", {"memory_used_bytes", 1, false}, KVF_MISSING},
        {"PCIe from the host", "received", "GiB/s", {"pcie_rx_bytes_s", 1.0 / (1 << 30), false}, KVF_MISSING},
        {"PCIe to the host", "sent", "GiB/s", {"pcie_tx_bytes_s", 1.0 / (1 << 30), false}, KVF_MISSING},
        {"GPU power", "power", "W", {"power_w", 1, false}, KVF_MISSING},
        {"GPU temperature", "temperature", "C", {"temperature_c", 1, false}, KVF_MISSING},
        {"GPU clock", "processor clock", "MHz", {"clock_sm_mhz", 1, false}, KVF_MISSING}};
    for (size_t i = 0; i < sizeof plots / sizeof plots[0]; i++) {
        struct plot *plot = run_plot_time(p, plots[i].title, plots[i].label, plots[i].unit);
        for (uint32_t g = 0; g < p->series->gpus; g++) {
            char name[32];
            snprintf(name, sizeof name, "GPU %" PRIu64,
                     p->series->gpu ? p->series->gpu[0][g].device : UINT64_C(0));
            run_plot_gpu(plot, p, g, name, &plots[i].field);
        }
        plot->y.high = plots[i].high;
        run_plot_add(p, plot);
    }
}

/* Our use of the server behind the remote tier, and what it says of itself. */
static void put_server(const struct run_part *p) {
    if (!p->series->remote) return;
    struct plot *plot = run_plot_time(p, "Server: bytes on the wire", "moved", "GiB/s");
    run_plot_server(plot, p, "received", &(struct run_field){"received_bytes", per_gib, true});
    run_plot_server(plot, p, "sent", &(struct run_field){"sent_bytes", per_gib, true});
    run_plot_add(p, plot);
    plot = run_plot_time(p, "Server: commands", "a second", "");
    run_plot_server(plot, p, "round trips of this run", &(struct run_field){"round_trips", 1, true});
    run_plot_server(plot, p, "of all its clients", &(struct run_field){"server_ops_per_s", 1, false});
    run_plot_add(p, plot);
    plot = run_plot_time(p, "Server: lookups", "time to an answer", "ms");
    run_plot_server(plot, p, "P50", &(struct run_field){"lookup_p50_ms", 1, false});
    run_plot_server(plot, p, "P95", &(struct run_field){"lookup_p95_ms", 1, false});
    run_plot_add(p, plot);
    plot = run_plot_time(p, "Server: memory", "memory", "B");
    run_plot_server(plot, p, "used", &(struct run_field){"server_used_bytes", 1, false});
    run_plot_server(plot, p, "maxmemory", &(struct run_field){"server_max_bytes", 1, false});
    run_plot_add(p, plot);
    plot = run_plot_time(p, "Server: keys that went", "keys a second", "");
    run_plot_server(plot, p, "evicted", &(struct run_field){"server_evicted_keys", 1, true});
    run_plot_server(plot, p, "expired", &(struct run_field){"server_expired_keys", 1, true});
    run_plot_server(plot, p, "reads that found nothing", &(struct run_field){"lost", 1, true});
    run_plot_add(p, plot);
}

static void put_facts(const struct run_part *p) {
    static const struct {
        const char *label, *metric, *unit;
    } facts[] = {{"Host CPUs busy", "host_cpu_ratio", ""},
                 {"Slots busy", "slots_busy_ratio", ""},
                 {"Device busy", "device_busy_ratio", ""},
                 {"Energy used", "energy_j", "J"}};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        double v = run_metric(p, "%s", facts[i].metric);
        if (kvf_present(v))
            doc_fact(p->doc, facts[i].label, format_measure(v, facts[i].unit, facts[i].metric).text);
    }
    run_facts_drive(p);
    run_facts_server(p);
    run_facts_kernel(p);
    run_facts_process(p);
}

void run_doc_system(const struct run_part *p) {
    if (!run_measured(p) && p->series->count == 0) return;
    doc_section(p->doc, p->level, "System");
    if (run_measured(p)) put_facts(p);
    if (p->series->count == 0) return;
    put_processor(p);
    put_device(p);
    put_server(p);
    put_gpus(p);
}
