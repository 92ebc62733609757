/* The compiled twin of strandline.records.columns.PureColumns: the same bytes in the same buffers, no explanation.
 *
 * Buffers do not grow here. Before anything is stored, its room is compared with the buffer's size; where it is too
 * small the caller is told which, makes it larger and comes again with the whole section. Nothing counts as written
 * before the cursor moves, and that happens once, at the end. */
#include "_native.h"
#include "_native_reader.h"

#include <limits.h>
#include <string.h>

#define DONE -1
#define UNSOUND -2
#define GOES_ON -3

#define PLAIN_BUFFERS 9
#define ALL_BUFFERS 16

/* As in strandline.records.columns. */
enum {
    KEY_OFFSETS, KEY_VALIDITY, KEY_DATA, VALUE_OFFSETS, VALUE_VALIDITY, VALUE_DATA, OFFSETS, TIMESTAMPS, TIMESTAMP_TYPES,
    HEADERS_OFFSETS, HEADERS_VALIDITY, HEADER_KEY_OFFSETS, HEADER_KEY_DATA, HEADER_VALUE_OFFSETS, HEADER_VALUE_VALIDITY,
    HEADER_VALUE_DATA,
};

typedef struct {
    long long count, base_offset, base_timestamp, append_time, has_append_time, timestamp_type, from_offset, to_offset;
} Batch;

typedef struct {
    int64_t rows, key_bytes, value_bytes, headers, header_key_bytes, header_value_bytes;
} Cursor;

typedef struct {
    Py_buffer buffers[ALL_BUFFERS];
    int has_headers;
    Cursor cursor;
} Columns;

static inline int lacks_room(const Columns *columns, int number, int64_t end)
{
    return end > columns->buffers[number].len;
}

static inline void store_32(Columns *columns, int number, int64_t index, int64_t value)
{
    int32_t narrow = (int32_t)value;
    memcpy((char *)columns->buffers[number].buf + index * 4, &narrow, 4);
}

static inline void store_64(Columns *columns, int number, int64_t index, int64_t value)
{
    memcpy((char *)columns->buffers[number].buf + index * 8, &value, 8);
}

static inline void store_bit(Columns *columns, int number, int64_t index, int is_set)
{
    uint8_t *byte = (uint8_t *)columns->buffers[number].buf + index / 8, bit = (uint8_t)(1 << index % 8);
    *byte = is_set ? *byte | bit : *byte & (uint8_t)~bit;
}

/* One entry of variable length: its bytes, and where the next begins. `used` moves by its length. */
static inline int store_bytes(Columns *columns, int offsets, int data, int64_t index, int64_t *used, const uint8_t *bytes,
                              int64_t length)
{
    if (lacks_room(columns, offsets, (index + 2) * 4))
        return offsets;
    if (length > 0) {
        if (lacks_room(columns, data, *used + length))
            return data;
        memcpy((char *)columns->buffers[data].buf + *used, bytes, (size_t)length);
        *used += length;
    }
    store_32(columns, offsets, index + 1, *used);
    return GOES_ON;
}

static inline int store_nullable(Columns *columns, int offsets, int64_t index, int64_t *used, const uint8_t *bytes,
                                 int64_t length)
{
    if (lacks_room(columns, offsets + 1, index / 8 + 1))
        return offsets + 1;
    store_bit(columns, offsets + 1, index, length >= 0);
    return store_bytes(columns, offsets, offsets + 2, index, used, bytes, length);
}

static int64_t microseconds(int64_t milliseconds)
{
    const int64_t most = INT64_MAX / 1000;
    return (milliseconds > most ? most : milliseconds < -most ? -most : milliseconds) * 1000;
}

static int store_headers(Columns *columns, Reader record, int64_t count)
{
    Cursor *cursor = &columns->cursor;
    int64_t position, length;
    int verdict;
    for (; count > 0; count--, cursor->headers++) {
        if (!skip_bytes(&record, &position, &length))
            return UNSOUND;
        verdict = store_bytes(columns, HEADER_KEY_OFFSETS, HEADER_KEY_DATA, cursor->headers, &cursor->header_key_bytes,
                              record.data + position, length);
        if (verdict != GOES_ON)
            return verdict;
        if (!skip_bytes(&record, &position, &length))
            return UNSOUND;
        verdict = store_nullable(columns, HEADER_VALUE_OFFSETS, cursor->headers, &cursor->header_value_bytes,
                                 record.data + position, length);
        if (verdict != GOES_ON)
            return verdict;
    }
    return GOES_ON;
}

static int store_numbers(Columns *columns, const Batch *batch, int64_t offset, int64_t timestamp)
{
    int64_t row = columns->cursor.rows;
    if (lacks_room(columns, OFFSETS, (row + 1) * 8))
        return OFFSETS;
    if (lacks_room(columns, TIMESTAMPS, (row + 1) * 8))
        return TIMESTAMPS;
    if (lacks_room(columns, TIMESTAMP_TYPES, (row + 1) * 4))
        return TIMESTAMP_TYPES;
    store_64(columns, OFFSETS, row, offset);
    store_64(columns, TIMESTAMPS, row, microseconds(timestamp));
    store_32(columns, TIMESTAMP_TYPES, row, batch->timestamp_type);
    return GOES_ON;
}

static int store_header_list(Columns *columns, Reader headers, int64_t count)
{
    int64_t row = columns->cursor.rows;
    if (lacks_room(columns, HEADERS_OFFSETS, (row + 2) * 4))
        return HEADERS_OFFSETS;
    if (lacks_room(columns, HEADERS_VALIDITY, row / 8 + 1))
        return HEADERS_VALIDITY;
    int verdict = store_headers(columns, headers, count);
    if (verdict == GOES_ON) {
        store_bit(columns, HEADERS_VALIDITY, row, count > 0);
        store_32(columns, HEADERS_OFFSETS, row + 1, columns->cursor.headers);
    }
    return verdict;
}

static int append_record(Columns *columns, const Batch *batch, Reader *section)
{
    int64_t length, timestamp_delta, timestamp, offset_delta, key, key_length, value, value_length, header_count;
    if (!read_varint(section, 32, &length))
        return UNSOUND;
    if (length < RECORD_BYTES_MIN - 1 || length > section->end - section->position)
        return UNSOUND;
    Reader record = {section->data, section->position + 1, section->position + (Py_ssize_t)length};
    section->position = record.end;
    if (!read_varint(&record, 64, &timestamp_delta) || !read_varint(&record, 32, &offset_delta))
        return UNSOUND;
    if (!skip_bytes(&record, &key, &key_length) || !skip_bytes(&record, &value, &value_length))
        return UNSOUND;
    if (!read_varint(&record, 32, &header_count))
        return UNSOUND;
    Reader headers = record;
    if (header_count != 0 && !skip_headers(&record, header_count))
        return UNSOUND;
    if (record.position != record.end)
        return UNSOUND;
    if (batch->has_append_time)
        timestamp = batch->append_time;
    else if (__builtin_add_overflow(batch->base_timestamp, timestamp_delta, &timestamp))
        return UNSOUND;
    int64_t offset = (int64_t)((uint64_t)batch->base_offset + (uint64_t)offset_delta);
    if (offset < batch->from_offset || offset >= batch->to_offset)
        return GOES_ON;

    Cursor *cursor = &columns->cursor;
    int verdict = store_nullable(columns, KEY_OFFSETS, cursor->rows, &cursor->key_bytes, record.data + key, key_length);
    if (verdict == GOES_ON)
        verdict = store_nullable(columns, VALUE_OFFSETS, cursor->rows, &cursor->value_bytes, record.data + value, value_length);
    if (verdict == GOES_ON)
        verdict = store_numbers(columns, batch, offset, timestamp);
    if (verdict == GOES_ON && columns->has_headers)
        verdict = store_header_list(columns, headers, header_count);
    cursor->rows++;
    return verdict;
}

static int append_section(Columns *columns, const Batch *batch, const Py_buffer *data)
{
    Reader section = {data->buf, 0, data->len};
    for (int64_t index = 0; index < batch->count; index++) {
        int verdict = append_record(columns, batch, &section);
        if (verdict != GOES_ON)
            return verdict;
    }
    return section.position == section.end ? DONE : UNSOUND;
}

static void release(Columns *columns, Py_ssize_t count)
{
    while (count > 0)
        PyBuffer_Release(&columns->buffers[--count]);
}

/* Whether all are there, to be written into; otherwise none is held, and an exception is set. */
static int pin(Columns *columns, PyObject *buffers)
{
    Py_ssize_t count = PyTuple_GET_SIZE(buffers);
    if (count != PLAIN_BUFFERS && count != ALL_BUFFERS) {
        PyErr_SetString(PyExc_ValueError, "there are nine buffers, or sixteen with headers");
        return 0;
    }
    for (Py_ssize_t number = 0; number < count; number++)
        if (PyObject_GetBuffer(PyTuple_GET_ITEM(buffers, number), &columns->buffers[number], PyBUF_WRITABLE) != 0) {
            release(columns, number);
            return 0;
        }
    columns->has_headers = count == ALL_BUFFERS;
    return 1;
}

static int is_sane(const Cursor *cursor, const Py_buffer *section)
{
    const int64_t most = INT32_MAX - section->len;
    return cursor->rows >= 0 && cursor->rows <= most && cursor->key_bytes >= 0 && cursor->key_bytes <= most &&
           cursor->value_bytes >= 0 && cursor->value_bytes <= most && cursor->headers >= 0 && cursor->headers <= most &&
           cursor->header_key_bytes >= 0 && cursor->header_key_bytes <= most && cursor->header_value_bytes >= 0 &&
           cursor->header_value_bytes <= most;
}

PyObject *append_columns(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_buffer section, cursor;
    PyObject *buffers, *answer = NULL;
    Batch batch;
    Columns columns;
    if (!PyArg_ParseTuple(arguments, "y*(LLLLLLLL)w*O!:append_columns", &section, &batch.count, &batch.base_offset,
                          &batch.base_timestamp, &batch.append_time, &batch.has_append_time, &batch.timestamp_type,
                          &batch.from_offset, &batch.to_offset, &cursor, &PyTuple_Type, &buffers))
        return NULL;
    if (cursor.len != sizeof(Cursor)) {
        PyErr_SetString(PyExc_ValueError, "a cursor has six int64");
    } else {
        memcpy(&columns.cursor, cursor.buf, sizeof(Cursor));
        if (!is_sane(&columns.cursor, &section)) {
            PyErr_SetString(PyExc_ValueError, "columns of this size cannot take such a section");
        } else if (pin(&columns, buffers)) {
            int verdict = append_section(&columns, &batch, &section);
            if (verdict == DONE)
                memcpy(cursor.buf, &columns.cursor, sizeof(Cursor));
            release(&columns, PyTuple_GET_SIZE(buffers));
            answer = PyLong_FromLong(verdict);
        }
    }
    PyBuffer_Release(&section);
    PyBuffer_Release(&cursor);
    return answer;
}
