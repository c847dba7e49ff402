// SPDX-License-Identifier: MIT
/*
 * A stand-in for the package ml_dtypes: the types that NumPy lacks, as types of NumPy's C
 * interface, which convert from and to its numbers and do nothing else. Debian has no such
 * package; what the front end does with it is tested with this one.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

/* NumPy 2 registers a type by a structure of its own, which has the same members. */
#if NPY_ABI_VERSION < 0x02000000
#define PyArray_DescrProto PyArray_Descr
#endif

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * struct format - a type
 * @exponent, @mantissa, @bias: bits of an element, of which the sign is one more
 * @infinite: the largest exponent has an infinity and NaNs; else the last element is the one NaN
 * @kind, @code: what NumPy asks for; one of these types has the kind of its own floats
 */
struct format {
	const char *name;
	unsigned int exponent;
	unsigned int mantissa;
	int bias;
	bool infinite;
	char kind;
	char code;
};

static const struct format formats[] = {
	{ "ml_dtypes.bfloat16", 8, 7, 127, true, 'V', 'E' },
	{ "ml_dtypes.float8_e4m3", 4, 3, 7, true, 'V', '7' },
	{ "ml_dtypes.float8_e5m2", 5, 2, 15, true, 'f', '5' },
	{ "ml_dtypes.float8_e4m3fn", 4, 3, 7, false, 'V', '4' },
};

#define NR_FORMATS	(sizeof(formats) / sizeof(formats[0]))

static int numbers[NR_FORMATS];

static unsigned int bits_of(const struct format *format)
{
	return format->exponent + format->mantissa;
}

static unsigned int size_of(const struct format *format)
{
	return (1 + bits_of(format)) / 8;
}

static double decoded(const struct format *format, uint32_t bits)
{
	uint32_t top = (1u << format->exponent) - 1, last = (1u << format->mantissa) - 1;
	double sign = bits >> bits_of(format) ? -1.0 : 1.0;
	uint32_t e = bits >> format->mantissa & top, m = bits & last;
	int scale = -format->bias - (int)format->mantissa;

	if (format->infinite && e == top)
		return m ? NAN : sign * INFINITY;
	if (!format->infinite && e == top && m == last)
		return NAN;
	if (!e)
		return sign * ldexp(m, scale + 1);
	return sign * ldexp(m + last + 1, scale + (int)e);
}

/* To the nearest element, of two as near to the even one. Elements ascend with their bits. */
static uint32_t encoded(const struct format *format, double value)
{
	uint32_t sign = signbit(value) ? 1u << bits_of(format) : 0;
	uint32_t end = 1u << bits_of(format), low = 0, high = end - 1, middle;
	double size = fabs(value), gap;

	if (isnan(value))
		return sign | (end - 1);
	if (format->infinite)
		high = ((1u << format->exponent) - 1) << format->mantissa;
	middle = high - 1;
	gap = decoded(format, middle) - decoded(format, middle - 1);
	gap = size - decoded(format, middle) - gap / 2;
	if (gap > 0 || (gap == 0 && middle & 1))
		return sign | high;
	high = middle;
	while (high - low > 1) {
		middle = low + (high - low) / 2;
		if (decoded(format, middle) <= size)
			low = middle;
		else
			high = middle;
	}
	gap = (size - decoded(format, low)) - (decoded(format, high) - size);
	return sign | (gap < 0 || (gap == 0 && !(low & 1)) ? low : high);
}

static const struct format *format_of(void *array)
{
	int number = PyArray_DESCR((PyArrayObject *)array)->type_num;
	size_t i;

	for (i = 0; i < NR_FORMATS; i++)
		if (numbers[i] == number)
			return &formats[i];
	return NULL;
}

static uint32_t read_bits(const struct format *format, const char *at)
{
	uint32_t bits = 0;

	memcpy(&bits, at, size_of(format));
	return bits;
}

static PyObject *get_item(void *at, void *array)
{
	const struct format *format = format_of(array);

	return PyFloat_FromDouble(decoded(format, read_bits(format, at)));
}

static int set_item(PyObject *item, void *at, void *array)
{
	const struct format *format = format_of(array);
	double value = PyFloat_AsDouble(item);
	uint32_t bits;

	if (value == -1.0 && PyErr_Occurred())
		return -1;
	bits = encoded(format, value);
	memcpy(at, &bits, size_of(format));
	return 0;
}

static npy_bool is_not_zero(void *at, void *array)
{
	const struct format *format = format_of(array);

	return decoded(format, read_bits(format, at)) != 0;
}

static void copy(void *to, void *from, int swap, void *array)
{
	char *bytes = to, first;
	unsigned int size = size_of(format_of(array));

	if (from)
		memcpy(to, from, size);
	if (swap && size == 2) {
		first = bytes[0];
		bytes[0] = bytes[1];
		bytes[1] = first;
	}
}

static void copy_all(void *to, npy_intp to_step, void *from, npy_intp from_step, npy_intp count,
		     int swap, void *array)
{
	npy_intp i;

	for (i = 0; i < count; i++)
		copy((char *)to + i * to_step, from ? (char *)from + i * from_step : NULL, swap,
		     array);
}

static int number_of(void *array)
{
	return PyArray_DESCR((PyArrayObject *)array)->type_num;
}

/* Numbers of NumPy become elements. */
static void from_numbers(void *from, void *to, npy_intp count, void *from_array, void *to_array)
{
	const struct format *format = format_of(to_array);
	int number = number_of(from_array);
	uint32_t bits;
	double value;
	npy_intp i;

	for (i = 0; i < count; i++) {
		if (number == NPY_FLOAT)
			value = ((npy_float *)from)[i];
		else if (number == NPY_DOUBLE)
			value = ((npy_double *)from)[i];
		else
			value = ((npy_int64 *)from)[i];
		bits = encoded(format, value);
		memcpy((char *)to + i * size_of(format), &bits, size_of(format));
	}
}

static void to_numbers(void *from, void *to, npy_intp count, void *from_array, void *to_array)
{
	const struct format *format = format_of(from_array);
	int number = number_of(to_array);
	double value;
	npy_intp i;

	for (i = 0; i < count; i++) {
		value = decoded(format, read_bits(format, (char *)from + i * size_of(format)));
		if (number == NPY_FLOAT)
			((npy_float *)to)[i] = value;
		else if (number == NPY_DOUBLE)
			((npy_double *)to)[i] = value;
		else
			((npy_int64 *)to)[i] = value;
	}
}

/* Those that arrays are converted from and to. */
static const int plain[] = { NPY_FLOAT, NPY_DOUBLE, NPY_INT64 };

static PyArray_ArrFuncs functions;
static PyArray_DescrProto descriptions[NR_FORMATS];

static PyObject *new_type(const struct format *format)
{
	PyType_Slot slots[] = { { 0, NULL } };
	PyType_Spec spec = {
		.name = format->name,
		.flags = Py_TPFLAGS_DEFAULT,
		.slots = slots,
	};
	PyObject *bases = PyTuple_Pack(1, &PyGenericArrType_Type), *type = NULL;

	if (bases)
		type = PyType_FromSpecWithBases(&spec, bases);
	Py_XDECREF(bases);
	return type;
}

static int add_type(PyObject *module, size_t i)
{
	const struct format *format = &formats[i];
	PyArray_DescrProto *description = &descriptions[i];
	PyObject *type = new_type(format);
	PyArray_Descr *registered;
	int error;

	if (!type)
		return -1;
	*description = (PyArray_DescrProto){
		PyObject_HEAD_INIT(&PyArrayDescr_Type)
		.typeobj = (PyTypeObject *)type,
		.kind = format->kind,
		.type = format->code,
		.byteorder = '=',
		.flags = NPY_NEEDS_PYAPI | NPY_USE_GETITEM | NPY_USE_SETITEM,
		.elsize = size_of(format),
		.alignment = size_of(format),
		.f = &functions,
		.hash = -1,
	};
	numbers[i] = PyArray_RegisterDataType(description);
	if (numbers[i] < 0)
		return -1;
	registered = PyArray_DescrFromType(numbers[i]);
	error = PyObject_SetAttrString(type, "dtype", (PyObject *)registered);
	Py_DECREF(registered);
	if (error)
		return -1;
	return PyModule_AddObject(module, strchr(format->name, '.') + 1, type);
}

static int add_casts(size_t i)
{
	PyArray_Descr *registered = PyArray_DescrFromType(numbers[i]);
	int error = 0;
	size_t j;

	for (j = 0; !error && j < sizeof(plain) / sizeof(plain[0]); j++)
		error = PyArray_RegisterCastFunc(PyArray_DescrFromType(plain[j]), numbers[i],
						 from_numbers) ||
			PyArray_RegisterCastFunc(registered, plain[j], to_numbers);
	Py_DECREF(registered);
	return error;
}

PyMODINIT_FUNC PyInit_ml_dtypes(void)
{
	static struct PyModuleDef definition = {
		PyModuleDef_HEAD_INIT,
		.m_name = "ml_dtypes",
		.m_size = -1,
	};
	PyObject *module;
	size_t i;

	import_array();
	PyArray_InitArrFuncs(&functions);
	functions.getitem = get_item;
	functions.setitem = set_item;
	functions.nonzero = is_not_zero;
	functions.copyswap = copy;
	functions.copyswapn = copy_all;
	module = PyModule_Create(&definition);
	for (i = 0; module && i < NR_FORMATS; i++)
		if (add_type(module, i) < 0 || add_casts(i))
			return NULL;
	return module;
}
