// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

NRT_STATUS nrt_error_set(struct nrt_error *error, NRT_STATUS status, const char *format, ...)
{
	va_list args;

	error->status = status;
	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return status;
}

NRT_STATUS nrt_error_memory(struct nrt_error *error)
{
	return nrt_error_set(error, NRT_RESOURCE, "out of host memory");
}

const char *nrt_error_why(int number)
{
	if (number == EMFILE)
		return "too many open files; raise the limit (ulimit -n)";
	return strerror(number);
}
