// SPDX-License-Identifier: MIT
/*
 * Which cores a process gets, and what it is told when it gets none.
 */
#include <glob.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "rig.h"

static NRT_STATUS init(void)
{
	return nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
}

/* What init() gives in another process of @user; its line goes to @line. */
static NRT_STATUS init_of_user(uid_t user, char *line, size_t size)
{
	int pipe_fds[2], status;
	ssize_t length;
	pid_t pid;

	if (pipe(pipe_fds))
		return -1;
	pid = fork();
	if (!pid) {
		dup2(pipe_fds[1], STDERR_FILENO);
		if (user != geteuid() && (setgroups(0, NULL) || setgid(user) || setuid(user)))
			_exit(254);
		/* A fresh image: the library's state does not survive a fork. */
		execl("/proc/self/exe", "test_nrt_claim", "--init", NULL);
		_exit(255);
	}
	close(pipe_fds[1]);
	length = read(pipe_fds[0], line, size - 1);
	line[length < 0 ? 0 : length] = '\0';
	close(pipe_fds[0]);
	waitpid(pid, &status, 0);
	/* An exit status has 8 bits; the codes in question differ in them. */
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static NRT_STATUS init_elsewhere(char *line, size_t size)
{
	return init_of_user(geteuid(), line, size);
}

#define low_bits(status)	((status) & 0xff)

FIXTURE(cores)
{
	uint32_t total;
	char line[1024];
};

FIXTURE_SETUP(cores)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	unsetenv("NEURON_RT_VISIBLE_CORES");
	unsetenv("NEURON_RT_NUM_CORES");
	ASSERT_EQ(NRT_SUCCESS, nrt_get_total_vnc_count(&self->total));
	if (self->total < 4)
		SKIP(return, "needs four cores");
}

FIXTURE_TEARDOWN(cores)
{
	nrt_close();
}

TEST_F(cores, all)
{
	uint32_t count = 0;

	ASSERT_EQ(NRT_SUCCESS, init());
	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&count));
	EXPECT_EQ(self->total, count);
	ASSERT_EQ(NRT_SUCCESS, nrt_get_total_nc_count(&count));
	EXPECT_EQ(self->total, count);
}

TEST_F(cores, visible)
{
	uint32_t count = 0;

	setenv("NEURON_RT_VISIBLE_CORES", "1-2", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&count));
	EXPECT_EQ(2, count);
	ASSERT_EQ(NRT_SUCCESS, init());
	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&count));
	EXPECT_EQ(2, count);
	ASSERT_EQ(NRT_SUCCESS, nrt_get_total_vnc_count(&count));
	EXPECT_EQ(self->total, count);
}

TEST_F(cores, across_chips)
{
	uint32_t count = 0;
	struct rig rig;
	float x[RIG_VALUES], y[RIG_VALUES];

	if (rig_chips() < 2)
		SKIP(return, "needs two chips");
	snprintf(self->line, sizeof(self->line), "%u-%u", self->total / rig_chips() - 1,
		 self->total / rig_chips());
	setenv("NEURON_RT_VISIBLE_CORES", self->line, 1);
	ASSERT_EQ(NRT_SUCCESS, init());
	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&count));
	EXPECT_EQ(2, count);
	rig_ramp(x, 0.0f);
	ASSERT_EQ(NRT_SUCCESS, rig_load(&rig, program_scale(1), 1, 0, 0));
	EXPECT_EQ(NRT_SUCCESS, rig_run(&rig, x, y));
	EXPECT_EQ(2 * x[7] + 1, y[7]);
	rig_unload(&rig);
}

TEST_F(cores, busy)
{
	char pid[16];

	if (rig_embedded())
		SKIP(return, "nobody outside sees the chips of a process");

	setenv("NEURON_RT_VISIBLE_CORES", "0-1", 1);
	ASSERT_EQ(NRT_SUCCESS, init());
	setenv("NEURON_RT_VISIBLE_CORES", "1,2", 1);
	EXPECT_EQ(low_bits(NRT_EXEC_NC_BUSY), init_elsewhere(self->line, sizeof(self->line)));
	snprintf(pid, sizeof(pid), "%d", getpid());
	EXPECT_TRUE(rig_has(self->line, "core 1 ")) TH_LOG("%s", self->line);
	EXPECT_TRUE(rig_has(self->line, pid)) TH_LOG("%s", self->line);
	EXPECT_TRUE(rig_has(self->line, "(test_nrt_claim)")) TH_LOG("%s", self->line);
	/* Others are free. */
	setenv("NEURON_RT_VISIBLE_CORES", "2-3", 1);
	EXPECT_EQ(NRT_SUCCESS, init_elsewhere(self->line, sizeof(self->line)))
		TH_LOG("%s", self->line);
	/* So is everything after a close. */
	nrt_close();
	setenv("NEURON_RT_VISIBLE_CORES", "0-3", 1);
	EXPECT_EQ(NRT_SUCCESS, init_elsewhere(self->line, sizeof(self->line)))
		TH_LOG("%s", self->line);
}

TEST_F(cores, number)
{
	char text[16];

	if (rig_embedded())
		SKIP(return, "nobody outside sees the chips of a process");

	setenv("NEURON_RT_NUM_CORES", "2", 1);
	ASSERT_EQ(NRT_SUCCESS, init());
	EXPECT_EQ(NRT_SUCCESS, init_elsewhere(self->line, sizeof(self->line)))
		TH_LOG("%s", self->line);
	snprintf(text, sizeof(text), "%u", self->total - 1);
	setenv("NEURON_RT_NUM_CORES", text, 1);
	EXPECT_EQ(NRT_RESOURCE, init_elsewhere(self->line, sizeof(self->line)));
	EXPECT_TRUE(rig_has(self->line, "NEURON_RT_NUM_CORES")) TH_LOG("%s", self->line);
}

FIXTURE(environment)
{
	int unused;
};

FIXTURE_VARIANT(environment)
{
	const char *name;
	const char *value;
};

FIXTURE_VARIANT_ADD(environment, far_core) {
	.name = "NEURON_RT_VISIBLE_CORES",
	.value = "60000",
};

FIXTURE_VARIANT_ADD(environment, holes) {
	.name = "NEURON_RT_VISIBLE_CORES",
	.value = "0,2",
};

FIXTURE_VARIANT_ADD(environment, words) {
	.name = "NEURON_RT_VISIBLE_CORES",
	.value = "all",
};

FIXTURE_VARIANT_ADD(environment, too_many) {
	.name = "NEURON_RT_NUM_CORES",
	.value = "60000",
};

FIXTURE_VARIANT_ADD(environment, no_number) {
	.name = "NEURON_RT_EXEC_TIMEOUT",
	.value = "soon",
};

FIXTURE_VARIANT_ADD(environment, logical_cores) {
	.name = "NEURON_LOGICAL_NC_CONFIG",
	.value = "3",
};

FIXTURE_VARIANT_ADD(environment, no_truth) {
	.name = "NEURON_RT_VALIDATE_HASH",
	.value = "maybe",
};

FIXTURE_VARIANT_ADD(environment, log_in_a_file) {
	.name = "NEURON_RT_LOG_LOCATION",
	.value = "/var/log/nrt.log",
};

FIXTURE_VARIANT_ADD(environment, memory_table) {
	.name = "NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG",
	.value = "verbose",
};

FIXTURE_SETUP(environment)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
}

FIXTURE_TEARDOWN(environment)
{
}

TEST_F(environment, is_refused)
{
	const char *line;

	setenv(variant->name, variant->value, 1);
	rig_catch();
	EXPECT_EQ(NRT_INVALID, init());
	line = rig_caught();
	EXPECT_TRUE(rig_has(line, variant->name)) TH_LOG("%s", line);
	unsetenv(variant->name);
	EXPECT_EQ(NRT_SUCCESS, init());
	nrt_close();
}

/* A line for each variable that does nothing. */
TEST_F(cores, variables_without_effect)
{
	const char *text;

	setenv("NEURON_RT_NUM_CORE", "2", 1);
	setenv("NEURON_RT_RESET_CORES", "0", 1);
	setenv("NEURON_RT_LOG_LEVEL", "ERROR", 1);
	rig_catch();
	EXPECT_EQ(NRT_SUCCESS, init());
	text = rig_caught();
	unsetenv("NEURON_RT_NUM_CORE");
	unsetenv("NEURON_RT_RESET_CORES");
	EXPECT_TRUE(rig_has(text, "WARNING NRT:nrt_init NEURON_RT_NUM_CORE is set, but"))
		TH_LOG("%s", text);
	EXPECT_TRUE(rig_has(text, "NRT:nrt_init NEURON_RT_RESET_CORES=0 has no effect: "))
		TH_LOG("%s", text);
}

/* The driver is asked for, and there are chips or none. */
TEST(without_chips)
{
	bool embedded = rig_embedded();
	const char *line;

	setenv("NEURON_RT_BACKEND", "drm", 1);
	rig_catch();
	EXPECT_EQ(embedded && !rig_chips() ? NRT_FAILURE : NRT_SUCCESS, init());
	line = rig_caught();
	if (embedded && !rig_chips()) {
		EXPECT_TRUE(rig_has(line, "no Neuron device: the machine has no Trainium chip"));
		EXPECT_TRUE(rig_has(line, "NEURON_RT_BACKEND=embedded")) TH_LOG("%s", line);
	}
	nrt_close();
}

/* One line says that chips are emulated, and how many; of a driver's there is none. */
TEST(emulated_chips_are_announced)
{
	char words[32];
	const char *line;

	if (!rig_chips())
		SKIP(return, "no neuron device");
	snprintf(words, sizeof(words), "%u emulated", rig_chips());
	unsetenv("NEURON_EMU_QUIET");
	rig_catch();
	ASSERT_EQ(NRT_SUCCESS, init());
	line = rig_caught();
	EXPECT_EQ(rig_embedded(), rig_has(line, words)) TH_LOG("%s", line);
	nrt_close();
	setenv("NEURON_EMU_QUIET", "1", 1);
	rig_catch();
	ASSERT_EQ(NRT_SUCCESS, init());
	line = rig_caught();
	EXPECT_FALSE(rig_has(line, "emulated")) TH_LOG("%s", line);
	nrt_close();
	unsetenv("NEURON_EMU_QUIET");
}

/* NEURON_RT_BACKEND=auto emulates chips where the machine has none. */
TEST(auto_without_chips)
{
	const char *line;

	setenv("NEURON_RT_BACKEND", "auto", 1);
	rig_catch();
	EXPECT_EQ(NRT_SUCCESS, init());
	line = rig_caught();
	EXPECT_EQ(!access("/dev/accel", F_OK), !rig_has(line, "emulated")) TH_LOG("%s", line);
	nrt_close();
}

static void own_nodes(gid_t group, mode_t mode)
{
	glob_t nodes = { 0 };
	size_t i;

	if (glob("/dev/accel/accel*", 0, NULL, &nodes))
		return;
	for (i = 0; i < nodes.gl_pathc; i++)
		if (chown(nodes.gl_pathv[i], 0, group) || chmod(nodes.gl_pathv[i], mode))
			perror(nodes.gl_pathv[i]);
	globfree(&nodes);
}

/* A user who may not open the nodes is told what to do. */
TEST_F(cores, without_permission)
{
	const uid_t nobody = 65534;

	if (rig_embedded())
		SKIP(return, "nobody outside sees the chips of a process");
	own_nodes(0, 0600);
	EXPECT_EQ(NRT_FAILURE, init_of_user(nobody, self->line, sizeof(self->line)));
	EXPECT_TRUE(rig_has(self->line, "no permission to open /dev/accel/accel"));
	EXPECT_TRUE(rig_has(self->line, "a udev rule")) TH_LOG("%s", self->line);
	/* Chips that are there are not replaced by others. */
	setenv("NEURON_RT_BACKEND", "auto", 1);
	EXPECT_EQ(NRT_FAILURE, init_of_user(nobody, self->line, sizeof(self->line)));
	EXPECT_TRUE(rig_has(self->line, "no permission to open")) TH_LOG("%s", self->line);
	unsetenv("NEURON_RT_BACKEND");
	own_nodes(4242, 0660);
	EXPECT_EQ(NRT_FAILURE, init_of_user(nobody, self->line, sizeof(self->line)));
	EXPECT_TRUE(rig_has(self->line, "which belongs to group 4242: run usermod -aG 4242 USER"))
		TH_LOG("%s", self->line);
	own_nodes(0, 0600);
	EXPECT_EQ(NRT_SUCCESS, init_elsewhere(self->line, sizeof(self->line)))
		TH_LOG("%s", self->line);
}

/* The last test of the file: it takes the driver away for a moment. */
TEST_F(cores, without_the_module)
{
	const char *line;

	if (rig_embedded())
		SKIP(return, "nobody outside sees the chips of a process");
	if (system("modprobe -r neuron"))
		SKIP(return, "the module cannot be unloaded now");
	rig_catch();
	EXPECT_EQ(NRT_FAILURE, init());
	line = rig_caught();
	EXPECT_TRUE(rig_has(line, "modprobe neuron")) TH_LOG("%s", line);
	ASSERT_EQ(0, system("modprobe neuron"));
	EXPECT_EQ(NRT_SUCCESS, init());
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--init"))
		return low_bits(init());
	return test_harness_run(argc, argv);
}
