/* The compiled twin of strandline.records.walk.walk_records_pure: same columns, same refusals, no explanation.
 *
 * All positions are kept as Py_ssize_t within [0, size]; a length is compared with what is left before it is
 * added, so that nothing overflows and nothing outside the section is read, whatever the bytes say. The buffers
 * stay pinned by their Py_buffer views.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#define COLUMNS 10
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

static int skip_headers(Reader *reader, int64_t count)
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

static int walk_record(Reader *section, int64_t *row)
{
    int64_t length;
    row[0] = section->position;
    if (!read_varint(section, 32, &length))
        return 0;
    if (length < RECORD_BYTES_MIN - 1 || length > section->end - section->position)
        return 0;
    Reader record = {section->data, section->position + 1, section->position + (Py_ssize_t)length};
    row[1] = record.end;
    if (!read_varint(&record, 64, &row[2]) || !read_varint(&record, 32, &row[3]))
        return 0;
    if (!skip_bytes(&record, &row[4], &row[5]) || !skip_bytes(&record, &row[6], &row[7]))
        return 0;
    if (!read_varint(&record, 32, &row[9]))
        return 0;
    row[8] = record.position;
    if (row[9] != 0 && !skip_headers(&record, row[9]))
        return 0;
    section->position = record.end;
    return record.position == record.end;
}

static int walk(const Py_buffer *section, Py_ssize_t count, Py_buffer *columns)
{
    Reader reader = {section->buf, 0, section->len};
    int64_t *row = columns->buf;
    for (Py_ssize_t index = 0; index < count; index++, row += COLUMNS)
        if (!walk_record(&reader, row))
            return 0;
    return reader.position == reader.end;
}

PyObject *walk_records(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_buffer section, columns;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(arguments, "y*nw*:walk_records", &section, &count, &columns))
        return NULL;
    PyObject *answer = NULL;
    /* An empty array may point anywhere; only one that is written to must be aligned. */
    if (count < 0 || columns.len / (Py_ssize_t)sizeof(int64_t) / COLUMNS < count ||
        (count > 0 && (uintptr_t)columns.buf % sizeof(int64_t) != 0))
        PyErr_SetString(PyExc_ValueError, "columns must be an array of ten int64 per record");
    else
        answer = PyBool_FromLong(walk(&section, count, &columns));
    PyBuffer_Release(&section);
    PyBuffer_Release(&columns);
    return answer;
}
