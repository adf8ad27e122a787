/* A pull reader of MessagePack over memory: one item after another, nothing allocated, nothing beyond the end
 * read, whatever the bytes. Any thread. */
#ifndef KVF_STUDY_CAPTURE_MSGPACK_H
#define KVF_STUDY_CAPTURE_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum msgpack_kind {
    MSGPACK_NIL,
    MSGPACK_BOOL,
    MSGPACK_INT,
    MSGPACK_FLOAT,
    MSGPACK_BYTES,
    MSGPACK_ARRAY,
    MSGPACK_MAP,
    MSGPACK_OTHER
};

struct msgpack {
    const uint8_t *at, *end;
};
struct msgpack_item {
    enum msgpack_kind kind;
    uint64_t number;      /* INT, as 64 bits of two's complement; BOOL */
    double real;          /* FLOAT */
    const uint8_t *bytes; /* BYTES: text or binary */
    uint64_t count;       /* BYTES: length; ARRAY: items; MAP: pairs of key and value; they follow */
};

/* The next item; false at the end and where the bytes are none. */
bool msgpack_next(struct msgpack *m, struct msgpack_item *item);
/* Passes the whole next value, items inside included. */
bool msgpack_skip(struct msgpack *m);
/* The next values, each as its 64 bits where it is an integer, else as 0; false as msgpack_next(). */
bool msgpack_numbers(struct msgpack *m, uint64_t *out, unsigned count);
bool msgpack_is(const struct msgpack_item *item, const char *text);

#endif
