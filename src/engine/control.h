/* State of the control thread. */
#ifndef KVF_ENGINE_CONTROL_H
#define KVF_ENGINE_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/simulator.h"

struct block_trace;
struct blockdev;
struct sampler;
struct scaling;
struct together;

struct control {
    struct simulator simulator; /* of a virtual clock */
    struct together *together;  /* NULL: the only rank */
    uint64_t late_ns;           /* that this rank began after the time that rank 0 named */
    uint64_t begun_ns;          /* run time when that was read */
    uint64_t moment;            /* intervals ended, as all ranks count them: together.h */
    struct sampler *sampler;
    struct scaling *scaling;
    struct blockdev *devices;
    uint32_t device_count;
    struct block_trace *block; /* NULL: the block layer is not traced */
    bool warmup_counted;       /* as measured: the run ended in it */
};

#endif
