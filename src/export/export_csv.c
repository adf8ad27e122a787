#include <inttypes.h>

#include "base/moment.h"
#include "draw/sheet.h"
#include "export/export.h"

static void add_heads(const char *prefix, const struct snapshot_field *fields, size_t count,
                      struct buf *out) {
    for (size_t f = 0; f < count; f++) {
        buf_add(out, ",");
        buf_add(out, prefix);
        buf_add(out, fields[f].name);
    }
}

/* Nothing where it is missing. */
static void add_values(const void *part, const struct snapshot_field *fields, size_t count, struct buf *out) {
    for (size_t f = 0; f < count; f++) {
        const char *word = part ? export_field_word(part, &fields[f]) : NULL;
        buf_add(out, ",");
        if (word)
            buf_add(out, word);
        else if (part)
            export_add_field(part, &fields[f], out);
    }
}

static void add_text(const char *text, struct buf *out) {
    buf_add(out, ",");
    sheet_csv_text(text, out);
}

/* Of an interval; nothing where it is not known. */
static void add_wall_clock(const struct snapshot_interval *i, struct buf *out) {
    char text[MOMENT_TEXT];
    moment_iso(i->at, 3, text);
    buf_addf(out, ",%s", text);
}

/* The columns that open every row of a run. */
static void add_run(const struct run_record *run, struct buf *out) {
    export_add_count((uint64_t)run->run_id, out);
    const char *const names[] = {run->uuid, run->name, run->model, run->mode, run->host};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) add_text(names[i], out);
}

/* `tier` KVF_TIERS: none was on. */
static void add_tier(const struct series *s, size_t i, int tier, struct buf *out) {
    bool on = tier < KVF_TIERS;
    add_text(on ? tier_name((enum kvf_tier)tier) : "", out);
    add_text(!on ? "" : s->tier_emulated[tier] ? "1" : "0", out);
    add_values(on ? &s->tier[i][tier] : NULL, snapshot_tier_fields, snapshot_tier_field_count, out);
    add_values(tier == KVF_TIER_NVME && s->block ? &s->block[i] : NULL, snapshot_block_fields,
               snapshot_block_field_count, out);
    buf_add(out, "\n");
}

static void add_interval(const struct series *s, size_t i, const struct buf *begin, struct buf *out) {
    bool any = false;
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!s->tier_on[t]) continue;
        buf_bytes(out, begin->data, begin->len);
        add_tier(s, i, t, out);
        any = true;
    }
    if (any) return;
    buf_bytes(out, begin->data, begin->len);
    add_tier(s, i, KVF_TIERS, out);
}

int export_csv(const struct export_run *runs, size_t count, struct buf *out, struct err *e) {
    struct buf run = {0}, begin = {0}; /* of a row, the same for all tiers of an interval */
    (void)e;
    buf_add(out, "run_id,uuid,name,model,mode,host,wall_clock");
    add_heads("", snapshot_interval_fields, snapshot_interval_field_count, out);
    buf_add(out, ",tier,tier_emulated");
    add_heads("tier_", snapshot_tier_fields, snapshot_tier_field_count, out);
    add_heads("block_", snapshot_block_fields, snapshot_block_field_count, out);
    buf_add(out, "\n");
    for (size_t r = 0; r < count; r++) {
        const struct series *s = &runs[r].series;
        run.len = 0;
        add_run(&runs[r].run, &run);
        for (size_t i = 0; i < s->count; i++) {
            begin.len = 0;
            buf_bytes(&begin, run.data, run.len);
            add_wall_clock(&s->interval[i], &begin);
            add_values(&s->interval[i], snapshot_interval_fields, snapshot_interval_field_count, &begin);
            add_interval(s, i, &begin, out);
        }
    }
    buf_free(&run);
    buf_free(&begin);
    return 0;
}
