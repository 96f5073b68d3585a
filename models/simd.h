#pragma once

// TANDEM_SIMD_CLONES before a function definition compiles it once for each x86-64 level, and the loader picks the best
// that the processor at hand has: one binary suits all. Only the loops in the function itself, and what is inlined into
// it, profit.
//
// Not under the sanitizers: the loader picks before their runtime is set up, and crashes in instrumented code.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define TANDEM_SIMD_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define TANDEM_SIMD_CLONES
#endif
