/* The compiled twin of strandline.records.walk.walk_records_pure: same columns, same refusals, no explanation.
 *
 * The buffers stay pinned by their Py_buffer views.
 */
#include "_native.h"
#include "_native_reader.h"

#define COLUMNS 10

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
