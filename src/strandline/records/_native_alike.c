/* The compiled twin of strandline.records.alike.find_batches_pure. All positions stay within the received bytes. */
#include "_native.h"

#include <string.h>

#define SIZE_BYTES 4
#define CORRELATION_POSITION 4 /* in a frame */
#define CORRELATION_END 8
#define TAGS_BYTES 3
#define HEAD_BYTES 61
#define MAGIC_POSITION 16
#define MAGIC_V2 2
#define ATTRIBUTES_END 22
#define TRANSACTIONAL 0x10

typedef struct {
    Py_buffer before, after;
    int is_flexible;
    long long frame_bytes_max;
} Likeness;

static inline uint32_t read_u32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Where the records of a frame begin whose length stands at `at`, and where they end; 0 where they do not fill it.
 * At least HEAD_BYTES follow `at`. */
static int find_records(const uint8_t *data, Py_ssize_t at, Py_ssize_t frame_end, int is_flexible, Py_ssize_t *start,
                        Py_ssize_t *end)
{
    if (!is_flexible) {
        *start = at + 4;
        *end = frame_end;
        return (int64_t)(int32_t)read_u32(data + at) == *end - *start;
    }
    uint32_t length = 0;
    int width = 0;
    for (; width < 3; width++) {
        length |= (uint32_t)(data[at + width] & 0x7F) << (7 * width);
        if (data[at + width] < 0x80)
            break;
    }
    *start = at + width + 1;
    *end = frame_end - TAGS_BYTES;
    return width < 3 && (int64_t)length - 1 == *end - *start && !data[*end] && !data[*end + 1] && !data[*end + 2];
}

/* Whether the frame at `position` is alike, and has a batch that a lane may take. */
static int is_alike(const uint8_t *data, Py_ssize_t position, Py_ssize_t frame_end, const Likeness *likeness,
                    Py_ssize_t *start, Py_ssize_t *end)
{
    const uint8_t *frame = data + position + SIZE_BYTES;
    if (memcmp(frame, likeness->before.buf, (size_t)likeness->before.len) != 0
        || memcmp(frame + CORRELATION_END, likeness->after.buf, (size_t)likeness->after.len) != 0)
        return 0;
    Py_ssize_t at = position + SIZE_BYTES + CORRELATION_END + likeness->after.len;
    return find_records(data, at, frame_end, likeness->is_flexible, start, end) && *end - *start >= HEAD_BYTES
        && data[*start + MAGIC_POSITION] == MAGIC_V2 && !(data[*start + ATTRIBUTES_END] & TRANSACTIONAL);
}

static int append_new(PyObject *list, PyObject *item)
{
    if (item == NULL)
        return -1;
    int outcome = PyList_Append(list, item);
    Py_DECREF(item);
    return outcome;
}

/* Where the first frame begins that is not alike, or -1 with an error set. */
static Py_ssize_t find(PyObject *received, const Py_buffer *bytes, const Likeness *likeness, PyObject *batches,
                       PyObject *correlation_ids)
{
    const uint8_t *data = bytes->buf;
    Py_ssize_t position = 0, size_min = CORRELATION_END + likeness->after.len + HEAD_BYTES;
    while (bytes->len - position >= SIZE_BYTES + size_min) {
        int64_t size = (int32_t)read_u32(data + position);
        Py_ssize_t frame_end = position + SIZE_BYTES + (Py_ssize_t)size, start, end;
        if (size < size_min || size > likeness->frame_bytes_max || frame_end > bytes->len
            || !is_alike(data, position, frame_end, likeness, &start, &end))
            break;
        long correlation_id = (int32_t)read_u32(data + position + SIZE_BYTES + CORRELATION_POSITION);
        if (append_new(batches, PySequence_GetSlice(received, start, end)) != 0
            || append_new(correlation_ids, PyLong_FromLong(correlation_id)) != 0)
            return -1;
        position = frame_end;
    }
    return position;
}

PyObject *find_batches(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *received;
    Likeness likeness;
    Py_buffer bytes;
    if (!PyArg_ParseTuple(arguments, "Oy*y*pL", &received, &likeness.before, &likeness.after, &likeness.is_flexible,
                          &likeness.frame_bytes_max))
        return NULL;
    PyObject *batches = PyList_New(0), *correlation_ids = PyList_New(0);
    Py_ssize_t position = -1;
    if (batches != NULL && correlation_ids != NULL && PyObject_GetBuffer(received, &bytes, PyBUF_SIMPLE) == 0) {
        if (likeness.before.len == CORRELATION_POSITION)
            position = find(received, &bytes, &likeness, batches, correlation_ids);
        else
            PyErr_SetString(PyExc_ValueError, "a frame has four bytes before its correlation id");
        PyBuffer_Release(&bytes);
    }
    PyBuffer_Release(&likeness.before);
    PyBuffer_Release(&likeness.after);
    if (position >= 0)
        return Py_BuildValue("(NNn)", batches, correlation_ids, position);
    Py_XDECREF(batches);
    Py_XDECREF(correlation_ids);
    return NULL;
}
