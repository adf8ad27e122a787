/* Traces as files: Mooncake's JSON lines, or the accesses to blocks as cache simulators read them. Block ids
 * and sessions are numbered anew, densely and from 0, in the order in which they come: nothing of the old
 * names is left. A recording says in its first row what was lost of it, which is known at its end alone: the
 * figures are written over. A pipe cannot be, so there the rows behind the gaps say it alone. One thread. */
#ifndef KVF_STUDY_TRACE_TRACE_WRITE_H
#define KVF_STUDY_TRACE_TRACE_WRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "workload/names.h"

/* X(word, description, ending of its files): the first row is the default. */
#define TRACE_FORM_LIST(X)                                                                                   \
    X(MOONCAKE, "mooncake", "JSON lines, which source mooncake reads", ".jsonl")                             \
    X(CSV, "csv", "a row for each access to a block: time, id, size", ".csv")                                \
    X(ORACLE, "oracleGeneral", "the same in binary with the next access to each, as libCacheSim has it",     \
      ".oracleGeneral")
#define X(id, word, help, ending) TRACE_FORM_##id,
enum trace_form { TRACE_FORM_LIST(X) TRACE_FORMS };
#undef X

/* A request to be written. */
struct trace_line_out {
    uint64_t at_ns, input_tokens, output_tokens;
    const uint64_t *ids;
    uint32_t count;
    bool numbered;             /* ids are numbers that `ids` of the writer gave */
    uint32_t fresh;            /* numbered: of them, those that it gave for this line */
    uint64_t session;          /* 0: none */
    uint64_t lost;             /* events or requests before it that could not be recorded */
    unsigned part;             /* of a recording: the pod that it came from; not written */
    const char *model, *klass; /* ""; control characters, quotes and backslashes become "?" */
};

struct ZSTD_CCtx_s;

struct trace_write {
    FILE *file;
    struct ZSTD_CCtx_s *zstd; /* the name ends in .zst; NULL: as it is */
    int errnum;               /* of the first write that failed; 0: none */
    const char *path;
    enum trace_form form;
    uint64_t block_tokens, block_bytes; /* bytes: of a block, for the accesses */
    struct names ids, sessions;
    uint64_t requests, accesses;
    bool keep_ids;   /* ids and sessions stay as they are */
    uint64_t salt;   /* tells in the first row which recordings have the same ids; 0: not told */
    bool tells_lost; /* the first row has `lost`, of the whole file, in figures of fixed width */
    uint64_t lost; /* brought up to date by each flush and at the end, where the file can be written again */
    long lost_at;  /* where in the file the figures stand; 0: not yet, or not at all */
    uint64_t lost_put; /* what they say */
    bool tailed;
    long tail_at, tail_end; /* tailed: where the rows of trace_write_tail() stand in the file */
    struct buf behind;      /* tailed: what was added since, and is written with the next tail */
};

/* The form of a word; TRACE_FORMS: unknown. */
enum trace_form trace_form_named(const char *word);
/* Creates the file. 0 or a negative code; ended by the caller in any case. */
int trace_write_begin(struct trace_write *w, const char *path, enum trace_form form, uint64_t block_tokens,
                      uint64_t block_bytes, struct err *e);
void trace_write_add(struct trace_write *w, const struct trace_line_out *line);
/* Hands all that was added to the system, in a form that can be read whatever follows; behind a tail the next
 * one does. */
void trace_write_flush(struct trace_write *w);
/* Rows behind all that was flushed, which a kill leaves: what is added later, and its tail, takes their place
 * in one write. Their ids are numbers. Only a regular file has them. */
void trace_write_tail(struct trace_write *w, const struct trace_line_out *const *line, size_t count);
/* Completes and closes the file. 0 or -KVF_ERR_IO, -KVF_ERR_NOSPACE. */
int trace_write_end(struct trace_write *w, struct err *e);

#endif
