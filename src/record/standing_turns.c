#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "record/standing.h"

struct standing_turns standing_turns(const struct result_list *results) {
    double lookups = result_value(results, "conversation_lookups"),
           misses = lookups - result_value(results, "conversation_hits");
    return (struct standing_turns){.misses = fmax(misses, 0), .lookups = fmax(lookups, 0)};
}

bool standing_turns_missed(const struct standing_turns *t) {
    return t->misses > 0 && standing_behind(1 - t->misses / t->lookups, t->lookups);
}

const char *standing_turns_text(const struct standing_turns *t, const char *of, bool computes,
                                char out[STANDING_TURNS]) {
    char misses[32], lookups[32];
    snprintf(out, STANDING_TURNS,
             "%s of %s lookups%s%.48s missed, and nothing %s at granularity request, unlike at block",
             units_count_human(t->misses, misses, sizeof misses),
             units_count_human(t->lookups, lookups, sizeof lookups), of[0] ? " of " : "", of,
             computes ? "computes that" : "writes that again");
    return out;
}
