/* The word nearest to a mistyped one. One thread for each search. */
#ifndef KVF_BASE_NEAREST_H
#define KVF_BASE_NEAREST_H

/* Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`, letter case ignored:
 * the optimal string alignment distance. Words are compared in their first 95 bytes. Any thread. */
unsigned nearest_distance(const char *a, const char *b);

/* A search. Start it with the mistyped word and offer each candidate; `best` is then the nearest, on a tie
 * the one with the same beginning. NULL when none is within a third of the word's length. Copies no text. */
struct nearest {
    const char *word;
    const char *best; /* one of those offered; not copied */
    unsigned least;
};
struct nearest nearest_start(const char *word);
void nearest_offer(struct nearest *n, const char *candidate);

#endif
