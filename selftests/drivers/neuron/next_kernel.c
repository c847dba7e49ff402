// SPDX-License-Identifier: MIT
/*
 * Start another kernel at once, with the command line of this one, for
 * selftests/vm/test_recovery.py: what runs goes on to the last moment.
 *
 *	next_kernel KERNEL INITRD
 */
#include <fcntl.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char line[2048] = "";
	int kernel, initrd;
	size_t size;
	FILE *f;

	if (argc != 3) {
		fprintf(stderr, "next_kernel: which kernel and initramfs?\n");
		return 2;
	}
	kernel = open(argv[1], O_RDONLY | O_CLOEXEC);
	initrd = open(argv[2], O_RDONLY | O_CLOEXEC);
	f = fopen("/proc/cmdline", "re");
	if (kernel < 0 || initrd < 0 || !f) {
		perror("next_kernel");
		return 1;
	}
	size = fread(line, 1, sizeof(line) - 1, f);
	line[size] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (syscall(SYS_kexec_file_load, kernel, initrd, strlen(line) + 1, line,
		    0ul)) {
		perror("next_kernel: kexec_file_load");
		return 1;
	}
	sync();
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
		LINUX_REBOOT_CMD_KEXEC, NULL);
	perror("next_kernel: reboot");
	return 1;
}
