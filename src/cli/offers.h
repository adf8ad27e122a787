/* Completions for a place of a command line, for `kvfall complete`: the words that the tables of the
 * program know for it, those that the history holds, or files. One thread. */
#ifndef KVF_CLI_OFFERS_H
#define KVF_CLI_OFFERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "study/options.h"

/* The word that is being typed, and what of the line decides how it goes on. */
struct offers {
    const char *begun;   /* its part that is still to be completed: "da" */
    const char *before;  /* its part that stays: "--theme=", "" */
    const char *command; /* NULL: none yet */
    const char *db;      /* as --db says; NULL: not said */
    size_t count;        /* of the offers so far, files too */
    struct buf *out;     /* a line for each: the whole word, a tab, one phrase */
};

/* Offers `word` if it goes on with what was begun. What a shell's line cannot hold is left out. */
void offers_word(struct offers *o, const char *word, const char *phrase);

/* Offers what an argument of this kind may be: as usage and help call it, "RUN", "TEST|GROUP", "FILE", or as
 * "--view" the value of that option. Nothing for kinds that are free text. */
void offers_kind(struct offers *o, const char *kind, size_t len);
/* Offers the values of an option that has a table of them. */
void offers_choices(struct offers *o, const struct option_spec *spec);
/* Offers values of a scenario key. */
void offers_key(struct offers *o, const char *key);

#endif
