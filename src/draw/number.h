/* Numbers of fixed width: right-aligned, three significant digits, "--" for missing values (NaN). The width
 * is that of the longest form, so columns do not move when numbers change. Every function writes into `out`
 * (NUMBER bytes) and returns it. Any thread. */
#ifndef KVF_DRAW_NUMBER_H
#define KVF_DRAW_NUMBER_H

enum {
    NUMBER = 24,
    NUMBER_BYTES = 8,   /* "1.25 GiB", " 512 B  " is "   512 B" */
    NUMBER_RATE = 10,   /* "1.25 GiB/s" */
    NUMBER_MS = 7,      /* "42.0 ms", " 820 us", " 1.20 s", "  12 m " is "   12 m" */
    NUMBER_COUNT = 5,   /* "  388", "12.4k", "1.20M" */
    NUMBER_PERCENT = 7, /* " 93.1 %", "100.0 %" */
    NUMBER_SHORT = 5    /* bytes without a space: "1.60G", " 512K", "  20G" */
};

char *number_bytes(double bytes, char *out);      /* binary units */
char *number_rate(double bytes_per_s, char *out); /* binary units a second */
char *number_ms(double ms, char *out);            /* a latency, from ns to hours */
char *number_count(double count, char *out);      /* NUMBER_COUNT columns */
char *number_percent(double ratio, char *out);    /* 0.931 is " 93.1 %" */
char *number_short(double bytes, char *out);      /* NUMBER_SHORT columns */
/* Without padding: */
char *number_clock(double s, char *out); /* "00:42", "1:02:07"; "--:--" when missing */
char *number_plain(double v, char *out); /* three significant digits without unit: "0.42", "12.4" */

/* One of the functions above, with which a graph writes the values of its axis. */
typedef char *number_fn(double v, char *out);

#endif
