/* The optional compiled module: what is in it, and nothing else. */
#include "_native.h"

static PyMethodDef methods[] = {
    {"walk_records", walk_records, METH_VARARGS, "walk_records(section, count, columns) -> is the section sound"},
    {"find_batches", find_batches, METH_VARARGS,
     "find_batches(received, before, after, is_flexible, frame_bytes_max) -> batches, correlation ids, end"},
    {"place_batches", place_batches, METH_VARARGS,
     "place_batches(batches, start, base_offset, leader_epoch, limits) -> notes, identities; only where HAS_FAST_CRC32C"},
    {"take_batches", take_batches, METH_VARARGS,
     "take_batches(data, position, next_offset, leader_epoch, room) -> notes, origins, end; only where HAS_FAST_CRC32C"},
    {"append_columns", append_columns, METH_VARARGS,
     "append_columns(section, batch, cursor, buffers) -> DONE, UNSOUND, or the number of the buffer that is too small"},
    {"crc32c", fast_crc32c, METH_O, "crc32c(data) -> CRC-32C; only where HAS_FAST_CRC32C"},
    {"crc32c_by_instruction", narrow_crc32c, METH_O,
     "crc32c_by_instruction(data) -> the same, as a processor without AVX-512 does it"},
    {NULL, NULL, 0, NULL},
};

static int execute(PyObject *module)
{
    return PyModule_AddObjectRef(module, "HAS_FAST_CRC32C", has_fast_crc32c() ? Py_True : Py_False);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_native", .m_size = 0, .m_methods = methods, .m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
