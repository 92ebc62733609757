/* CRC-32C, two ways: by carry-less multiplication alone where the processor does four at once, else by its crc32
 * instruction.
 *
 * By multiplication, 256 bytes at a time (Gopal et al., "Fast CRC computation using PCLMULQDQ").
 * A CRC is the remainder of the message by a polynomial P, so any piece of the message may be replaced by another that
 * has the same remainder. Folding multiplies 16 bytes by x^(8 D) mod P and adds the product to the 16 bytes that lie D
 * bytes further on: the front of the message is gone and the remainder is what it was. Each half of the 16 bytes has a
 * constant of its own, x^(8 D + 32) and x^(8 D - 32) mod P, bits in reverse and shifted left by one, since the product
 * of two reversed numbers comes out one bit short. Sixteen lanes of 16 bytes run side by side, then they are folded
 * into one, and the crc32 instruction takes that and what is left over.
 *
 * This needs AVX-512 with VPCLMULQDQ.
 *
 * By instruction: crc32 takes three cycles and one can begin in each, so three pieces that lie side by side are taken at
 * once, the second and the third as if nothing came before them. What did come before is worth its own state times
 * x^(8 D) mod P, where D bytes follow it: one multiplication by x^(8 D - 33), which crc32 reduces.
 *
 * This needs SSE 4.2 and PCLMULQDQ, as all have since 2010. `has_fast_crc32c` asks the processor; elsewhere a library
 * does it. */
#include "_native.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define WIDE __attribute__((target("avx512f,avx512vl,vpclmulqdq,pclmul,sse4.2")))
#define PLAIN __attribute__((target("pclmul,sse4.2")))

/* The second half's constant comes first in _mm_set_epi64x. */
#define FOLD_256_BYTES _mm_set_epi64x(0xb9e02b86, 0xdcb17aa4)
#define FOLD_64_BYTES _mm_set_epi64x(0x9e4addf8, 0x740eef02)
#define FOLD_16_BYTES _mm_set_epi64x(0x14cd00bd6, 0xf20c0dfe)

#define PAST_128_BYTES 0x0d3b6092
#define PAST_256_BYTES 0xb9e02b86
#define PAST_1024_BYTES 0x170076fa
#define PAST_2048_BYTES 0xa51b6135

int has_fast_crc32c(void)
{
    return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.2");
}

static int is_wide(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("vpclmulqdq");
}

WIDE static inline __m512i fold_lanes(__m512i lanes, __m512i constants, __m512i further_on)
{
    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(lanes, constants, 0x00),
                                     _mm512_clmulepi64_epi128(lanes, constants, 0x11), further_on, 0x96);
}

WIDE static inline __m128i fold_lane(__m128i lane, __m128i constants, __m128i further_on)
{
    return _mm_xor_si128(further_on, _mm_xor_si128(_mm_clmulepi64_si128(lane, constants, 0x00),
                                                   _mm_clmulepi64_si128(lane, constants, 0x11)));
}

/* At least 256 bytes; `*data` and `*size` move past those that were taken. */
WIDE static uint64_t fold(uint32_t state, const uint8_t **data, size_t *size)
{
    const uint8_t *at = *data;
    __m512i lanes[4];
    for (int index = 0; index < 4; index++)
        lanes[index] = _mm512_loadu_si512(at + 64 * index);
    lanes[0] = _mm512_xor_si512(lanes[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)state)));
    __m512i constants = _mm512_broadcast_i32x4(FOLD_256_BYTES);
    for (at += 256, *size -= 256; *size >= 256; at += 256, *size -= 256)
        for (int index = 0; index < 4; index++)
            lanes[index] = fold_lanes(lanes[index], constants, _mm512_loadu_si512(at + 64 * index));
    constants = _mm512_broadcast_i32x4(FOLD_64_BYTES);
    for (int index = 1; index < 4; index++)
        lanes[0] = fold_lanes(lanes[0], constants, lanes[index]);
    __m128i lane = _mm512_extracti32x4_epi32(lanes[0], 0);
    lane = fold_lane(lane, FOLD_16_BYTES, _mm512_extracti32x4_epi32(lanes[0], 1));
    lane = fold_lane(lane, FOLD_16_BYTES, _mm512_extracti32x4_epi32(lanes[0], 2));
    lane = fold_lane(lane, FOLD_16_BYTES, _mm512_extracti32x4_epi32(lanes[0], 3));
    *data = at;
    return _mm_crc32_u64(_mm_crc32_u64(0, (uint64_t)_mm_extract_epi64(lane, 0)), (uint64_t)_mm_extract_epi64(lane, 1));
}

static inline uint64_t word_at(const uint8_t *data)
{
    uint64_t word;
    memcpy(&word, data, 8);
    return word;
}

PLAIN static inline uint64_t past(uint64_t state, uint32_t constant)
{
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)state), _mm_cvtsi64_si128(constant), 0x00);
    return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

/* As many times three pieces as there are; `*data` and `*size` move past them. */
PLAIN static inline uint64_t by_threes(uint64_t state, const uint8_t **data, size_t *size, size_t piece,
                                       uint32_t past_one, uint32_t past_two)
{
    for (; *size >= 3 * piece; *data += 3 * piece, *size -= 3 * piece) {
        const uint8_t *at = *data;
        uint64_t second = 0, third = 0;
        for (const uint8_t *end = at + piece; at < end; at += 8) {
            state = _mm_crc32_u64(state, word_at(at));
            second = _mm_crc32_u64(second, word_at(at + piece));
            third = _mm_crc32_u64(third, word_at(at + 2 * piece));
        }
        state = past(state, past_two) ^ past(second, past_one) ^ third;
    }
    return state;
}

PLAIN static uint32_t finished(uint64_t state, const uint8_t *data, size_t size)
{
    for (; size >= 8; data += 8, size -= 8)
        state = _mm_crc32_u64(state, word_at(data));
    for (; size > 0; data++, size--)
        state = _mm_crc32_u8((uint32_t)state, *data);
    return ~(uint32_t)state;
}

static uint32_t crc32c_by_instruction(const uint8_t *data, size_t size)
{
    uint64_t state = by_threes(0xffffffff, &data, &size, 1024, PAST_1024_BYTES, PAST_2048_BYTES);
    state = by_threes(state, &data, &size, 128, PAST_128_BYTES, PAST_256_BYTES);
    return finished(state, data, size);
}

uint32_t crc32c_of(const uint8_t *data, size_t size)
{
    if (!is_wide())
        return crc32c_by_instruction(data, size);
    uint64_t state = size < 256 ? 0xffffffff : fold(0xffffffff, &data, &size);
    return finished(state, data, size);
}

#else

#include <stdint.h>

int has_fast_crc32c(void)
{
    return 0;
}

uint32_t crc32c_of(const uint8_t *data, size_t size)
{
    (void)data;
    (void)size;
    return 0;
}

static uint32_t crc32c_by_instruction(const uint8_t *data, size_t size)
{
    return crc32c_of(data, size);
}

#endif

static PyObject *computed(PyObject *data, uint32_t (*crc32c)(const uint8_t *, size_t))
{
    Py_buffer buffer;
    if (refuse_without_fast_crc32c() || PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE) != 0)
        return NULL;
    uint32_t answer = crc32c(buffer.buf, (size_t)buffer.len);
    PyBuffer_Release(&buffer);
    return PyLong_FromUnsignedLong(answer);
}

int refuse_without_fast_crc32c(void)
{
    if (has_fast_crc32c())
        return 0;
    PyErr_SetString(PyExc_RuntimeError, "this processor has no SSE 4.2 with PCLMULQDQ");
    return 1;
}

PyObject *fast_crc32c(PyObject *Py_UNUSED(module), PyObject *data)
{
    return computed(data, crc32c_of);
}

PyObject *narrow_crc32c(PyObject *Py_UNUSED(module), PyObject *data)
{
    return computed(data, crc32c_by_instruction);
}
