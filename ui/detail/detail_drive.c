#include <stdio.h>
#include <string.h>

#include "draw/number.h"
#include "record/judge/judge.h"
#include "ui/detail/details.h"
#include "ui/panel/parts.h"

enum { HEAD, FACTS, BYTES, BUSY, QUEUE, P95, SECTIONS };

static const struct layout_section sections[SECTIONS] = {
    [HEAD] = {.name = "drive", .line = 0, .least_cols = 20, .rows = {1, 2}, .urgency = {1, 3}},
    [FACTS] = {.name = "figures", .line = 1, .least_cols = 20, .rows = {4, 6}, .urgency = {2, 5}},
    [BYTES] = {.name = "bytes", .line = 2, .least_cols = 38, .rows = {4, 7}, .urgency = {4, 6}, .grow = 1},
    [BUSY] = {.name = "busy", .line = 2, .least_cols = 38, .rows = {4, 7}, .urgency = {4, 6}, .grow = 1},
    [QUEUE] = {.name = "queue", .line = 3, .least_cols = 38, .rows = {6}, .urgency = {7}, .grow = 1},
    [P95] = {.name = "P95", .line = 3, .least_cols = 38, .rows = {6}, .urgency = {7}, .grow = 1},
};

/* The kernel's bytes to ours, and whether somebody else uses the drive. */
static void draw_foreign(const struct pane *p, double kernel, double ours, double length_s) {
    double ratio = ours > 0 ? kernel / ours : KVF_MISSING;
    if (!kvf_present(ratio)) return;
    bool foreign = judge_foreign_bytes(kernel, ours, length_s) > 0;
    pane_textf(p, 1, 0, foreign ? TONE_WARN : TONE_DIM, "the kernel counts %.2f times the bytes of kvfall%s",
               ratio, foreign ? ": another program uses the drive" : "");
}

static void draw_facts(const struct pane *p, const struct frame *f, const struct parts_figures *m) {
    struct parts_facts x = parts_facts(p);
    const struct snapshot_interval *i = &m->interval;
    const struct snapshot_tier *v = &m->tier[KVF_TIER_NVME];
    char text[NUMBER];
    const double kernel[] = {i->device_read_bytes, i->device_write_bytes},
                 ours[] = {(double)v->read_bytes, (double)v->write_bytes},
                 ms[] = {i->device_read_ms, i->device_write_ms};
    for (int d = 0; d < KVF_DIRS; d++) {
        bool read = d == KVF_DIR_READ;
        parts_fact(&x, read ? "kernel read" : "kernel write", TONE_STRONG,
                   number_rate(parts_per_second(f, kernel[d]), text));
        parts_fact(&x, read ? "kvfall read" : "kvfall write", TONE_NORMAL,
                   number_rate(parts_per_second(f, ours[d]), text));
        parts_fact(&x, read ? "read per MiB" : "write per MiB", TONE_NORMAL,
                   number_ms(kernel[d] > 0 ? ms[d] / (kernel[d] / 1048576.0) : KVF_MISSING, text));
    }
    parts_fact(&x, "queue", TONE_STRONG, number_plain(i->device_queue, text));
    parts_fact(&x, "of reads", TONE_NORMAL, number_plain(parts_per_second(f, ms[0] / 1e3), text));
    parts_fact(&x, "of writes", TONE_NORMAL, number_plain(parts_per_second(f, ms[1] / 1e3), text));
    parts_fact(&x, "dev P95 read", TONE_NORMAL,
               number_ms(parts_op_levels(f, KVF_TIER_NVME, KVF_DIR_READ, WINDOWS_DEVICE).p95_ms, text));
    parts_fact(&x, "dev P95 write", TONE_NORMAL,
               number_ms(parts_op_levels(f, KVF_TIER_NVME, KVF_DIR_WRITE, WINDOWS_DEVICE).p95_ms, text));
    for (int d = 0; d < KVF_DIRS; d++)
        if (kvf_present(m->d2c_p95_ms[d]))
            parts_fact(&x, d == KVF_DIR_READ ? "d2c P95 read" : "d2c P95 write", TONE_NORMAL,
                       number_ms(m->d2c_p95_ms[d], text));
}

static void draw_graphs(const struct pane *p, const struct frame *f) {
    static const struct parts_line bytes[] = {{"read", SERIES_DISK_READ, TONE_NVME, false},
                                              {"write", SERIES_DISK_WRITE, TONE_NVME, true}},
                                   busy[] = {{"busy", SERIES_DISK_BUSY, TONE_NVME, false}},
                                   queue[] = {{"queue", SERIES_DISK_QUEUE, TONE_NVME, false}};
    const struct parts_line p95[] = {
        {"read", series_tier(KVF_TIER_NVME, SERIES_TIER_READ_P95_MS), TONE_NVME, false},
        {"write", series_tier(KVF_TIER_NVME, SERIES_TIER_WRITE_P95_MS), TONE_NVME, true}};
    parts_graph(&p[BYTES], f, "Bytes/s by the kernel", number_short, 0, bytes, 2);
    parts_graph(&p[BUSY], f, "Busy", number_percent, 1, busy, 1);
    parts_graph(&p[QUEUE], f, "Queue", number_plain, 0, queue, 1);
    parts_graph(&p[P95], f, "P95 of entries", number_ms, 0, p95, 2);
}

static void draw(struct canvas *c, const struct rect *at, const struct frame *f) {
    enum { BAR = 20 };
    struct pane p[SECTIONS];
    struct parts_figures m;
    char text[NUMBER];
    for (int s = 0; s < SECTIONS; s++) {
        p[s] = pane_at(c, at[s]);
        if (s <= FACTS) p[s] = pane_part(&p[s], 0, 1, -1, -1);
    }
    parts_figures(f, &m);
    const struct snapshot_interval *i = &m.interval;
    const struct snapshot_tier *v = &m.tier[KVF_TIER_NVME];
    const char *name = f->snap ? f->snap->tier_device[KVF_TIER_NVME] : "";
    int col = pane_textf(&p[HEAD], 0, 0, TONE_NVME, "drive %s", name[0] ? name : "--") + 2;
    col += pane_text(&p[HEAD], 0, col, TONE_HEADING, "busy ");
    graph_bar_graded(&p[HEAD], 0, col, BAR, i->device_busy_ratio, JUDGE_SATURATED);
    pane_text(&p[HEAD], 0, col + BAR + 1, TONE_STRONG, number_percent(i->device_busy_ratio, text));
    draw_foreign(&p[HEAD], i->device_read_bytes + i->device_write_bytes,
                 (double)(v->read_bytes + v->write_bytes), i->length_s);
    draw_facts(&p[FACTS], f, &m);
    draw_graphs(p, f);
}

const struct panel_ops detail_drive = {.name = "drive",
                                       .title = "the drive: the kernel's counts beside kvfall's",
                                       .sections = sections,
                                       .section_count = SECTIONS,
                                       .draw = draw};
