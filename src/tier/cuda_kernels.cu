/* What the cuda backend runs on a device. One tile of an extent a thread block where order does not
 * matter, one warp a 4 KiB block where it does. */
#include <cuda_runtime.h>

#include "tier/cuda_api.h"

namespace {

const unsigned threads = 256, warps = threads / 32;
const unsigned long long tile = 65536; /* bytes that a thread block goes over */

/* Tiles of the extents before each: where a thread block finds its own. */
struct tiles {
    unsigned first[CUDA_EXTENTS + 1];
};

tiles tiles_of(const cuda_work *w) {
    tiles t;
    t.first[0] = 0;
    for (unsigned i = 0; i < w->extents; i++)
        t.first[i + 1] = t.first[i] + (unsigned)((w->extent[i].bytes + tile - 1) / tile);
    return t;
}

__device__ unsigned tile_extent(const tiles &t, unsigned extents) {
    unsigned low = 0, high = extents - 1;
    while (low < high) {
        unsigned middle = (low + high + 1) / 2;
        if (t.first[middle] <= blockIdx.x)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Noise stays in the cache of the device, what is made from it passes by. */
__global__ void __launch_bounds__(threads)
    generate(const __grid_constant__ cuda_work w, const __grid_constant__ tiles t,
             const __grid_constant__ cuda_content c) {
    const unsigned extent = tile_extent(t, w.extents);
    const cuda_extent &e = w.extent[extent];
    uint64_t begin = (uint64_t)(blockIdx.x - t.first[extent]) * tile;
    uint64_t end = begin + tile < e.bytes ? begin + tile : e.bytes;
    ulonglong2 *out = reinterpret_cast<ulonglong2 *>(e.address);
    const ulonglong2 *noise = reinterpret_cast<const ulonglong2 *>(c.noise);
#pragma unroll 4
    for (uint64_t at = begin + threadIdx.x * CUDA_VECTOR; at < end; at += threads * CUDA_VECTOR) {
        uint64_t offset = e.offset + at, block = offset / CUDA_BLOCK;
        unsigned index = (unsigned)(offset / CUDA_VECTOR % CUDA_BLOCK_VECTORS);
        uint64_t from = cuda_noise_block(&c, block);
        ulonglong2 v;
        if (index < CUDA_STAMP_VECTORS) {
            cuda_vector stamp = cuda_stamp_vector(&c, block, from, index);
            v = make_ulonglong2(stamp.lo, stamp.hi);
        } else {
            v = __ldg(noise + from * CUDA_BLOCK_VECTORS + index);
        }
        __stcs(out + at / CUDA_VECTOR, v);
    }
}

__global__ void __launch_bounds__(threads)
    checksum(const __grid_constant__ cuda_work w, const __grid_constant__ tiles t, unsigned long long *sum) {
    const unsigned extent = tile_extent(t, w.extents);
    const cuda_extent &e = w.extent[extent];
    uint64_t begin = (uint64_t)(blockIdx.x - t.first[extent]) * tile;
    uint64_t end = begin + tile < e.bytes ? begin + tile : e.bytes;
    const ulonglong2 *in = reinterpret_cast<const ulonglong2 *>(e.address);
    unsigned long long total = 0;
#pragma unroll 8
    for (uint64_t at = begin + threadIdx.x * CUDA_VECTOR; at < end; at += threads * CUDA_VECTOR) {
        ulonglong2 v = __ldcs(in + at / CUDA_VECTOR);
        total += v.x ^ v.y;
    }
    for (int step = 16; step > 0; step /= 2) total += __shfl_down_sync(0xffffffffu, total, step);
    __shared__ unsigned long long of_warp[warps];
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (unsigned i = 1; i < warps; i++) total += of_warp[i];
    atomicAdd(sum, total);
}

__device__ cuda_vector vector_at(const cuda_work &w, uint64_t offset) {
    ulonglong2 v = *reinterpret_cast<const ulonglong2 *>(cuda_address(&w, offset));
    cuda_vector out = {v.x, v.y};
    return out;
}

__global__ void __launch_bounds__(threads)
    verify(const __grid_constant__ cuda_work w, const __grid_constant__ cuda_content c, int full,
           unsigned long long *verdict) {
    uint64_t block = w.from / CUDA_BLOCK + (uint64_t)blockIdx.x * warps + threadIdx.x / 32;
    uint64_t begin = block * CUDA_BLOCK;
    if (begin >= w.to) return; /* a whole warp */
    uint64_t bytes = w.to - begin < CUDA_BLOCK ? w.to - begin : CUDA_BLOCK;
    const cuda_vector *noise = NULL;
    if (bytes > CUDA_STAMP_VECTORS * CUDA_VECTOR) {
        uint64_t from = vector_at(w, begin + 3 * CUDA_VECTOR).lo;
        if (from < c.noise_blocks) noise = reinterpret_cast<const cuda_vector *>(c.noise) + from * CUDA_BLOCK_VECTORS;
    }
    int wrong = 0;
    for (unsigned i = threadIdx.x % 32; i < CUDA_BLOCK_VECTORS; i += 32) {
        if (i * CUDA_VECTOR >= bytes || (i >= CUDA_STAMP_VECTORS && (!full || !noise))) break;
        uint64_t left = bytes - i * CUDA_VECTOR, valid = left < CUDA_VECTOR ? left : CUDA_VECTOR;
        cuda_vector got = vector_at(w, begin + i * CUDA_VECTOR);
        wrong |= i < CUDA_STAMP_VECTORS ? cuda_stamp_wrong(&c, block, i, got, valid)
                                        : cuda_vector_differs(got, noise[i], valid);
    }
    if (__any_sync(0xffffffffu, wrong) && threadIdx.x % 32 == 0) {
        atomicAdd(verdict, 1ull);
        atomicMax(verdict + 1, ~(unsigned long long)block);
    }
}

} // namespace

extern "C" int cuda_launch_generate(const struct cuda_work *w, const struct cuda_content *c, void *stream) {
    tiles t = tiles_of(w);
    generate<<<t.first[w->extents], threads, 0, static_cast<cudaStream_t>(stream)>>>(*w, t, *c);
    return (int)cudaGetLastError();
}

extern "C" int cuda_launch_checksum(const struct cuda_work *w, uint64_t *sum, void *stream) {
    tiles t = tiles_of(w);
    checksum<<<t.first[w->extents], threads, 0, static_cast<cudaStream_t>(stream)>>>(
        *w, t, reinterpret_cast<unsigned long long *>(sum));
    return (int)cudaGetLastError();
}

extern "C" int cuda_launch_verify(const struct cuda_work *w, const struct cuda_content *c, int full,
                                  struct cuda_verdict *verdict, void *stream) {
    uint64_t blocks = (w->to + CUDA_BLOCK - 1) / CUDA_BLOCK - w->from / CUDA_BLOCK;
    verify<<<(unsigned)((blocks + warps - 1) / warps), threads, 0, static_cast<cudaStream_t>(stream)>>>(
        *w, *c, full, reinterpret_cast<unsigned long long *>(verdict));
    return (int)cudaGetLastError();
}
