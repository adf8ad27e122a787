/* The conversations of a file in ShareGPT's format, read one after another as they are asked for and
 * kept in a compact form: 4 bytes a turn and 8 a conversation. A turn takes at least 50 bytes of the
 * file, so what is kept is at most a fifth of what was read, twice that while it grows; the whole of
 * the usual file of 0.67 GB takes about 2 MB.
 *
 * The file is an array of objects; each has "conversations", an array of {"from", "value"} in their
 * order, and may have an "id". Other keys are skipped. gpt, assistant, chatgpt, bing, bard, model
 * and function_call are the model's own text; that of everybody else (human, user, system, tool,
 * observation, ...) is what it reads. A turn is what has been said since the model spoke last, its
 * context, and what the model then says, several messages in a row taken together. What the model
 * says first belongs to the first context; an unanswered message is no turn. One thread at a time. */
#ifndef KVF_WORKLOAD_FORMAT_DIALOGUES_H
#define KVF_WORKLOAD_FORMAT_DIALOGUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "workload/format/json.h"
#include "workload/format/tokenizer.h"
#include "workload/workload.h"

enum {
    DIALOGUE_GENERATE_MAX = 2048,
    DIALOGUE_TURNS_MAX = 65535 /* a conversation of more is rejected */
};

struct dialogue_turn {
    uint16_t context, generate; /* tokens */
};

struct dialogues {
    struct json json;
    struct tokenizer *tokenizer;
    struct workload_rows *rows; /* the workload's; here rejected ones and what was cut are counted */
    uint64_t limit;             /* conversations of the file that may be read; 0: all */
    uint64_t seen;              /* conversations of the file read so far, usable or not */
    struct dialogue_turn *turn; /* of all usable conversations */
    size_t turns, turn_cap;
    uint64_t *first; /* turn of each usable conversation, and the end of the last */
    size_t count, cap;
    bool ended;
    /* the conversation that is being read */
    uint64_t asked, generated; /* tokens since the last turn; of the last turn */
    uint64_t context_cut, generate_cut;
    bool anybody; /* another speaker than the model has spoken since the last turn */
    char id[JSON_TEXT_MAX + 1];
};

/* Opens the file and the tokenizer (named as in the scenario) without reading. 0 or -KVF_ERR_USAGE. */
int dialogues_open(struct dialogues *d, const char *path, const char *tokenizer, uint64_t limit,
                   struct workload_rows *rows, struct err *e);
void dialogues_close(struct dialogues *d); /* takes one that is all zero */
/* Whether usable conversation `index` (from 0) exists; reads on as far as needed. */
bool dialogues_have(struct dialogues *d, uint64_t index);
/* Reads on until one more conversation, the end, or `bytes` of the file. */
void dialogues_probe(struct dialogues *d, uint64_t bytes);
/* The turns of a conversation, at least one; the pointer is valid until the next read. */
uint32_t dialogues_turns(const struct dialogues *d, uint64_t index, const struct dialogue_turn **turn);

#endif
