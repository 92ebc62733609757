/* The compiled twin of strandline.records.placing.place_batches_pure: the same batches, notes and identities.
 *
 * What stops it is no error: a batch that cannot be written to, say, is left to the long way, which complains. Sums of
 * 64 bits cannot overflow: deltas and counts have 32, and the limits end below the largest numbers (`Limits`). */
#include "_native_batch.h"

typedef struct {
    long long size_bytes_max, bytes_left, last_offset_max, base_timestamp_min, max_timestamp_max;
} Limits;

typedef struct {
    int64_t size, delta, max_timestamp, producer_id;
    int producer_epoch;
    int64_t sequence;
} Head;

static inline void write_u32(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}

/* Whether no rule has anything to say about the batch. */
static int is_plain(const uint8_t *data, Py_ssize_t size, int64_t base_offset, const Limits *limits, Head *head)
{
    if (size < HEAD_BYTES || size > limits->size_bytes_max || size > limits->bytes_left)
        return 0;
    int attributes = read_i16(data + 21);
    int32_t count = read_i32(data + 57);
    head->size = size;
    head->delta = read_i32(data + 23);
    head->max_timestamp = read_i64(data + 35);
    head->producer_id = read_i64(data + 43);
    head->producer_epoch = read_i16(data + 51);
    head->sequence = read_i32(data + 53);
    return data[16] == MAGIC_V2 && (int64_t)read_i32(data + 8) + LENGTH_END == size && attributes >= 0
        && attributes <= PLAIN_ATTRIBUTES_MAX && count > 0 && count == head->delta + 1
        && base_offset + head->delta <= limits->last_offset_max && read_i64(data + 27) >= limits->base_timestamp_min
        && head->max_timestamp <= limits->max_timestamp_max && (head->producer_id < 0 || head->sequence >= 0)
        && crc32c_of(data + ATTRIBUTES_POSITION, (size_t)(size - ATTRIBUTES_POSITION)) == read_u32(data + 17);
}

/* 1: placed, 0: not plain, -1: an error is set. */
static int place(PyObject *batch, long long *base_offset, int leader_epoch, Limits *limits, PyObject *notes,
                 PyObject *identities)
{
    Py_buffer buffer;
    if (PyObject_GetBuffer(batch, &buffer, PyBUF_WRITABLE) != 0) {
        PyErr_Clear();
        return 0;
    }
    Head head;
    uint8_t *data = buffer.buf;
    int is_taken = is_plain(data, buffer.len, *base_offset, limits, &head);
    if (is_taken) {
        write_u32(data, (uint32_t)((uint64_t)*base_offset >> 32));
        write_u32(data + 4, (uint32_t)*base_offset);
        write_u32(data + 12, (uint32_t)leader_epoch);
    }
    PyBuffer_Release(&buffer);
    if (!is_taken)
        return 0;
    long long last_offset = *base_offset + head.delta;
    *base_offset = last_offset + 1;
    limits->bytes_left -= head.size;
    long long identity[] = {head.producer_id, head.producer_epoch, head.sequence};
    if (note_producer(identities, PyList_GET_SIZE(notes), head.producer_id < 0 ? NULL : identity, 3) != 0)
        return -1;
    return append_new(notes, note_of(head.size, last_offset, head.max_timestamp)) != 0 ? -1 : 1;
}

PyObject *place_batches(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *sequence;
    Py_ssize_t position;
    long long base_offset;
    int leader_epoch;
    Limits limits;
    if (!PyArg_ParseTuple(arguments, "OnLi(LLLLL)", &sequence, &position, &base_offset, &leader_epoch,
                          &limits.size_bytes_max, &limits.bytes_left, &limits.last_offset_max,
                          &limits.base_timestamp_min, &limits.max_timestamp_max))
        return NULL;
    if (refuse_without_fast_crc32c() || refuse_negative(position))
        return NULL;
    PyObject *batches = PySequence_Fast(sequence, "batches come in a sequence");
    PyObject *notes = PyList_New(0), *identities = PyList_New(0);
    int outcome = batches == NULL || notes == NULL || identities == NULL ? -1 : 1;
    for (; outcome == 1 && position < PySequence_Fast_GET_SIZE(batches); position++)
        outcome = place(PySequence_Fast_GET_ITEM(batches, position), &base_offset, leader_epoch, &limits, notes,
                        identities);
    Py_XDECREF(batches);
    if (outcome < 0) {
        Py_XDECREF(notes);
        Py_XDECREF(identities);
        return NULL;
    }
    return Py_BuildValue("(NN)", notes, identities);
}
