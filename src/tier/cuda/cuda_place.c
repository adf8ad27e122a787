#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "tier/cuda/cuda.h"

static uint64_t round_up(uint64_t v, uint64_t to) {
    return (v + to - 1) / to * to;
}

static uint32_t common_divisor(uint32_t a, uint32_t b) {
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A page of layout `layers` is the smallest entry, a token or a block, so that it has the same stretch of
 * every region; stretches are whole vectors. Where devices share entries, a page is whole blocks, too, so
 * that none of these is in two devices. */
static void page_choose(struct cuda_tier *t, const struct tier_setup *setup) {
    const struct model *m = &setup->scenario->model;
    t->pieces = 1;
    t->page_bytes = setup->page_bytes;
    if (setup->scenario->gpu.layout != KVF_GPU_LAYOUT_LAYERS || m->layers == 0) return;
    t->pieces = m->layers * (m->kv_lora_rank ? 1u : 2u);
    uint64_t stretch = (setup->min_entry_bytes + t->pieces - 1) / t->pieces;
    uint64_t grain =
        t->devices == 1 ? 64 : PAYLOAD_BLOCK / common_divisor(PAYLOAD_BLOCK, (uint32_t)t->pieces);
    t->page_bytes = t->pieces * round_up(stretch ? stretch : 1, grain > 64 ? grain : 64);
}

static struct cuda_place *place_at(const struct cuda_tier *t, uint64_t place) {
    return (struct cuda_place *)(void *)(t->places + place * t->place_size);
}

void cuda_pages_choose(struct cuda_tier *t, const struct tier_setup *setup) {
    page_choose(t, setup);
    struct tier_setup paged = *setup;
    paged.page_bytes = t->page_bytes;
    uint64_t all = tier_setup_pages(&paged);
    t->slices =
        common_divisor(setup->scenario->tensor_parallel ? setup->scenario->tensor_parallel : 1, t->devices);
    t->pages = (all + t->devices - 1) / t->devices;
    t->region_bytes = t->pages * (t->page_bytes / t->pieces);
}

int cuda_places_open(struct cuda_tier *t, const struct tier_setup *setup, struct err *e) {
    uint64_t least = setup->min_entry_bytes ? setup->min_entry_bytes : 1;
    t->part_max = t->devices == 1 ? 1 : t->slices + t->devices;
    t->place_size = sizeof(struct cuda_place) + t->part_max * sizeof(struct cuda_part);
    t->places_max = setup->usable_bytes / least + 1;
    t->place_free = TIER_NO_PLACE;
    t->places_bytes = t->places_max * t->place_size;
    /* touched as places are used */
    void *map = mmap(NULL, t->places_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return err_set(e, KVF_ERR_NOMEM,
                       "not enough memory to keep track of %" PRIu64 " entries of the %s tier", t->places_max,
                       tier_name(setup->tier));
    t->places = map;
    for (uint32_t i = 0; i < t->devices; i++)
        if (!(t->device[i].pager = pager_new(t->pages, t->page_bytes)))
            return err_set(e, KVF_ERR_NOMEM,
                           "not enough memory to keep track of %" PRIu64 " pages of the %s tier", t->pages,
                           tier_name(setup->tier));
    return 0;
}

void cuda_places_close(struct cuda_tier *t) {
    if (t->places) munmap(t->places, t->places_bytes);
    for (uint32_t i = 0; i < t->devices; i++) pager_free(t->device[i].pager);
}

static bool part_take(struct cuda_tier *t, struct cuda_place *p, uint32_t device, uint64_t bytes) {
    uint64_t first = pager_alloc(t->device[device].pager, bytes);
    if (first == PAGER_NONE || p->parts == t->part_max) return false;
    p->part[p->parts++] = (struct cuda_part){.first = first, .bytes = bytes, .device = device};
    return true;
}

/* Whole on the first device from `device` on that has room, else in parts wherever there is some. */
static bool slice_take(struct cuda_tier *t, struct cuda_place *p, uint32_t device, uint64_t bytes) {
    for (uint32_t i = 0; i < t->devices; i++) {
        uint32_t d = (device + i) % t->devices;
        if (pager_free_pages(t->device[d].pager) >= (bytes + t->page_bytes - 1) / t->page_bytes)
            return part_take(t, p, d, bytes);
    }
    for (uint32_t i = 0; i < t->devices && bytes > 0; i++) {
        uint32_t d = (device + i) % t->devices;
        uint64_t room = pager_free_pages(t->device[d].pager) * t->page_bytes, n = bytes < room ? bytes : room;
        if (n > 0 && !part_take(t, p, d, n)) return false;
        bytes -= n;
    }
    return bytes == 0;
}

static void parts_release(struct cuda_tier *t, struct cuda_place *p) {
    for (uint32_t i = 0; i < p->parts; i++)
        pager_release(t->device[p->part[i].device].pager, p->part[i].first);
    p->parts = 0;
}

uint64_t cuda_place_alloc(struct tier *base, uint64_t bytes) {
    struct cuda_tier *t = (struct cuda_tier *)base;
    uint64_t place = t->place_free;
    if (place == TIER_NO_PLACE) {
        if (t->places_used == t->places_max) return TIER_NO_PLACE;
        place = t->places_used;
    }
    struct cuda_place *p = place_at(t, place);
    uint64_t slice = round_up((bytes + t->slices - 1) / t->slices, t->page_bytes), left = bytes;
    uint32_t device = (uint32_t)(t->turn % (t->devices / t->slices)) * t->slices;
    bool fits = true;
    p->parts = 0;
    for (; left > 0 && fits; device = (device + 1) % t->devices) {
        uint64_t n = left < slice ? left : slice;
        fits = slice_take(t, p, device, n);
        left -= n;
    }
    if (!fits) {
        parts_release(t, p);
        return TIER_NO_PLACE;
    }
    t->turn++;
    if (place == t->place_free)
        t->place_free = p->next;
    else
        t->places_used++;
    return place;
}

void cuda_place_drop(struct tier *base, uint64_t place, uint64_t bytes) {
    struct cuda_tier *t = (struct cuda_tier *)base;
    struct cuda_place *p = place_at(t, place);
    (void)bytes;
    parts_release(t, p);
    p->next = t->place_free;
    t->place_free = place;
}

struct walk {
    const struct cuda_tier *t;
    uint64_t from, to;
    cuda_piece_fn *fn;
    void *ctx;
};

/* A run of pages has a stretch in every region; `at` is where the first region has it. */
static bool run_walk(const struct walk *w, uint32_t device, uint64_t begin, uint64_t at, uint64_t run) {
    const struct cuda_tier *t = w->t;
    uint64_t stretch = run / t->pieces, base = t->device[device].base + at / t->pieces;
    uint64_t i = begin < w->from ? (w->from - begin) / stretch : 0;
    for (; i < t->pieces && begin + i * stretch < w->to; i++) {
        uint64_t offset = begin + i * stretch, end = offset + stretch, skip = 0;
        if (offset < w->from) skip = w->from - offset;
        if (end > w->to) end = w->to;
        struct cuda_extent piece = {.offset = offset + skip,
                                    .address = base + i * t->region_bytes + skip,
                                    .bytes = end - offset - skip};
        if (!w->fn(w->ctx, device, &piece)) return false;
    }
    return true;
}

/* Runs are whole pages, the last of a part too: the bytes of a part end inside it. */
static bool part_walk(const struct walk *w, const struct cuda_part *part, uint64_t begin) {
    const struct pager *pager = w->t->device[part->device].pager;
    struct pager_cursor c = {.run = part->first};
    uint64_t end = begin + part->bytes, at, run;
    struct walk within = *w;
    if (within.to > end) within.to = end;
    for (; begin < within.to && (run = pager_next(pager, &c, UINT64_MAX, &at)) > 0; begin += run)
        if (begin + run > within.from && !run_walk(&within, part->device, begin, at, run)) return false;
    return true;
}

void cuda_place_walk(const struct cuda_tier *t, uint64_t place, uint64_t from, uint64_t to, cuda_piece_fn *fn,
                     void *ctx) {
    const struct cuda_place *p = place_at(t, place);
    struct walk w = {.t = t, .from = from, .to = to, .fn = fn, .ctx = ctx};
    uint64_t begin = 0;
    for (uint32_t i = 0; i < p->parts && begin < to; i++) {
        if (begin + p->part[i].bytes > from && !part_walk(&w, &p->part[i], begin)) return;
        begin += p->part[i].bytes;
    }
}
