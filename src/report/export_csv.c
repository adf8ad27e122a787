#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "base/units.h"
#include "report/export.h"
#include "report/sheet.h"

static void add_heads(const char *prefix, const struct snapshot_field *fields, size_t count,
                      struct buf *out) {
    for (size_t f = 0; f < count; f++) buf_addf(out, ",%s%s", prefix, fields[f].name);
}

/* Nothing where it is missing. */
static void add_values(const void *part, const struct snapshot_field *fields, size_t count, struct buf *out) {
    char text[UNITS_REAL];
    for (size_t f = 0; f < count; f++) {
        const void *at = (const char *)part + fields[f].offset;
        buf_add(out, ",");
        if (part == NULL) continue;
        if (fields[f].offset == offsetof(struct snapshot_interval, phase) &&
            fields == snapshot_interval_fields) {
            buf_add(out, run_phase_name((enum kvf_run_phase) * (const uint64_t *)at));
        } else if (fields[f].type == SNAPSHOT_U) {
            buf_addf(out, "%" PRIu64, *(const uint64_t *)at);
        } else if (isfinite(*(const double *)at)) {
            units_format_real(*(const double *)at, text);
            buf_add(out, text);
        }
    }
}

static void add_texts(const char *const *texts, size_t count, struct buf *out) {
    for (size_t i = 0; i < count; i++) {
        buf_add(out, ",");
        sheet_csv_text(texts[i], out);
    }
}

/* `tier` KVF_TIERS: none was on. */
static void add_row(const struct export_run *r, size_t i, int tier, struct buf *out) {
    const struct run_record *run = &r->run;
    const char *const names[] = {run->uuid, run->name, run->model, run->mode, run->host};
    bool on = tier < KVF_TIERS;
    const char *const which[] = {on ? tier_name((enum kvf_tier)tier) : "",
                                 on ? (r->series.tier_emulated[tier] ? "1" : "0") : ""};
    buf_addf(out, "%" PRId64, run->run_id);
    add_texts(names, sizeof names / sizeof *names, out);
    add_values(&r->series.interval[i], snapshot_interval_fields, snapshot_interval_field_count, out);
    add_texts(which, sizeof which / sizeof *which, out);
    add_values(on ? &r->series.tier[i][tier] : NULL, snapshot_tier_fields, snapshot_tier_field_count, out);
    buf_add(out, "\n");
}

int export_csv(const struct export_run *runs, size_t count, struct buf *out, struct err *e) {
    (void)e;
    buf_add(out, "run_id,uuid,name,model,mode,host");
    add_heads("", snapshot_interval_fields, snapshot_interval_field_count, out);
    buf_add(out, ",tier,tier_emulated");
    add_heads("tier_", snapshot_tier_fields, snapshot_tier_field_count, out);
    buf_add(out, "\n");
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < runs[r].series.count; i++) {
            int rows = 0;
            for (int t = 0; t < KVF_TIERS; t++) {
                if (!runs[r].series.tier_on[t]) continue;
                add_row(&runs[r], i, t, out);
                rows++;
            }
            if (!rows) add_row(&runs[r], i, KVF_TIERS, out);
        }
    return 0;
}
