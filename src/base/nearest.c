#include "base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { WORD_MAX = 95 };

static unsigned min2(unsigned a, unsigned b) {
    return a < b ? a : b;
}

static int same(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

unsigned nearest_distance(const char *a, const char *b) {
    unsigned rows[3][WORD_MAX + 1];
    unsigned *before = rows[0], *last = rows[1], *now = rows[2];
    size_t la = strnlen(a, WORD_MAX), lb = strnlen(b, WORD_MAX);

    for (size_t j = 0; j <= lb; j++) last[j] = (unsigned)j;
    for (size_t i = 1; i <= la; i++) {
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= lb; j++) {
            unsigned best = last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1);
            best = min2(best, min2(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                best = min2(best, before[j - 2] + 1);
            now[j] = best;
        }
        unsigned *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[lb];
}

struct nearest nearest_start(const char *word) {
    return (struct nearest){.word = word, .least = ((unsigned)strnlen(word, WORD_MAX) + 1) / 3};
}

static size_t common_start(const char *a, const char *b) {
    size_t n = 0;
    while (a[n] && same(a[n], b[n])) n++;
    return n;
}

void nearest_offer(struct nearest *n, const char *candidate) {
    unsigned d = nearest_distance(n->word, candidate);
    bool tie = n->best && d == n->least;
    if (d > n->least || (tie && common_start(n->word, candidate) <= common_start(n->word, n->best))) return;
    n->best = candidate;
    n->least = d;
}
