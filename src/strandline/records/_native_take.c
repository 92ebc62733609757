/* The compiled twin of strandline.records.taking.take_batches_pure: the same notes, origins and end. */
#include "_native_batch.h"

typedef struct {
    long long bytes_left, last_offset_max, max_timestamp_max;
} Room;

/* The size of the batch if no more is to be done about it than to write it, else 0. */
static int64_t plain_size(const uint8_t *data, Py_ssize_t left, long long next_offset, int leader_epoch, const Room *room)
{
    if (left < HEAD_BYTES || data[16] != MAGIC_V2)
        return 0;
    int64_t size = (int64_t)read_i32(data + 8) + LENGTH_END, base_offset = read_i64(data), delta = read_i32(data + 23);
    if (size < HEAD_BYTES || size > left || size > room->bytes_left)
        return 0;
    int attributes = read_i16(data + 21);
    int is_plain = read_i32(data + 12) == leader_epoch && base_offset >= next_offset && attributes >= 0
        && attributes <= PLAIN_ATTRIBUTES_MAX && delta >= 0 && read_i32(data + 57) >= 0
        && base_offset <= room->last_offset_max - delta && read_i64(data + 35) <= room->max_timestamp_max
        && (read_i64(data + 43) < 0 || read_i32(data + 53) >= 0)
        && crc32c_of(data + ATTRIBUTES_POSITION, (size_t)(size - ATTRIBUTES_POSITION)) == read_u32(data + 17);
    return is_plain ? size : 0;
}

static int note(const uint8_t *data, int64_t size, PyObject *notes, PyObject *origins)
{
    int64_t base_offset = read_i64(data), producer_id = read_i64(data + 43);
    long long origin[] = {producer_id, read_i16(data + 51), read_i32(data + 53), base_offset};
    if (note_producer(origins, PyList_GET_SIZE(notes), producer_id < 0 ? NULL : origin, 4) != 0)
        return -1;
    return append_new(notes, note_of(size, base_offset + read_i32(data + 23), read_i64(data + 35)));
}

PyObject *take_batches(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_buffer buffer;
    Py_ssize_t position;
    long long next_offset;
    int leader_epoch;
    Room room;
    if (!PyArg_ParseTuple(arguments, "y*nLi(LLL)", &buffer, &position, &next_offset, &leader_epoch, &room.bytes_left,
                          &room.last_offset_max, &room.max_timestamp_max))
        return NULL;
    if (refuse_without_fast_crc32c() || refuse_negative(position)) {
        PyBuffer_Release(&buffer);
        return NULL;
    }
    PyObject *notes = PyList_New(0), *origins = PyList_New(0);
    int outcome = notes == NULL || origins == NULL ? -1 : 0;
    while (outcome == 0) {
        const uint8_t *data = (const uint8_t *)buffer.buf + position;
        int64_t size = plain_size(data, buffer.len - position, next_offset, leader_epoch, &room);
        if (size == 0)
            break;
        outcome = note(data, size, notes, origins);
        next_offset = read_i64(data) + read_i32(data + 23) + 1;
        room.bytes_left -= size;
        position += size;
    }
    PyBuffer_Release(&buffer);
    if (outcome != 0) {
        Py_XDECREF(notes);
        Py_XDECREF(origins);
        return NULL;
    }
    return Py_BuildValue("(NNn)", notes, origins, position);
}
