#include "tier/cuda/cuda_api.h"

#include <stdio.h>

static const struct cuda_api *chosen;

void cuda_api_choose(const struct cuda_api *api) {
    chosen = api;
}

const struct cuda_api *cuda_api_chosen(void) {
    return chosen ? chosen : cuda_api_real();
}

void cuda_uuid_text(const unsigned char bytes[16], char *out, size_t len) {
    char hex[33];
    for (int i = 0; i < 16; i++) snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    snprintf(out, len, "GPU-%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}
