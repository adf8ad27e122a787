/* Bytes on their way to a terminal. One thread. */
#ifndef KVF_UI_TERM_TERM_OUT_H
#define KVF_UI_TERM_TERM_OUT_H

#include <stdbool.h>
#include <stddef.h>

struct term_out {
    char *bytes;
    size_t len, sent, cap;
};

void term_out_free(struct term_out *q);                /* takes an empty one */
void term_out_clear(struct term_out *q);               /* drops what waits */
bool term_out_waits(const struct term_out *q);         /* whether bytes are left */
bool term_out_cut(const struct term_out *q);           /* a part has been sent and a part not */
void term_out_reserve(struct term_out *q, size_t len); /* memory for so many bytes in all */
/* Appends bytes; they are copied. */
void term_out_add(struct term_out *q, const char *bytes, size_t len);
/* Adds what was written to a memory file since its position was at the beginning, and puts it back. */
void term_out_take(struct term_out *q, int memory);
/* Writes what goes at once to a descriptor that does not block. 0, or an errno. *any is set when some
 * bytes went. */
int term_out_send(struct term_out *q, int fd, bool *any);

#endif
