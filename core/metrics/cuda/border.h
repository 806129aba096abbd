/* SPDX-FileCopyrightText: 2026 The Forkpoint authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The border between Forkpoint and its CUDA module: C functions and plain pointers, nothing of C++ and nothing of CUDA. The module is the shared
 * object forkpoint_cuda.so; its one symbol is forkpoint_cuda_border. Both sides are compiled from the same sources, which `version` and
 * `layout` make sure of.
 *
 * A lane is two slots with a stream each. A slot is a piece of pinned memory and one as large on the device. Work goes through a lane as
 *
 *   begin, then any number of (waitSlot, fill the slot's memory, upload, run...) with the slots in turn, then finish
 *
 * While a slot is filled, the other one is copied and computed. Every function returns 0, or puts a line of text into `error`, returns 1 and
 * leaves the lane fit only for closing. A lane is for one thread at a time; lanes are independent. */

/* In front of a slot's data: what lies in it. Offsets are from the slot's begin and multiples of 16; each array is followed by at least
 * FORKPOINT_CUDA_PADDING readable bytes, whatever they hold. */
typedef struct ForkpointCudaSegment {
    uint64_t a, b, mask; /* offsets; mask: 0 if there is none */
    uint64_t parts;      /* numbers on each side; complex elements are two */
    int64_t first_part;  /* number of the first one in its tensor */
    double rtol, atol;
    uint32_t first_tile;    /* among those of its run */
    uint32_t first_partial; /* place of its first tile's result in the lane */
    uint32_t entry;         /* of the lane: whose histograms it counts in */
    uint8_t dtype_a, dtype_b, parts_per_element, histograms;
} ForkpointCudaSegment;

/* What is asked for: the partial results [first, first + count) of the lane become result and histograms of one entry. */
typedef struct ForkpointCudaEntry {
    uint32_t first, count;
} ForkpointCudaEntry;

typedef struct ForkpointCudaLane ForkpointCudaLane;

enum {
    FORKPOINT_CUDA_VERSION = 1,
    FORKPOINT_CUDA_PADDING = 128,
    FORKPOINT_CUDA_TILE_PARTS = 65536, /* of a segment, what one block of threads works on */
    FORKPOINT_CUDA_ERROR_SIZE = 256
};

typedef struct ForkpointCudaBorder {
    uint32_t version; /* FORKPOINT_CUDA_VERSION */
    uint32_t layout;  /* forkpoint::metrics::cuda::kLayout */

    /* Is there a driver and a device, and which? Fails with the reason. */
    int (*probe)(char* device, size_t device_size, char* error);

    /* A lane with room for `partials` results of tiles and `entries` entries. slots[0], slots[1]: the pinned memory, slot_bytes each. */
    int (*open)(ForkpointCudaLane** lane, size_t slot_bytes, uint32_t partials, uint32_t entries, void* slots[2], char* error);
    void (*close)(ForkpointCudaLane* lane); /* waits for its work */

    int (*begin)(ForkpointCudaLane* lane, uint32_t entries, char* error);      /* clears the histograms of that many */
    int (*wait_slot)(ForkpointCudaLane* lane, int slot, char* error);          /* until its memory may be written */
    int (*upload)(ForkpointCudaLane* lane, int slot, size_t bytes, char* error);
    /* The segments [first, first + count) of the slot, `tiles` tiles in all, whose types are of one kind: as_kind of each is the same. */
    int (*run)(ForkpointCudaLane* lane, int slot, uint32_t first, uint32_t count, uint32_t tiles, char* error);
    /* Waits for all of it. results: ChunkAccumulator[count]; histograms: HistogramAccumulator[count]. */
    int (*finish)(ForkpointCudaLane* lane, const ForkpointCudaEntry* entries, uint32_t count, void* results, void* histograms, char* error);

    /* Measurements, over `bytes` of memory, the best of `rounds`. Seconds. */
    int (*time_device_copy)(size_t bytes, int rounds, double* seconds, char* error);                     /* device to device */
    int (*time_upload)(size_t bytes, int rounds, double* seconds, char* error);                          /* pinned host to device */
    int (*time_kernel)(uint8_t dtype, size_t bytes_a_side, int histograms, int rounds, double* seconds, char* error); /* both sides on the device */
} ForkpointCudaBorder;

typedef const ForkpointCudaBorder* (*ForkpointCudaBorderFunction)(void);
#define FORKPOINT_CUDA_SYMBOL "forkpoint_cuda_border"
#define FORKPOINT_CUDA_MODULE "forkpoint_cuda.so"
