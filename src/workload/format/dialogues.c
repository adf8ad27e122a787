#include "workload/format/dialogues.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "workload/trace.h"

/* How a conversation was read: usable, rejected for a fault, or so that nothing can follow it. */
enum outcome { USABLE, FAULTY, BROKEN };

/* ---- turns ---- */

static void turn_add(struct dialogues *d) {
    mem_room(d->turn, d->turns, d->turn_cap);
    bool cut = d->asked > SOURCE_CONTEXT_MAX;
    d->context_cut += cut;
    d->turn[d->turns++] = (struct dialogue_turn){cut ? SOURCE_CONTEXT_MAX : (uint16_t)d->asked, 0};
    d->asked = d->generated = 0;
    d->anybody = false;
}

static void generation_add(struct dialogues *d, uint64_t tokens) {
    bool was_cut = d->generated > DIALOGUE_GENERATE_MAX;
    d->generated += tokens;
    bool cut = d->generated > DIALOGUE_GENERATE_MAX;
    d->generate_cut += cut && !was_cut;
    d->turn[d->turns - 1].generate = cut ? DIALOGUE_GENERATE_MAX : (uint16_t)d->generated;
}

static void message_add(struct dialogues *d, bool models, uint64_t tokens) {
    bool first = d->turns == d->first[d->count];
    if (!models || (first && !d->anybody)) {
        d->asked += tokens;
        d->anybody = d->anybody || (!models && tokens > 0);
        return;
    }
    if (d->anybody) turn_add(d);
    generation_add(d, tokens);
}

/* ---- messages ---- */

static bool is_models(struct json *j) {
    static const char *const roles[] = {"gpt",  "assistant", "chatgpt",      "bing",
                                        "bard", "model",     "function_call"};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (json_text_is(j, roles[i])) return true;
    return false;
}

static enum outcome fault(struct trace_fault *f, enum workload_reject reason, const char *why) {
    trace_reject(f, reason, "%s", why);
    return FAULTY;
}

static enum outcome malformed(struct trace_fault *f, const char *why) {
    return fault(f, WORKLOAD_REJECT_MALFORMED, why);
}

/* A message whose beginning was just given. */
static enum outcome message_read(struct dialogues *d, struct trace_fault *f) {
    struct json *j = &d->json;
    bool from = false, value = false, models = false;
    uint64_t tokens = 0;
    for (;;) {
        enum json_token t = json_next(j);
        if (t == JSON_ERROR) return BROKEN;
        if (t == JSON_OBJECT_END) break;
        bool is_from = json_text_is(j, "from"), is_value = json_text_is(j, "value");
        t = json_next(j);
        if ((is_from && from) || (is_value && value)) return malformed(f, "a message has a key twice");
        if ((is_from || is_value) && t != JSON_STRING)
            return t == JSON_ERROR ? BROKEN : malformed(f, "\"from\" or \"value\" of a message is no string");
        if (is_from) models = is_models(j);
        if (is_value) tokens = tokenizer_string(d->tokenizer, j);
        from = from || is_from;
        value = value || is_value;
        if (!json_skip(j, t)) return BROKEN;
    }
    if (!from || !value) return malformed(f, "a message has no \"from\" or no \"value\"");
    if (d->turns - d->first[d->count] == DIALOGUE_TURNS_MAX && models && d->anybody)
        return fault(f, WORKLOAD_REJECT_ABSURD, "it has more than 65,535 turns");
    message_add(d, models, tokens);
    return USABLE;
}

static enum outcome messages_read(struct dialogues *d, enum json_token t, struct trace_fault *f) {
    struct json *j = &d->json;
    if (t == JSON_ERROR) return BROKEN;
    if (t != JSON_ARRAY) return malformed(f, "\"conversations\" is no list");
    for (;;) {
        t = json_next(j);
        if (t == JSON_ARRAY_END) return USABLE;
        if (t == JSON_ERROR) return BROKEN;
        if (t != JSON_OBJECT) return malformed(f, "a message is no object");
        enum outcome outcome = message_read(d, f);
        if (outcome != USABLE) return outcome;
    }
}

/* ---- conversations ---- */

static enum outcome members_read(struct dialogues *d, struct trace_fault *f) {
    struct json *j = &d->json;
    bool listed = false;
    for (;;) {
        enum json_token t = json_next(j);
        if (t == JSON_ERROR) return BROKEN;
        if (t == JSON_OBJECT_END) return listed ? USABLE : malformed(f, "it has no \"conversations\"");
        bool list = json_text_is(j, "conversations"), id = json_text_is(j, "id");
        t = json_next(j);
        if (list) {
            if (listed) return malformed(f, "it has \"conversations\" twice");
            listed = true;
            enum outcome outcome = messages_read(d, t, f);
            if (outcome != USABLE) return outcome;
        } else if (id && (t == JSON_STRING || t == JSON_NUMBER)) {
            const char *text = json_text(j, NULL);
            if (text) memcpy(d->id, text, strlen(text) + 1);
        }
        if (!list && !json_skip(j, t)) return BROKEN;
    }
}

/* A conversation whose first token was just given, to its end. */
static enum outcome conversation_read(struct dialogues *d, enum json_token t, struct trace_fault *f) {
    struct json *j = &d->json;
    unsigned outside = json_depth(j) - (t == JSON_OBJECT || t == JSON_ARRAY);
    enum outcome outcome;
    d->asked = d->generated = d->context_cut = d->generate_cut = 0;
    d->anybody = false;
    d->id[0] = '\0';
    outcome = t == JSON_OBJECT ? members_read(d, f) : malformed(f, "it is no object");
    if (outcome == FAULTY && !json_leave(j, outside)) return BROKEN;
    if (outcome != USABLE) return outcome;
    if (*json_fault(j)) return malformed(f, json_fault(j));
    char why[sizeof f->why];
    if (!tokenizer_end(d->tokenizer, d->id, why, sizeof why)) return malformed(f, why);
    if (d->turns == d->first[d->count])
        return fault(f, WORKLOAD_REJECT_EMPTY, "nobody says something that the model answers");
    return USABLE;
}

static void stop(struct dialogues *d, const char *why) {
    d->ended = true;
    snprintf(d->rows->stopped_why, sizeof d->rows->stopped_why, "%s", why);
}

static void conversation_keep(struct dialogues *d) {
    mem_room(d->first, d->count + 1, d->cap);
    d->first[++d->count] = d->turns;
    d->rows->context_cut += d->context_cut;
    d->rows->generate_cut += d->generate_cut;
}

static void conversation_reject(struct dialogues *d, uint64_t line, const struct trace_fault *f) {
    struct workload_rows *rows = d->rows;
    d->turns = d->first[d->count];
    rows->read++;
    rows->rejected[f->reason]++;
    if (rows->first_rejected_line != 0) return;
    rows->first_rejected_line = line;
    snprintf(rows->first_rejected_why, sizeof rows->first_rejected_why, "conversation %" PRIu64 ": %s",
             d->seen, f->why);
}

/* Reads one conversation more, or finds the end. */
static void step(struct dialogues *d) {
    struct json *j = &d->json;
    char why[160];
    if (json_depth(j) == 0 && json_next(j) != JSON_ARRAY) {
        json_fail(j, "this is no array of conversations");
        stop(d, json_error(j));
        return;
    }
    enum json_token t = json_next(j);
    if (t == JSON_ARRAY_END) t = json_next(j);
    if (t == JSON_ERROR) stop(d, json_error(j));
    if (t == JSON_END) d->ended = true;
    if (d->ended) return;
    if (tokenizer_begin(d->tokenizer, why, sizeof why) != TOKENIZER_READY) {
        stop(d, why);
        return;
    }
    struct trace_fault f = {WORKLOAD_REJECT_MALFORMED, "the file ends or cannot be read on"};
    uint64_t line = j->token_line;
    d->seen++;
    json_fault_clear(j);
    enum outcome outcome = conversation_read(d, t, &f);
    if (outcome == BROKEN) {
        stop(d, json_error(j));
        f.reason = WORKLOAD_REJECT_MALFORMED;
        snprintf(f.why, sizeof f.why, "%.*s", (int)sizeof f.why - 1, json_error(j));
    }
    if (outcome == USABLE)
        conversation_keep(d);
    else
        conversation_reject(d, line, &f);
}

static bool may_read(const struct dialogues *d) {
    return !d->ended && (d->limit == 0 || d->seen < d->limit);
}

bool dialogues_have(struct dialogues *d, uint64_t index) {
    while (d->count <= index && may_read(d)) step(d);
    return index < d->count;
}

void dialogues_probe(struct dialogues *d, uint64_t bytes) {
    size_t count = d->count;
    while (d->count == count && may_read(d) && d->json.token_offset < bytes) step(d);
}

uint32_t dialogues_turns(const struct dialogues *d, uint64_t index, const struct dialogue_turn **turn) {
    *turn = &d->turn[d->first[index]];
    return (uint32_t)(d->first[index + 1] - d->first[index]);
}

int dialogues_open(struct dialogues *d, const char *path, const char *tokenizer, uint64_t limit,
                   struct workload_rows *rows, struct err *e) {
    *d = (struct dialogues){.rows = rows, .limit = limit};
    int rc = json_open_file(&d->json, path, e);
    d->json.lenient = true; /* a conversation with a fault in a string is rejected, not the file */
    if (rc == 0) rc = tokenizer_open(&d->tokenizer, tokenizer, e);
    d->cap = 256;
    d->first = mem_zalloc(d->cap, sizeof *d->first);
    return rc;
}

void dialogues_close(struct dialogues *d) {
    json_close(&d->json);
    tokenizer_close(d->tokenizer);
    free(d->turn);
    free(d->first);
    *d = (struct dialogues){0};
}
