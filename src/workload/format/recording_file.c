#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "workload/format/json.h"
#include "workload/format/listing.h"
#include "workload/format/recording.h"
#include "workload/trace.h"

#define RECORDING_TIME_MAX (UINT64_C(366) * 24 * 3600 * KVF_NS_PER_S) /* of one time or thought */
enum { RECORDING_REQUESTS_MAX = 65535 };                              /* of a conversation */

/* ---- what is held ---- */

/* How much there was before something that may turn out to be of no use. */
struct mark {
    uint32_t requests, lanes, runs, in_conversation;
};

struct reader {
    struct recordings *r;
    struct json json;
    const char *name; /* of the file */
    uint64_t block_tokens;
    struct recording_conversation *c;
    bool block_size_seen;
};

static struct mark mark_of(const struct reader *f) {
    return (struct mark){f->r->requests, f->r->lanes, f->r->runs, f->c->requests};
}

static void mark_return(struct reader *f, const struct mark *m) {
    f->r->requests = m->requests;
    f->r->lanes = m->lanes;
    f->r->runs = m->runs;
    f->c->requests = m->in_conversation;
}

/* False when that is enough, which ends the reading. */
static bool room_left(struct reader *f) {
    const struct recordings *r = f->r;
    uint64_t held = r->requests * sizeof *r->request + r->lanes * sizeof *r->lane + r->runs * sizeof *r->run;
    if (held <= RECORDINGS_BYTES_MAX) return true;
    f->r->full = true;
    return json_fail(&f->json, "it is too much to hold");
}

static void reject(struct reader *f, enum workload_reject reason, uint64_t line, const char *why) {
    struct recordings *r = f->r;
    f->c->rejected[reason]++;
    if (r->first_rejected_line != 0) return;
    r->first_rejected_line = line ? line : 1;
    snprintf(r->first_rejected_why, sizeof r->first_rejected_why, "%.60s: %.90s", f->name, why);
}

/* ---- one item of a list of requests ---- */

/* The contents of an item; the first bad value is kept and reading goes on. */
struct item {
    uint64_t line;
    enum { ITEM_UNKNOWN, ITEM_REQUEST, ITEM_SUBAGENT } type;
    uint64_t time_ns, think_ns, api_ns, context, generate;
    bool has_time, has_context, has_generate, has_ids, has_requests;
    uint32_t runs_from, ids;
    uint32_t first; /* of the requests in it */
    bool faulty;
    enum workload_reject reason;
    char why[120];
};

static void fault(struct item *i, enum workload_reject reason, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void fault(struct item *i, enum workload_reject reason, const char *fmt, ...) {
    va_list ap;
    if (i->faulty) return;
    i->faulty = true;
    i->reason = reason;
    va_start(ap, fmt);
    vsnprintf(i->why, sizeof i->why, fmt, ap);
    va_end(ap);
}

/* The value of a key as a number times 10^decimals; false when the reading cannot go on. */
static bool number_value(struct reader *f, struct item *i, const char *key, unsigned decimals, uint64_t most,
                         uint64_t *out, bool *has) {
    enum json_token token = json_next(&f->json);
    if (token == JSON_NULL) return true;
    if (token != JSON_NUMBER) {
        fault(i, WORKLOAD_REJECT_MALFORMED, "%s is not a number", key);
        return json_skip(&f->json, token);
    }
    switch (json_fixed(&f->json, decimals, most, out)) {
    case JSON_NUMBER_NEGATIVE:
        fault(i, WORKLOAD_REJECT_NEGATIVE, "%s is below zero", key);
        break;
    case JSON_NUMBER_FRACTION:
        fault(i, WORKLOAD_REJECT_MALFORMED, "%s is not a whole number", key);
        break;
    case JSON_NUMBER_LARGE:
        fault(i, WORKLOAD_REJECT_ABSURD, "%s is absurdly large", key);
        break;
    default:
        *has = true;
        break;
    }
    return true;
}

static bool id_add(struct reader *f, struct item *i, uint64_t id) {
    struct recordings *r = f->r;
    struct recording_run *last = r->runs > i->runs_from ? &r->run[r->runs - 1] : NULL;
    i->ids++;
    if (last && last->first + last->count == id && last->count < UINT32_MAX) {
        last->count++;
        return true;
    }
    if (!room_left(f)) return false;
    mem_room(r->run, r->runs, r->run_cap);
    r->run[r->runs++] = (struct recording_run){id, 1};
    return true;
}

static bool ids_value(struct reader *f, struct item *i) {
    enum json_token token = json_next(&f->json);
    if (token != JSON_ARRAY) {
        fault(i, WORKLOAD_REJECT_MALFORMED, "hash_ids is not a list");
        return json_skip(&f->json, token);
    }
    i->has_ids = true;
    while ((token = json_next(&f->json)) != JSON_ARRAY_END) {
        uint64_t id;
        if (token != JSON_NUMBER || json_fixed(&f->json, 0, UINT64_MAX, &id) != JSON_NUMBER_OK) {
            fault(i, WORKLOAD_REJECT_MALFORMED, "hash_ids holds something else than whole numbers");
            if (!json_skip(&f->json, token)) return false;
        } else if (i->ids == TRACE_IDS_MAX) {
            fault(i, WORKLOAD_REJECT_ABSURD, "hash_ids holds more than 2^20 ids");
        } else if (!id_add(f, i, id)) {
            return false;
        }
    }
    return true;
}

static bool type_value(struct reader *f, struct item *i) {
    enum json_token token = json_next(&f->json);
    if (token != JSON_STRING) {
        fault(i, WORKLOAD_REJECT_MALFORMED, "type is not a text");
        return json_skip(&f->json, token);
    }
    if (json_text_is(&f->json, "n") || json_text_is(&f->json, "s"))
        i->type = ITEM_REQUEST;
    else if (json_text_is(&f->json, "subagent"))
        i->type = ITEM_SUBAGENT;
    else
        fault(i, WORKLOAD_REJECT_MALFORMED, "its type is none of n, s and subagent");
    return true;
}

static bool lane_read(struct reader *f, uint32_t *first);

static bool member_read(struct reader *f, struct item *i) {
    struct json *j = &f->json;
    bool unused;
    if (json_text_is(j, "type")) return type_value(f, i);
    if (json_text_is(j, "hash_ids")) return ids_value(f, i);
    if (json_text_is(j, "t"))
        return number_value(f, i, "t", 9, RECORDING_TIME_MAX, &i->time_ns, &i->has_time);
    if (json_text_is(j, "think_time"))
        return number_value(f, i, "think_time", 9, RECORDING_TIME_MAX, &i->think_ns, &unused);
    if (json_text_is(j, "api_time"))
        return number_value(f, i, "api_time", 9, RECORDING_TIME_MAX, &i->api_ns, &unused);
    if (json_text_is(j, "in"))
        return number_value(f, i, "in", 0, TRACE_NUMBER_MAX, &i->context, &i->has_context);
    if (json_text_is(j, "out"))
        return number_value(f, i, "out", 0, TRACE_NUMBER_MAX, &i->generate, &i->has_generate);
    if (!json_text_is(j, "requests")) return json_skip(j, JSON_KEY);
    if (i->has_requests) return json_fail(j, "requests is there twice");
    enum json_token token = json_next(j);
    if (token != JSON_ARRAY) {
        fault(i, WORKLOAD_REJECT_MALFORMED, "requests is not a list");
        return json_skip(j, token);
    }
    i->has_requests = true;
    return lane_read(f, &i->first);
}

static void item_check(const struct reader *f, struct item *i) {
    if (i->type == ITEM_UNKNOWN) fault(i, WORKLOAD_REJECT_MALFORMED, "type is missing");
    if (!i->has_time) fault(i, WORKLOAD_REJECT_MALFORMED, "t is missing");
    if (i->type == ITEM_SUBAGENT) {
        if (!i->has_requests) fault(i, WORKLOAD_REJECT_MALFORMED, "requests is missing");
        return;
    }
    if (i->has_requests) fault(i, WORKLOAD_REJECT_MALFORMED, "a request holds requests");
    if (!i->has_context || !i->has_generate || !i->has_ids)
        fault(i, WORKLOAD_REJECT_MALFORMED, "one of in, out and hash_ids is missing");
    if (i->context == 0) fault(i, WORKLOAD_REJECT_EMPTY, "the request has no tokens in it");
    uint64_t full = i->context / f->block_tokens;
    if (i->ids != full && i->ids != full + (i->context % f->block_tokens > 0))
        fault(i, WORKLOAD_REJECT_ID_COUNT,
              "%u hash_ids for %" PRIu64 " tokens, %" PRIu64 " blocks of cache.block_tokens %" PRIu64, i->ids,
              i->context, full, f->block_tokens);
}

/* ---- lanes ---- */

struct lane {
    uint32_t begun;       /* requests that there were before it */
    uint32_t first, last; /* its requests so far, or RECORDING_NONE */
    uint32_t starts;      /* lanes that no request stands before */
};

/* Its first request comes before the sub-agents that it starts, even if they stand in front of it. */
static void first_keep(struct recordings *r, struct lane *lane, uint32_t at) {
    lane->first = at;
    if (lane->begun == at) return;
    r->request[at].order = r->request[lane->begun].order;
    for (uint32_t i = lane->begun; i < at; i++) {
        if (r->request[i].order < r->request[at].order) r->request[at].order = r->request[i].order;
        r->request[i].order++;
    }
}

static bool request_keep(struct reader *f, const struct item *i, struct lane *lane) {
    struct recordings *r = f->r;
    if (f->c->requests == RECORDING_REQUESTS_MAX)
        return json_fail(&f->json, "it has more than %d requests", RECORDING_REQUESTS_MAX);
    if (!room_left(f)) return false;
    mem_room(r->request, r->requests, r->request_cap);
    uint32_t at = r->requests++;
    r->request[at] = (struct recording_request){.time_ns = i->time_ns,
                                                .think_ns = i->think_ns,
                                                .answered_ns = i->time_ns + i->api_ns,
                                                .context_tokens = i->context,
                                                .generate_tokens = i->generate,
                                                .runs_from = i->runs_from,
                                                .runs = r->runs - i->runs_from,
                                                .ids = i->ids,
                                                .conversation = r->conversations,
                                                .order = f->c->requests++,
                                                .next = RECORDING_NONE,
                                                .starts = lane->starts};
    if (lane->last == RECORDING_NONE)
        first_keep(r, lane, at);
    else
        r->request[lane->last].next = at;
    lane->last = at;
    lane->starts = RECORDING_NONE;
    return true;
}

/* The lanes that a response starts are a list; one that no request stands before is started by the first. */
static void lane_start(struct reader *f, struct lane *lane, uint32_t added) {
    struct recordings *r = f->r;
    uint32_t *link = lane->last == RECORDING_NONE ? &lane->starts : &r->request[lane->last].starts;
    while (*link != RECORDING_NONE) link = &r->lane[*link].next;
    *link = added;
}

/* Its times count from its start. It starts so long after the response before it as it did. */
static void subagent_keep(struct reader *f, const struct item *i, const struct mark *m, struct lane *lane) {
    struct recordings *r = f->r;
    if (i->first == RECORDING_NONE) return;
    for (uint32_t at = m->requests; at < r->requests; at++) {
        r->request[at].time_ns += i->time_ns;
        r->request[at].answered_ns += i->time_ns;
    }
    uint64_t since = lane->last == RECORDING_NONE ? i->time_ns : r->request[lane->last].answered_ns;
    mem_room(r->lane, r->lanes, r->lane_cap);
    r->lane[r->lanes] = (struct recording_lane){
        .first = i->first, .next = RECORDING_NONE, .delay_ns = i->time_ns > since ? i->time_ns - since : 0};
    lane_start(f, lane, r->lanes++);
}

static bool item_read(struct reader *f, struct lane *lane) {
    struct json *j = &f->json;
    struct mark m = mark_of(f);
    struct item i = {.line = j->token_line, .runs_from = f->r->runs, .first = RECORDING_NONE};
    enum json_token token;
    while ((token = json_next(j)) == JSON_KEY)
        if (!member_read(f, &i)) return false;
    if (token != JSON_OBJECT_END) return false;
    item_check(f, &i);
    if (i.faulty) {
        mark_return(f, &m);
        reject(f, i.reason, i.line, i.why);
    } else if (i.type == ITEM_SUBAGENT) {
        subagent_keep(f, &i, &m, lane);
    } else {
        return request_keep(f, &i, lane);
    }
    return true;
}

/* The list of a lane's requests, behind its bracket. Sub-agents in it read theirs in turn, as deep as the
 * reader of JSON goes. */
static bool lane_read(struct reader *f, uint32_t *first) {
    struct lane lane = {
        .begun = f->r->requests, .first = RECORDING_NONE, .last = RECORDING_NONE, .starts = RECORDING_NONE};
    enum json_token token;
    while ((token = json_next(&f->json)) == JSON_OBJECT)
        if (!item_read(f, &lane)) return false;
    if (token != JSON_ARRAY_END) return json_fail(&f->json, "a request is not an object");
    if (lane.first == RECORDING_NONE && lane.starts != RECORDING_NONE)
        return json_fail(&f->json, "it has sub-agents but no request of its own");
    *first = lane.first;
    return true;
}

/* ---- files ---- */

static bool block_size_read(struct reader *f) {
    uint64_t tokens = 0;
    enum json_token token = json_next(&f->json);
    if (token != JSON_NUMBER || json_fixed(&f->json, 0, TRACE_NUMBER_MAX, &tokens) != JSON_NUMBER_OK)
        return json_fail(&f->json, "block_size is not a whole number");
    f->block_size_seen = true;
    return tokens == f->block_tokens ||
           json_fail(&f->json, "its blocks have %" PRIu64 " tokens, cache.block_tokens is %" PRIu64, tokens,
                     f->block_tokens);
}

static bool scope_read(struct reader *f) {
    enum json_token token = json_next(&f->json);
    return (token == JSON_STRING && json_text_is(&f->json, "local")) ||
           json_fail(&f->json, "hash_id_scope is not \"local\"");
}

static bool conversation_read(struct reader *f) {
    struct json *j = &f->json;
    enum json_token token;
    bool requests = false;
    if (json_next(j) != JSON_OBJECT) return json_fail(j, "it is not a JSON object");
    while ((token = json_next(j)) == JSON_KEY) {
        bool go_on;
        if (json_text_is(j, "requests")) {
            if (requests) return json_fail(j, "requests is there twice");
            requests = true;
            go_on = json_next(j) == JSON_ARRAY ? lane_read(f, &f->c->first)
                                               : json_fail(j, "requests is not a list");
        } else if (json_text_is(j, "block_size")) {
            go_on = block_size_read(f);
        } else if (json_text_is(j, "hash_id_scope")) {
            go_on = scope_read(f);
        } else {
            go_on = json_skip(j, JSON_KEY);
        }
        if (!go_on) return false;
    }
    if (token != JSON_OBJECT_END || json_next(j) != JSON_END)
        return json_fail(j, "there is more behind its object");
    if (!requests || !f->block_size_seen) return json_fail(j, "it has no requests or no block_size");
    return true;
}

/* Everything or nothing of a file: one that breaks off in the middle is no recording. */
void recordings_read(struct recordings *r, const char *path, uint64_t block_tokens) {
    struct err e = {0};
    mem_room(r->conversation, r->conversations, r->conversation_cap);
    struct recording_conversation *c = &r->conversation[r->conversations];
    *c = (struct recording_conversation){.first = RECORDING_NONE};
    struct reader f = {.r = r, .name = listing_name(path), .block_tokens = block_tokens, .c = c};
    struct mark m = mark_of(&f);
    if (json_open_file(&f.json, path, &e) != 0) {
        reject(&f, WORKLOAD_REJECT_MALFORMED, 0, e.text);
    } else if (!conversation_read(&f)) {
        mark_return(&f, &m);
        *c = (struct recording_conversation){.first = RECORDING_NONE};
        reject(&f, WORKLOAD_REJECT_MALFORMED, f.json.token_line, json_error(&f.json));
    }
    json_close(&f.json);
    r->conversations++;
}
