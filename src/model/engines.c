#include "model/engines.h"

#define X(id, name, gpu, weights, mfu, efficiency, step, prefill, exchange)                                  \
    {name,       ROOFLINE_GPU_##gpu,    MODEL_WEIGHTS_##weights,  mfu,                                       \
     efficiency, step * UINT64_C(1000), prefill * UINT64_C(1000), exchange * UINT64_C(1000)},
static const struct engines_fit fits[] = {ENGINES_LIST(X)};
#undef X

const struct engines_fit *engines_fit(enum engines_preset preset) {
    return &fits[preset];
}
