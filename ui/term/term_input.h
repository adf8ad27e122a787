/* From what a terminal sends to keys (keys.h). A sequence that means nothing here is taken as a whole:
 * reports of a terminal never turn into key presses. Pure: reads no descriptor. One thread. */
#ifndef KVF_UI_TERM_TERM_INPUT_H
#define KVF_UI_TERM_TERM_INPUT_H

#include <stdbool.h>
#include <stddef.h>

enum { TERM_INPUT_BYTES = 512, TERM_INPUT_NAMED = 20, TERM_INPUT_SEQUENCE = 12 };
struct term_input {
    unsigned char bytes[TERM_INPUT_BYTES];
    size_t len;
    struct {
        char bytes[TERM_INPUT_SEQUENCE];
        size_t len;
        int code;
    } named[TERM_INPUT_NAMED]; /* sequences of this type of terminal */
    size_t named_count;
};

/* The names under which a description of terminals (terminfo) has the sequences of keys. */
extern const struct term_input_named {
    const char *capability;
    int code;
} term_input_names[];
extern const size_t term_input_names_count;

/* A key of this type of terminal, beside those of the xterm family. Only sequences that begin with
 * Escape count; NULL and what does not fit are left out. */
void term_input_name(struct term_input *in, const char *sequence, int code);
/* Where to put what was read, and how much of it. */
unsigned char *term_input_room(struct term_input *in, size_t *room);
void term_input_add(struct term_input *in, size_t len);
void term_input_clear(struct term_input *in);
/* The next key; 0: none is left; -1: what is left is the beginning of one. `final`: no more is to be
 * expected, so that Escape is the key of that name. *row and *col for KEY_CODE_MOUSE, from 0. */
int term_input_key(struct term_input *in, bool final, int *row, int *col);

#endif
