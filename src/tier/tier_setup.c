#include "tier/tier.h"

uint64_t tier_setup_pages(const struct tier_setup *setup) {
    const struct scenario *s = setup->scenario;
    uint64_t page = setup->page_bytes, min_entry = setup->min_entry_bytes ? setup->min_entry_bytes : 1;
    uint64_t full = setup->usable_bytes / page + (setup->usable_bytes % page != 0);
    /* Sizes are multiples of the smallest entry unless sliding windows make later tokens cheaper, or
     * operations name their sizes. */
    bool mixed = s->model.sliding_layers > 0 || !scenario_source_has(s, SOURCE_INFERS);
    if (min_entry % page == 0 && !mixed) return full ? full : 1;
    return full + setup->usable_bytes / min_entry + 1; /* each entry wastes less than a page */
}
