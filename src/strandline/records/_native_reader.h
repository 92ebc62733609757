/* Reading within a section of records.
 *
 * All positions are kept as Py_ssize_t within [0, size]; a length is compared with what is left before it is added, so
 * that nothing overflows and nothing outside the section is read, whatever the bytes say. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#define RECORD_BYTES_MIN 7
#define HEADER_BYTES_MIN 2

typedef struct {
    const uint8_t *data;
    Py_ssize_t position;
    Py_ssize_t end;
} Reader;

/* A zig-zag varint of at most `bits` bits; 0 where it is cut short or too wide. */
static inline int read_varint(Reader *reader, int bits, int64_t *value)
{
    uint64_t zigzag = 0;
    for (int shift = 0; shift < bits; shift += 7) {
        if (reader->position >= reader->end)
            return 0;
        uint8_t byte = reader->data[reader->position++];
        uint64_t part = byte & 0x7F;
        if (bits - shift < 7 && part >> (bits - shift))
            return 0;
        zigzag |= part << shift;
        if (byte < 0x80) {
            /* Unsigned until the last step: the shift and the negation are defined for every input. */
            *value = (int64_t)((zigzag >> 1) ^ (0 - (zigzag & 1)));
            return 1;
        }
    }
    return 0;
}

/* A length and that many bytes; a negative length is null, told as -1. */
static inline int skip_bytes(Reader *reader, int64_t *position, int64_t *length)
{
    if (!read_varint(reader, 32, length))
        return 0;
    *position = reader->position;
    if (*length < 0) {
        *length = -1;
        return 1;
    }
    if (*length > reader->end - reader->position)
        return 0;
    reader->position += (Py_ssize_t)*length;
    return 1;
}

static inline int skip_headers(Reader *reader, int64_t count)
{
    int64_t position, length;
    if (count < 0 || count * HEADER_BYTES_MIN > reader->end - reader->position)
        return 0;
    for (; count > 0; count--) {
        if (!skip_bytes(reader, &position, &length) || length < 0)
            return 0;
        if (!skip_bytes(reader, &position, &length))
            return 0;
    }
    return 1;
}
