/* SPDX-License-Identifier: MIT */
/*
 * The DRM back end's look at the machine.
 */
#ifndef LIBNRT_BACKEND_DRM_H
#define LIBNRT_BACKEND_DRM_H

#include <stdbool.h>

#include "base/error.h"

/*
 * Open the device nodes of the driver. *@fds and *@paths are arrays of *@count that the
 * caller frees, like each path.
 */
NRT_STATUS nrt_drm_open_nodes(int **fds, char ***paths, unsigned int *count,
			      struct nrt_error *error);

/* Does the machine have chips, whether or not they can be used? */
bool nrt_drm_has_chips(void);

#endif /* LIBNRT_BACKEND_DRM_H */
