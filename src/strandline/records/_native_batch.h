/* What `_native_place.c` and `_native_take.c` share: numbers in the head of a batch, and lists of tuples of numbers. */
#include "_native.h"

#include <stdint.h>

#define HEAD_BYTES 61
#define LENGTH_END 12
#define ATTRIBUTES_POSITION 21
#define MAGIC_V2 2
#define PLAIN_ATTRIBUTES_MAX 4

/* No caller has one; in C it would be an address before the bytes. */
static inline int refuse_negative(Py_ssize_t position)
{
    if (position >= 0)
        return 0;
    PyErr_SetString(PyExc_ValueError, "a position is not negative");
    return 1;
}

static inline uint32_t read_u32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline int32_t read_i32(const uint8_t *at)
{
    return (int32_t)read_u32(at);
}

static inline int64_t read_i64(const uint8_t *at)
{
    return (int64_t)((uint64_t)read_u32(at) << 32 | read_u32(at + 4));
}

static inline int16_t read_i16(const uint8_t *at)
{
    return (int16_t)(at[0] << 8 | at[1]);
}

/* Takes the reference. */
static inline int append_new(PyObject *list, PyObject *item)
{
    if (item == NULL)
        return -1;
    int outcome = PyList_Append(list, item);
    Py_DECREF(item);
    return outcome;
}

/* A third of what Py_BuildValue takes. */
static inline PyObject *numbers(const long long *values, int count)
{
    PyObject *tuple = PyTuple_New(count);
    if (tuple == NULL)
        return NULL;
    for (int place = 0; place < count; place++) {
        PyObject *number = PyLong_FromLongLong(values[place]);
        if (number == NULL) {
            Py_DECREF(tuple);
            return NULL;
        }
        PyTuple_SET_ITEM(tuple, place, number);
    }
    return tuple;
}

static inline PyObject *note_of(long long size, long long last_offset, long long max_timestamp)
{
    long long values[] = {size, last_offset, max_timestamp};
    return numbers(values, 3);
}

/* As many of them as there are notes, from the first that is one; `values` is NULL where there is no producer. */
static inline int note_producer(PyObject *producers, Py_ssize_t note_count, const long long *values, int count)
{
    if (values == NULL && PyList_GET_SIZE(producers) == 0)
        return 0;
    while (PyList_GET_SIZE(producers) < note_count)
        if (PyList_Append(producers, Py_None) != 0)
            return -1;
    return values == NULL ? PyList_Append(producers, Py_None) : append_new(producers, numbers(values, count));
}
