/* SPDX-License-Identifier: MIT */
/*
 * Arrays in .npy files, the format of NumPy: versions 1 to 3, little endian, in C order. What a
 * file says is checked before it is used: it may come from anywhere.
 */
#ifndef TOOLS_NPY_H
#define TOOLS_NPY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define NPY_MAX_DIMS	32
/* Bytes of a message: one line, without a newline, that begins with the path. */
#define NPY_WHY		512
/* Bytes of a description of an array. */
#define NPY_TEXT	320

/**
 * struct npy - what an array holds
 * @kind: 'b' bool, 'i' and 'u' integers, 'f' floating point, 'c' complex, 'V' bytes: what NumPy
 *	has no type for, such as bfloat16
 * @size: bytes of an element
 * @ndim: dimensions; 0: a single element
 * @shape: elements in each, the outermost first
 */
struct npy {
	char kind;
	unsigned int size;
	unsigned int ndim;
	uint64_t shape[NPY_MAX_DIMS];
};

/* Bytes of all elements. Of an array that npy_open() has read they are less than 2^63. */
uint64_t npy_bytes(const struct npy *npy);

/* "<f4 (3, 4)": element type and shape, as NumPy writes them. */
void npy_describe(const struct npy *npy, char text[NPY_TEXT]);

/* Open an array: the stream stands at its first element. NULL: @why says what is wrong. */
FILE *npy_open(const char *path, struct npy *npy, char why[NPY_WHY]);

/* Read the elements, npy_bytes() of them, of a file that must end there. 0, or -1 with @why. */
int npy_read(FILE *file, const char *path, const struct npy *npy, void *data, char why[NPY_WHY]);

/* Write an array, over what @path was. 0, or -1 with @why; then there is no such file. */
int npy_write(const char *path, const struct npy *npy, const void *data, char why[NPY_WHY]);

#endif /* TOOLS_NPY_H */
