/* A catalogue of parts that hierarchies are built from: GPUs, host memory and drives with their prices, power
 * and rated endurance; what a server offers room for, and what money and electricity cost. Loaded from YAML;
 * each bad entry is named with file, line and column. One thread. */
#ifndef KVF_STUDY_PLAN_PART_CATALOGUE_H
#define KVF_STUDY_PLAN_PART_CATALOGUE_H

#include <stdint.h>

#include "base/buf.h"

/* The parts that are built into a server, and the number of servers. */
enum part_kind { PART_GPU, PART_RAM, PART_DRIVE, PART_SERVER, PART_KINDS, PART_BUILT_IN = PART_SERVER };
enum { PARTS_CHOICES_MAX = 16, PARTS_ENTRIES_MAX = 32 };

/* A part as it can be bought. What its kind does not have is 0. */
struct part {
    char name[48], source[240];
    double price, watts;             /* of one; of ram for a GiB */
    double count[PARTS_CHOICES_MAX]; /* how many may be built in, ascending; of ram sizes in bytes */
    unsigned counts;
    char gpu[16];           /* as compute.gpu names it */
    double mfu, efficiency; /* compute.mfu, compute.efficiency; 0: those of the scenario */
    double link;            /* bytes/s between host and one GPU */
    double capacity;        /* bytes of a drive */
    double read, write;     /* bytes/s of a drive */
    double latency;         /* seconds */
    double endurance;       /* bytes that a drive is rated to take */
};

struct parts {
    char file[256]; /* as messages name it */
    char name[48], date[16], currency[8];
    struct part part[PART_KINDS][PARTS_ENTRIES_MAX]; /* one server, with nothing built in */
    unsigned count[PART_KINDS];
    double most_gpus, most_drives, most_ram_bytes, most_watts; /* INFINITY: no limit */
    double years, electricity, pue; /* price of a kWh; power drawn per power used */
};

/* Reads a catalogue from its text. How many errors; each is a line of `errors`. */
unsigned parts_read(struct parts *p, const char *file, const char *text, size_t len, struct buf *errors);

#endif
