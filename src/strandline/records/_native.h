/* The functions of the optional compiled module. Each has a twin that needs no compiler, and a test that holds the two
 * equal. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

PyObject *walk_records(PyObject *module, PyObject *arguments);
PyObject *append_columns(PyObject *module, PyObject *arguments);
PyObject *fast_crc32c(PyObject *module, PyObject *data);
PyObject *narrow_crc32c(PyObject *module, PyObject *data);
PyObject *find_batches(PyObject *module, PyObject *arguments);
PyObject *place_batches(PyObject *module, PyObject *arguments);
PyObject *take_batches(PyObject *module, PyObject *arguments);

int has_fast_crc32c(void);
int refuse_without_fast_crc32c(void); /* with an exception, then */
uint32_t crc32c_of(const uint8_t *data, size_t size); /* only where has_fast_crc32c */
