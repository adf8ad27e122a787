/* Errors: a code and one human sentence that names the thing and the remedy. An err belongs to one thread. */
#ifndef KVF_BASE_ERR_H
#define KVF_BASE_ERR_H

#include <stdbool.h>

/* code, exit status of the program when it ends with it, what the code means */
#define ERR_CODE_LIST(X)                                                                                     \
    X(OK, 0, "no error")                                                                                     \
    X(USAGE, 2, "the command line, a scenario or a trace cannot be used")                                    \
    X(IO, 1, "an operation of the system failed")                                                            \
    X(NOMEM, 1, "memory is exhausted")                                                                       \
    X(NOSPACE, 1, "a disk or a tier is full")                                                                \
    X(UNAVAILABLE, 2, "something asked for is not available here")                                           \
    X(CORRUPT, 1, "stored data is not what was written")                                                     \
    X(BUSY, 1, "the thing is in use by another process")                                                     \
    X(CANCELLED, 1, "stopped before it was done")                                                            \
    X(INTERNAL, 1, "a rule of the program itself was broken")

#define X(id, status, text) KVF_ERR_##id,
enum err_code { ERR_CODE_LIST(X) KVF_ERR_CODES };
#undef X

struct err {
    enum err_code code; /* KVF_ERR_OK until an error is set */
    char text[1000];    /* one sentence or, from the loader, several lines */
};

/* Sets code and sentence unless an error is already there (the first wins) and returns -code.
 * Quoted text is cleaned for terminals. `e` may be NULL. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Like err_set(), with ": <text of errno>" appended; maps ENOMEM, ENOSPC and EDQUOT to their codes when
 * `code` is KVF_ERR_IO. */
int err_set_errno(struct err *e, enum err_code code, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool err_is(const struct err *e);
void err_clear(struct err *e);
/* Exit status of a code. Any thread. */
int err_exit_status(enum err_code code);

#endif
