#include "page/run_doc.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "page/lead.h"
#include "page/run_doc_inside.h"

static void put_run(const struct run_part *p, bool whole) {
    run_doc_summary(p);
    run_doc_trials(p);
    if (!whole) return;
    run_doc_progress(p);
    run_doc_latency(p);
    run_doc_cache(p);
    run_doc_classes(p);
    run_doc_autoscaler(p);
    run_doc_system(p);
    run_doc_pods(p);
    run_doc_ranks(p);
    run_doc_events(p);
    run_doc_place(p);
    run_doc_scenario(p);
    run_doc_measures(p);
}

static void run_title(const struct run_record *r, struct buf *title, struct buf *subtitle) {
    buf_addf(title, "%s, run %" PRId64, r->name[0] ? r->name : "unnamed", r->run_id);
    buf_addf(subtitle, "%s, %s, ", r->model, r->mode);
    lead_origin(r->host, r->started_at, r->version, subtitle);
    if (r->description[0]) buf_addf(subtitle, ". %s", r->description);
}

struct doc *run_doc_new(const struct run_doc_source *runs, size_t count, const struct comparison *c) {
    struct buf title = {0}, subtitle = {0};
    if (count == 1)
        run_title(&runs[0].run, &title, &subtitle);
    else
        for (size_t i = 0; i < count; i++)
            buf_addf(&title, "%s%" PRId64, i ? ", " : "Runs ", runs[i].run.run_id);
    struct doc *d = doc_new(buf_text(&title), buf_text(&subtitle));
    buf_free(&title);
    buf_free(&subtitle);
    if (count > 1) run_doc_several(d, runs, count, c);
    for (size_t i = 0; i < count; i++) {
        struct run_part p = {
            d, &runs[i].run, &runs[i].series, &runs[i].trials, &runs[i].requests, count > 1 ? 2 : 1};
        if (count > 1) {
            struct buf heading = {0}, under = {0};
            run_title(p.run, &heading, &under);
            doc_section(d, 1, buf_text(&heading));
            doc_text(d, DOC_PLAIN, "%s", buf_text(&under));
            buf_free(&heading);
            buf_free(&under);
        }
        put_run(&p, count <= RUN_DOC_WHOLE);
    }
    return d;
}
