/* Kernels of the cuda backend. The work of one thread is in tier/cuda/cuda_content.h, the cooperation of threads here. One tile of an extent a thread block where order does not matter, one warp a 4 KiB block
 * where it does. */
#include <cuda_runtime.h>

#include "tier/cuda/cuda_api.h"

namespace {

__global__ void __launch_bounds__(CUDA_THREADS)
    generate(const __grid_constant__ cuda_work w, const __grid_constant__ cuda_tiles t,
             const __grid_constant__ cuda_content c) {
    cuda_generate_thread(&w, &t, &c, blockIdx.x, threadIdx.x);
}

__global__ void __launch_bounds__(CUDA_THREADS)
    checksum(const __grid_constant__ cuda_work w, const __grid_constant__ cuda_tiles t,
             unsigned long long *sum) {
    unsigned long long total = cuda_checksum_thread(&w, &t, blockIdx.x, threadIdx.x);
    for (int step = CUDA_LANES / 2; step > 0; step /= 2) total += __shfl_down_sync(0xffffffffu, total, step);
    __shared__ unsigned long long of_warp[CUDA_WARPS];
    if (threadIdx.x % CUDA_LANES == 0) of_warp[threadIdx.x / CUDA_LANES] = total;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (unsigned i = 1; i < CUDA_WARPS; i++) total += of_warp[i];
    atomicAdd(sum, total);
}

__global__ void __launch_bounds__(CUDA_THREADS)
    verify(const __grid_constant__ cuda_work w, const __grid_constant__ cuda_content c, int full,
           unsigned long long *verdict) {
    uint64_t block = cuda_verify_block(&w, blockIdx.x, threadIdx.x);
    if (block * CUDA_BLOCK >= w.to) return; /* a whole warp */
    int wrong = cuda_verify_lane(&w, &c, full, block, threadIdx.x % CUDA_LANES);
    if (__any_sync(0xffffffffu, wrong) && threadIdx.x % CUDA_LANES == 0) atomicAdd(verdict, 1ull);
}

} // namespace

extern "C" int cuda_launch_generate(const struct cuda_work *w, const struct cuda_content *c, void *stream) {
    cuda_tiles t;
    uint32_t blocks = cuda_tiles_of(w, &t);
    generate<<<blocks, CUDA_THREADS, 0, static_cast<cudaStream_t>(stream)>>>(*w, t, *c);
    return (int)cudaGetLastError();
}

extern "C" int cuda_launch_checksum(const struct cuda_work *w, uint64_t *sum, void *stream) {
    cuda_tiles t;
    uint32_t blocks = cuda_tiles_of(w, &t);
    checksum<<<blocks, CUDA_THREADS, 0, static_cast<cudaStream_t>(stream)>>>(
        *w, t, reinterpret_cast<unsigned long long *>(sum));
    return (int)cudaGetLastError();
}

extern "C" int cuda_launch_verify(const struct cuda_work *w, const struct cuda_content *c, int full,
                                  struct cuda_verdict *verdict, void *stream) {
    verify<<<cuda_verify_blocks(w), CUDA_THREADS, 0, static_cast<cudaStream_t>(stream)>>>(
        *w, *c, full, reinterpret_cast<unsigned long long *>(verdict));
    return (int)cudaGetLastError();
}
