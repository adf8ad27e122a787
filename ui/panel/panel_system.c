#include <stdio.h>
#include <string.h>

#include "draw/number.h"
#include "ui/panel/panels.h"
#include "ui/panel/parts.h"

enum { CPU, DISK, MEMORY, NETWORK, CPU_GRAPH, DISK_GRAPH, MEMORY_GRAPH, BUSY_GRAPH, GPU, SECTIONS };

static const struct layout_section sections[SECTIONS] = {
    [CPU] = {.name = "CPU", .line = 0, .least_cols = 39, .rows = {2, 3, 5}, .urgency = {1, 3, 5}},
    [DISK] = {.name = "disk", .line = 0, .least_cols = 39, .rows = {2, 3, 5}, .urgency = {1, 2, 5}},
    [MEMORY] = {.name = "memory", .line = 1, .least_cols = 39, .rows = {1, 2, 3}, .urgency = {1, 1, 6}},
    [NETWORK] = {.name = "network", .line = 1, .least_cols = 39, .rows = {2, 3}, .urgency = {4, 6}},
    [CPU_GRAPH] =
        {.name = "CPU over time", .line = 2, .least_cols = 39, .rows = {6, 9}, .urgency = {7, 9}, .grow = 1},
    [DISK_GRAPH] =
        {.name = "disk over time", .line = 2, .least_cols = 39, .rows = {6, 9}, .urgency = {7, 9}, .grow = 1},
    [MEMORY_GRAPH] = {.name = "memory over time",
                      .line = 3,
                      .least_cols = 39,
                      .rows = {6, 9},
                      .urgency = {8, 10},
                      .grow = 1},
    [BUSY_GRAPH] =
        {.name = "utilisation", .line = 3, .least_cols = 39, .rows = {6, 9}, .urgency = {8, 10}, .grow = 1},
    [GPU] = {.name = "GPU",
             .line = 4,
             .least_cols = 40,
             .rows = {1, 2, 1 + SNAPSHOT_GPUS_MAX},
             .urgency = {1, 6, 11}},
};

enum { FIGURE = NUMBER_RATE };

/* A row of a part: what it is called alone, and what under the part's heading. */
struct figure {
    const char *alone, *under;
    double value;
    number_fn *as;
    const char *unit; /* behind a figure that has none of its own */
    int series;
    double top;
    enum tone tone;
    bool unknown; /* no series of it */
};

/* As many rows as there are, with a heading where one is left over for it. */
static void draw_figures(const struct pane *p, const struct frame *f, const char *heading, const char *of,
                         const struct figure *figures, int count) {
    bool headed = p->at.rows > count;
    if (headed) {
        int col = pane_text(p, 0, 0, TONE_HEADING, heading) + 2;
        if (parts_whole_run(f)) col += pane_text(p, 0, col, TONE_HEADING, "whole run") + 2;
        pane_clip(p, 0, col, p->at.cols - col, TONE_DIM, of);
    }
    for (int i = 0; i < count && i + headed < p->at.rows; i++) {
        const struct figure *x = &figures[i];
        char label[24], text[NUMBER], padded[2 * NUMBER];
        snprintf(label, sizeof label, headed ? " %-10s" : "%-11s", headed ? x->under : x->alone);
        snprintf(text, sizeof text, "%s", x->as(x->value, padded));
        const char *unit = kvf_present(x->value) ? x->unit : "";
        snprintf(padded, sizeof padded, "%*s%s", FIGURE - canvas_text_columns(unit), text, unit);
        if (x->unknown) {
            int col = pane_text(p, i + headed, 0, TONE_NORMAL, label) + 1;
            pane_text(p, i + headed, col, TONE_NORMAL, padded);
        } else {
            parts_spark(p, i + headed, 0, p->at.cols, f, label, padded, x->series, x->top, x->tone);
        }
    }
}

static void draw_cpu(const struct pane *p, const struct frame *f, const struct snapshot_interval *i) {
    char of[160], user[NUMBER], sys[NUMBER], joules[NUMBER], text[NUMBER];
    char watts[NUMBER + 8] = "", energy[2 * NUMBER + 24] = "";
    const struct figure figures[] = {
        {"CPU host", "host", i->host_cpu_ratio, number_percent, "", SERIES_HOST_CPU, 1, TONE_ACCENT, false},
        {"CPU process", "process", parts_per_second(f, i->cpu_user_s + i->cpu_sys_s), number_plain, " cores",
         SERIES_PROCESS_CORES, 0, TONE_SECOND, false},
        {"CPU steal", "steal", i->host_steal_ratio, number_percent, "", SERIES_HOST_STEAL, 1, TONE_THIRD,
         false},
        {"CPU workers", "workers", parts_per_second(f, i->workers_cpu_s), number_plain, " cores", 0, 0,
         TONE_NORMAL, true},
    };
    number_plain(parts_per_second(f, i->cpu_user_s), user);
    number_plain(parts_per_second(f, i->cpu_sys_s), sys);
    if (kvf_present(i->cpu_power_w)) {
        number_plain(i->tokens > 0 ? i->energy_used_j / (double)i->tokens : KVF_MISSING, joules);
        snprintf(watts, sizeof watts, ", %s W", number_plain(i->cpu_power_w, text));
        snprintf(energy, sizeof energy, "%s, %s J a token", watts, joules);
    }
    snprintf(of, sizeof of, "process %s cores user, %s cores kernel%s", user, sys, energy);
    int room = p->at.cols - (parts_whole_run(f) ? 16 : 5);
    if (canvas_text_columns(of) > room)
        snprintf(of, sizeof of, "cores: %s user, %s kernel%s", user, sys, watts);
    if (canvas_text_columns(of) > room) snprintf(of, sizeof of, "%s", energy[0] ? energy + 2 : "");
    draw_figures(p, f, "CPU", of, figures, sizeof figures / sizeof *figures);
}

/* The drive, and what is known of its health, as far as there is room: nothing of a virtual one. */
static void drive_words(char *out, size_t len, int room, const char *device,
                        const struct snapshot_interval *i) {
    char used[NUMBER], hot[24] = "", life[NUMBER + 8] = "";
    const char *warns = i->drive_warnings > 0 ? " warns of itself" : "",
               *part = number_percent(i->drive_used_ratio, used);
    if (kvf_present(i->drive_temperature_c)) snprintf(hot, sizeof hot, ", %.0f C", i->drive_temperature_c);
    if (kvf_present(i->drive_used_ratio)) snprintf(life, sizeof life, ", %s used", part + strspn(part, " "));
    bool known = warns[0] || hot[0] || life[0];
    snprintf(out, len, "%s%s%s%s", device, warns, hot, known ? life : ", health not known");
    if (canvas_text_columns(out) > room) snprintf(out, len, "%s%s%s", device, warns, hot);
}

static void draw_disk(const struct pane *p, const struct frame *f, const struct snapshot_interval *i) {
    const char *device = f->snap ? f->snap->tier_device[KVF_TIER_NVME] : "";
    const struct figure figures[] = {
        {"Disk busy", "busy", i->device_busy_ratio, number_percent, "", SERIES_DISK_BUSY, 1, TONE_ACCENT,
         false},
        {"Disk read", "read", parts_per_second(f, i->device_read_bytes), number_rate, "", SERIES_DISK_READ, 0,
         TONE_ACCENT, false},
        {"Disk write", "write", parts_per_second(f, i->device_write_bytes), number_rate, "",
         SERIES_DISK_WRITE, 0, TONE_ACCENT, false},
        {"Disk queue", "queue", i->device_queue, number_plain, "", SERIES_DISK_QUEUE, 0, TONE_SECOND, false},
    };
    char of[96] = "none known under the nvme tier";
    if (p->at.rows > (int)(sizeof figures / sizeof *figures) && device[0]) parts_row(p, 0, f, FRAME_DRIVE, 0);
    if (device[0] && f->snap->simulated)
        snprintf(of, sizeof of, "%s", device);
    else if (device[0])
        drive_words(of, sizeof of, p->at.cols - (parts_whole_run(f) ? 17 : 6), device, i);
    draw_figures(p, f, "Disk", of, figures, sizeof figures / sizeof *figures);
}

static void draw_memory(const struct pane *p, const struct frame *f, const struct snapshot_interval *i) {
    bool whole = parts_whole_run(f);
    const struct figure figures[] = {
        {"Available", "available", i->host_available_bytes, number_bytes, "", SERIES_AVAILABLE, 0,
         TONE_ACCENT, false},
        {whole ? "Peak memory" : "Resident", whole ? "peak" : "resident", i->rss_bytes, number_bytes, "",
         SERIES_RSS, 0, TONE_SECOND, false},
    };
    draw_figures(p, f, "Memory", whole ? "available at end" : "of the host, of the process", figures,
                 sizeof figures / sizeof *figures);
}

static void draw_network(const struct pane *p, const struct frame *f, const struct snapshot_interval *i) {
    const struct figure figures[] = {
        {"Net in", "in", parts_per_second(f, i->net_rx_bytes), number_rate, "", SERIES_NET_RX, 0, TONE_ACCENT,
         false},
        {"Net out", "out", parts_per_second(f, i->net_tx_bytes), number_rate, "", SERIES_NET_TX, 0,
         TONE_ACCENT, false},
    };
    draw_figures(p, f, "Network", parts_whole_run(f) ? "not in the results" : "all interfaces of the host",
                 figures, sizeof figures / sizeof *figures);
}

/* ---- GPU devices ---- */

static void draw_gpu(const struct pane *p, const struct frame *f) {
    if (f->snap && f->snap->gpus > 0) {
        parts_gpus(p, f);
        return;
    }
    int col = pane_text(p, 0, 0, TONE_HEADING, "GPU") + 2;
    pane_clip(p, 0, col, p->at.cols - col, TONE_DIM,
              !f->snap                               ? "no interval yet"
              : parts_tier_emulated(f, KVF_TIER_GPU) ? "no figures in this run; its gpu tier is emulated"
                                                     : "no figures in this run");
}

/* ---- over time ---- */

static void draw_cpu_graph(const struct pane *p, const struct frame *f) {
    static const struct parts_line lines[] = {
        {"steal", SERIES_HOST_STEAL, TONE_THIRD, false},
        {"host", SERIES_HOST_CPU, TONE_ACCENT, false},
    };
    parts_graph(p, f, "CPU", number_percent, 1, lines, sizeof lines / sizeof *lines);
}

static void draw_disk_graph(const struct pane *p, const struct frame *f) {
    static const struct parts_line lines[] = {
        {"write", SERIES_DISK_WRITE, TONE_NVME, true},
        {"read", SERIES_DISK_READ, TONE_NVME, false},
    };
    parts_graph(p, f, "Disk B/s", number_short, 0, lines, sizeof lines / sizeof *lines);
}

static void draw_memory_graph(const struct pane *p, const struct frame *f) {
    static const struct parts_line lines[] = {
        {"available", SERIES_AVAILABLE, TONE_ACCENT, false},
        {"resident", SERIES_RSS, TONE_SECOND, false},
    };
    parts_graph(p, f, "Memory", number_short, 0, lines, sizeof lines / sizeof *lines);
}

static void draw_busy_graph(const struct pane *p, const struct frame *f) {
    const struct parts_line lines[] = {
        {"disk", SERIES_DISK_BUSY, TONE_NVME, false},
        {"GPU", series_gpu(0, SERIES_GPU_UTILISATION), TONE_GPU, false},
    };
    bool gpu = f->snap && f->snap->gpus > 0;
    parts_graph(p, f, "Busy", number_percent, 1, lines, gpu ? 2 : 1);
}

static void draw(struct canvas *c, const struct rect *at, const struct frame *f) {
    static void (*const figures[SECTIONS])(const struct pane *, const struct frame *,
                                           const struct snapshot_interval *) = {
        [CPU] = draw_cpu,
        [DISK] = draw_disk,
        [MEMORY] = draw_memory,
        [NETWORK] = draw_network,
    };
    static void (*const parts[SECTIONS])(const struct pane *, const struct frame *) = {
        [CPU_GRAPH] = draw_cpu_graph,
        [DISK_GRAPH] = draw_disk_graph,
        [MEMORY_GRAPH] = draw_memory_graph,
        [BUSY_GRAPH] = draw_busy_graph,
        [GPU] = draw_gpu,
    };
    struct parts_figures m;
    parts_figures(f, &m);
    for (int i = 0; i < SECTIONS; i++) {
        struct pane p = pane_at(c, at[i]);
        bool graph = i >= CPU_GRAPH && i <= BUSY_GRAPH;
        if (!graph) p = pane_part(&p, 0, 1, -1, -1);
        if (pane_empty(&p)) continue;
        if (figures[i])
            figures[i](&p, f, &m.interval);
        else
            parts[i](&p, f);
    }
}

const struct panel_ops panel_system = {
    .name = "system",
    .title = "what the machine has to give and what the run takes of it",
    .sections = sections,
    .section_count = SECTIONS,
    .draw = draw,
};
