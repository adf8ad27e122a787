#include "page/summary_lines.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"

/* ---- classes ---- */

struct classes {
    const struct run_record *run;
    struct format_page *page;
};

#define metric(s, ...) result_named(&(s)->run->results, __VA_ARGS__)

static bool class_used(const struct classes *s, const struct run_class *c) {
    return metric(s, "class_%s_arrived", c->name) != 0 || metric(s, "class_%s_queued_at_end", c->name) > 0;
}

/* A class's targets, as the names of the results have them. */
enum { TARGET_COLS = 7, CLASS_COLS = 13 };
static const char *target_name(int i) {
    return stat_name(stat_of_target(i));
}

static uint64_t target_ns(const struct run_class *c, int i) {
    const uint64_t ns[KVF_TARGETS] = {c->p95_ns, c->p99_ns, c->p999_ns, c->p9999_ns};
    return ns[i];
}

/* "!120 ms/100ms": what came out, what was asked for, and a sign when that was missed. */
static struct format_cell target_cell(const struct classes *s, const struct run_class *c, int i) {
    struct format_cell cell = {""};
    char target[40];
    if (target_ns(c, i) == 0) return cell;
    units_duration_exact(target_ns(c, i), target, sizeof target);
    if (strlen(target) > TARGET_COLS) units_duration_human((double)target_ns(c, i), target, sizeof target);
    double actual = metric(s, "slo_%s_%s_ms", c->name, target_name(i));
    bool missed = metric(s, "slo_%s_%s_met", c->name, target_name(i)) == 0;
    snprintf(cell.text, sizeof cell.text, "%s%.12s/%.12s", missed ? "!" : "", format_ms(actual).text, target);
    return cell;
}

/* Backlog and the oldest wait stand beside what was met, so that a starved class cannot look fast: requests =
 * done + failed + open. Classes that nobody belonged to are left out. */
static void put_classes(const struct classes *s) {
    bool any = false;
    for (uint32_t i = 0; i < s->run->classes; i++) {
        const struct run_class *c = &s->run->klass[i];
        char name[SNAPSHOT_NAME + CLASS_COLS], heading[24];
        if (!class_used(s, c)) continue;
        snprintf(heading, sizeof heading, "%.4s P95/target", s->run->qos_latency);
        if (!any)
            format_line(s->page, FORMAT_HEADING, "%-15s%8s%17s%9s%8s%8s%7s%8s", "Class", "SLO met", heading,
                        "requests", "done", "failed", "open", "oldest");
        any = true;
        struct format_cell target = target_cell(s, c, 0);
        double done = metric(s, "class_%s_done", c->name), failed = metric(s, "class_%s_failed", c->name),
               open = metric(s, "class_%s_queued_at_end", c->name),
               served = metric(s, "class_%s_in_service_at_end", c->name);
        if (kvf_present(served)) open += served;
        format_line(s->page, FORMAT_PLAIN, "  %s%8s%17s%9s%8s%8s%7s%8s",
                    format_fit(c->name, CLASS_COLS, s->page->style->ascii, name, sizeof name),
                    format_percent(metric(s, "slo_%s_met_ratio", c->name)).text,
                    target.text[0] ? target.text : "--", format_count(done + failed + open).text,
                    format_count(done).text, format_count(failed).text, format_count(open).text,
                    format_ms(metric(s, "class_%s_oldest_wait_ms", c->name)).text);
    }
}

/* Whether a class has an answer for one of these targets. */
static bool target_known(const struct classes *s, const struct run_class *c, int i) {
    return target_ns(c, i) > 0 && kvf_present(metric(s, "slo_%s_%s_met", c->name, target_name(i)));
}

/* The percentiles above the P95, those of which a class has an answer. */
static void put_targets(const struct classes *s) {
    static const char *const headings[KVF_TARGETS] = {"P95", "P99", "P99.9", "P99.99"};
    bool known[KVF_TARGETS] = {false};
    char line[160], name[SNAPSHOT_NAME + CLASS_COLS];
    int used = snprintf(line, sizeof line, "%-15s", "Higher targets");
    for (int i = 1; i < KVF_TARGETS; i++) {
        for (uint32_t k = 0; k < s->run->classes; k++)
            known[i] = known[i] || target_known(s, &s->run->klass[k], i);
        if (known[i]) used += snprintf(line + used, sizeof line - (size_t)used, "%16s", headings[i]);
    }
    if (used == 15) return; /* nothing was asked for, or too few requests for an answer */
    format_line(s->page, FORMAT_HEADING, "%s", line);
    for (uint32_t k = 0; k < s->run->classes; k++) {
        const struct run_class *c = &s->run->klass[k];
        bool any = false;
        if (!class_used(s, c)) continue;
        format_fit(c->name, CLASS_COLS, s->page->style->ascii, name, sizeof name);
        used = snprintf(line, sizeof line, "  %s", name);
        for (int i = 1; i < KVF_TARGETS; i++) {
            if (!known[i]) continue;
            any = any || target_ns(c, i) > 0;
            used += snprintf(line + used, sizeof line - (size_t)used, "%16s", target_cell(s, c, i).text);
        }
        if (any) format_line(s->page, FORMAT_PLAIN, "%s", line);
    }
}

/* A class may look fast because hardly anybody of it was served. */
static void put_starved(const struct classes *s) {
    struct format_page *p = s->page;
    struct buf who = {0};
    for (uint32_t k = 0; k < s->run->classes; k++) {
        double starved_s = metric(s, "class_%s_starved_s", s->run->klass[k].name);
        if (!(starved_s > 0)) continue;
        buf_addf(&who, "%s%s for %s", who.len ? ", " : "", s->run->klass[k].name,
                 format_seconds(starved_s).text);
    }
    if (who.len) {
        buf_add(
            &who,
            ": later requests of other classes got slots first, and the oldest of the class waited more than "
            "ten times its P95 target");
        format_label(p, FORMAT_WARN, "Starved");
        format_words(p, buf_text(&who));
        format_end(p);
    }
    buf_free(&who);
}

void summary_class_lines(struct format_page *p, const struct run_record *r) {
    const struct classes s = {r, p};
    put_classes(&s);
    put_targets(&s);
    put_starved(&s);
}

/* ---- the verdict ---- */

/* Only the best three remedies are shown, and none that helps little. */
static void put_remedies(struct format_page *p, const struct verdict *v) {
    enum { SHOWN = 3 };
    char text[VERDICT_WARNING];
    for (size_t i = 0; i < v->remedies && i < SHOWN; i++) {
        if (verdict_gain(&v->remedy[i]) < VERDICT_GAIN) break;
        format_label(p, FORMAT_HEADING, i == 0 ? "Would help:" : "");
        format_words(p, verdict_remedy_text(&v->remedy[i], text, sizeof text));
        format_words(p, "(estimate)");
        format_end(p);
    }
}

void summary_verdict_lines(struct format_page *p, const struct verdict *v) {
    for (size_t i = 0; i < v->warnings; i++) {
        format_label(p, FORMAT_WARN, "Warning");
        format_words(p, v->warning[i]);
        format_end(p);
    }
    format_label(p, FORMAT_HEADING, "Bottleneck:");
    format_words(p, v->sentence[0] ? v->sentence : "--");
    format_end(p);
    put_remedies(p, v);
}
