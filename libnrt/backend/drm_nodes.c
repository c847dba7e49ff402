// SPDX-License-Identifier: MIT
/*
 * Finding the driver's device nodes, and saying why there are none.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xf86drm.h>

#include "backend/drm.h"
#include "drm/neuron_accel.h"
#include "neuron/generation.h"

#define NODE_FOLDER	"/dev/accel"
#define DRIVER_NAME	"neuron"

struct nodes {
	int *fds;
	char **paths;
	unsigned int count;
	unsigned int room;
	/* The last node that could not be opened, and why. */
	char refused[64];
	int error;
};

/* @ours: it is the driver's, which then has to know what this library asks for. */
static NRT_STATUS check_driver(const char *path, int fd, bool *ours, struct nrt_error *error)
{
	drmVersionPtr version = drmGetVersion(fd);
	int major, minor;

	*ours = version && !strcmp(version->name, DRIVER_NAME);
	major = version ? version->version_major : 0;
	minor = version ? version->version_minor : 0;
	drmFreeVersion(version);
	if (!*ours ||
	    (major == DRM_NEURON_DRIVER_MAJOR && minor >= DRM_NEURON_DRIVER_MINOR))
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_FAILURE,
			     "%s: the kernel module has interface %d.%d, this library needs %d.%d or a later %d: load the module that came with the library",
			     path, major, minor, DRM_NEURON_DRIVER_MAJOR, DRM_NEURON_DRIVER_MINOR,
			     DRM_NEURON_DRIVER_MAJOR);
}

static bool add_node(struct nodes *nodes, const char *path, int fd)
{
	char *copy;

	if (nodes->count == nodes->room) {
		unsigned int room = nodes->room ? nodes->room * 2 : 16;
		int *fds = reallocarray(nodes->fds, room, sizeof(*fds));
		char **paths;

		if (!fds)
			return false;
		nodes->fds = fds;
		paths = reallocarray(nodes->paths, room, sizeof(*paths));
		if (!paths)
			return false;
		nodes->paths = paths;
		nodes->room = room;
	}
	copy = strdup(path);
	if (!copy)
		return false;
	nodes->fds[nodes->count] = fd;
	nodes->paths[nodes->count] = copy;
	nodes->count++;
	return true;
}

static NRT_STATUS try_node(struct nodes *nodes, const char *name, struct nrt_error *error)
{
	NRT_STATUS status;
	char path[64];
	bool ours;
	int fd;

	if (strncmp(name, "accel", 5))
		return NRT_SUCCESS;
	snprintf(path, sizeof(path), NODE_FOLDER "/%.32s", name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		nodes->error = errno;
		snprintf(nodes->refused, sizeof(nodes->refused), "%s", path);
		return NRT_SUCCESS;
	}
	status = check_driver(path, fd, &ours, error);
	if (status || !ours) {
		close(fd);
		return status;
	}
	if (!add_node(nodes, path, fd)) {
		close(fd);
		return nrt_error_memory(error);
	}
	return NRT_SUCCESS;
}

static bool read_hex(const char *device, const char *name, unsigned int *value)
{
	char path[320];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.200s/%s", device, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	ok = fscanf(file, "%x", value) == 1;
	fclose(file);
	return ok;
}

static bool is_chip(const char *device)
{
	unsigned int vendor, id;

	return read_hex(device, "vendor", &vendor) && vendor == NEURON_PCI_VENDOR &&
	       read_hex(device, "device", &id) &&
	       (id == neuron_gen_trn1.pci_device || id == neuron_gen_inf2.pci_device ||
		id == neuron_gen_trn2.pci_device || id == neuron_gen_trn3.pci_device);
}

static unsigned int count_chips(void)
{
	DIR *folder = opendir("/sys/bus/pci/devices");
	unsigned int count = 0;
	struct dirent *entry;

	if (!folder)
		return 0;
	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.' && is_chip(entry->d_name))
			count++;
	closedir(folder);
	return count;
}

bool nrt_drm_has_chips(void)
{
	return count_chips();
}

static void group_name(gid_t gid, char *name, size_t size)
{
	struct group group, *found = NULL;
	char room[1024];

	snprintf(name, size, "%u", gid);
	if (!getgrgid_r(gid, &group, room, sizeof(room), &found) && found)
		snprintf(name, size, "%s", found->gr_name);
}

/* Is there a group that the user could join, or has nobody given the node to one? */
static NRT_STATUS explain_permission(const char *path, struct nrt_error *error)
{
	char group[64];
	struct stat st;

	if (stat(path, &st) || !st.st_gid || (st.st_mode & 0060) != 0060)
		return nrt_error_set(error, NRT_FAILURE,
				     "no permission to open %s, which only root has: a udev rule gives it to a group: SUBSYSTEM==\"accel\", GROUP=\"render\", MODE=\"0660\"",
				     path);
	group_name(st.st_gid, group, sizeof(group));
	return nrt_error_set(error, NRT_FAILURE,
			     "no permission to open %s, which belongs to group %s: run usermod -aG %s USER, and log in again",
			     path, group, group);
}

static NRT_STATUS explain(const struct nodes *nodes, struct nrt_error *error)
{
	unsigned int chips = count_chips();

	if (nodes->refused[0] && (nodes->error == EACCES || nodes->error == EPERM))
		return explain_permission(nodes->refused, error);
	if (nodes->refused[0])
		return nrt_error_set(error, NRT_FAILURE, "no Neuron device: cannot open %s: %s",
				     nodes->refused, strerror(nodes->error));
	if (!chips)
		return nrt_error_set(error, NRT_FAILURE,
				     "no Neuron device: the machine has no Trainium chip (PCI vendor 0x%04x); NEURON_RT_BACKEND=embedded emulates chips in the process",
				     NEURON_PCI_VENDOR);
	if (access("/sys/module/" DRIVER_NAME, F_OK))
		return nrt_error_set(error, NRT_FAILURE,
				     "no Neuron device: %u chips, but the kernel module is not loaded: run modprobe neuron",
				     chips);
	return nrt_error_set(error, NRT_FAILURE,
			     "no Neuron device: %u chips and the module is loaded, but %s has no node: see dmesg",
			     chips, NODE_FOLDER);
}

NRT_STATUS nrt_drm_open_nodes(int **fds, char ***paths, unsigned int *count,
			      struct nrt_error *error)
{
	struct nodes nodes = { .fds = NULL };
	DIR *folder = opendir(NODE_FOLDER);
	NRT_STATUS status = NRT_SUCCESS;
	struct dirent *entry;

	while (folder && !status && (entry = readdir(folder)))
		status = try_node(&nodes, entry->d_name, error);
	if (folder)
		closedir(folder);
	if (!status && !nodes.count)
		status = explain(&nodes, error);
	if (status) {
		while (nodes.count--) {
			close(nodes.fds[nodes.count]);
			free(nodes.paths[nodes.count]);
		}
		free(nodes.fds);
		free(nodes.paths);
		return status;
	}
	*fds = nodes.fds;
	*paths = nodes.paths;
	*count = nodes.count;
	return NRT_SUCCESS;
}
