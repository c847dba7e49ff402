// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * A function: what it is by default, its identity and its capabilities.
 */
#include <linux/pci_regs.h>
#include <stdio.h>
#include <string.h>

#include "function/trn_function_private.h"
#include "neuron/address.h"

#define CLASS_ACCELERATOR	0x1200

#define MIB			(1ull << 20)
#define HBM_MIN			(32 * MIB)
#define INLINE_US		20
#define INLINE_US_SILICON	1000
#define INLINE_US_MAX		1000	/* a host may hold its locks for so long */
#define RESET_US_SILICON	150000
#define RESET_US_MAX		10000000

/* --- defaults --- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool complete_bar4(struct trn_function_config *config, char *why)
{
	const struct neuron_gen *gen = config->chip.gen;
	uint64_t size = config->bar4_size;

	if (!size)
		size = config->silicon ? gen->bar4_silicon : gen->bar4_platform;
	config->bar4_size = size;
	config->chip.bar4_stride = size / gen->nr_hbm;
	if (!(size & (size - 1)) && size >= gen->nr_hbm * HBM_MIN)
		return true;
	snprintf(why, TRN_FUNCTION_WHY, "bar4-size must be a power of two of at least %llu MiB",
		 gen->nr_hbm * HBM_MIN / MIB);
	return false;
}

/*
 * In platform mode the public driver takes an equal part of BAR4 for the size of a stack, and
 * allocates from its end: all of it is memory.
 */
static bool complete_hbm(struct trn_function_config *config, char *why)
{
	struct trn_chip_config *chip = &config->chip;
	const struct neuron_gen *gen = chip->gen;

	if (!chip->hbm_size) {
		chip->hbm_told = least(gen->hbm_active, chip->bar4_stride);
		chip->hbm_size = config->silicon ? chip->hbm_told :
						   least(gen->hbm_window, chip->bar4_stride);
	}
	if (chip->hbm_size < HBM_MIN) {
		snprintf(why, TRN_FUNCTION_WHY,
			 "hbm-size must be at least %llu MiB: drivers keep the first 16 MiB of a stack for themselves",
			 HBM_MIN / MIB);
		return false;
	}
	if (chip->hbm_size > chip->bar4_stride) {
		snprintf(why, TRN_FUNCTION_WHY,
			 "hbm-size does not fit: bar4-size leaves %llu MiB for each of %u stacks",
			 (unsigned long long)(chip->bar4_stride / MIB), gen->nr_hbm);
		return false;
	}
	return true;
}

static bool complete_ids(struct trn_chip_config *chip, char *why)
{
	const uint32_t place = chip->position & 0xff;

	if (chip->fabric_id == TRN_FUNCTION_AUTO)
		chip->fabric_id = neuron_fabric_id(chip->position >> 16 & 0xff,
						   chip->position >> 8 & 0xff, place);
	if (chip->routing_id == TRN_FUNCTION_AUTO)
		chip->routing_id = neuron_routing_id(chip->gen, place & 63);
	if (!chip->serial)
		chip->serial = neuron_serial(chip->gen, chip->fabric_id);
	if (chip->routing_id <= 63)
		return true;
	snprintf(why, TRN_FUNCTION_WHY, "routing-id is 0 to 63");
	return false;
}

/* Public software gives a copy up after 20 ms, and workers may be late. */
static bool complete_times(struct trn_function_config *config, char *why)
{
	if (config->inline_us == TRN_FUNCTION_AUTO)
		config->inline_us = config->silicon ? INLINE_US_SILICON : INLINE_US;
	if (config->reset_us == TRN_FUNCTION_AUTO)
		config->reset_us = config->silicon ? RESET_US_SILICON : 0;
	config->chip.reset_ns = config->reset_us * 1000ull;
	if (config->inline_us > INLINE_US_MAX) {
		snprintf(why, TRN_FUNCTION_WHY, "inline-us is 0 to %u", INLINE_US_MAX);
		return false;
	}
	if (config->reset_us > RESET_US_MAX) {
		snprintf(why, TRN_FUNCTION_WHY, "reset-us is 0 to %u", RESET_US_MAX);
		return false;
	}
	return true;
}

static bool complete_vectors(struct trn_function_config *config, char *why)
{
	const struct neuron_gen *gen = config->chip.gen;
	const uint32_t most = gen->nr_cores + 1u;

	if (config->vectors == TRN_FUNCTION_AUTO)
		config->vectors = most;
	if (config->vectors <= most)
		return true;
	snprintf(why, TRN_FUNCTION_WHY, "vectors: a %s has 1 to %u", gen->name, most);
	return false;
}

bool trn_function_complete(struct trn_function_config *config, char why[TRN_FUNCTION_WHY])
{
	return complete_vectors(config, why) && complete_times(config, why) &&
	       complete_bar4(config, why) && complete_hbm(config, why) &&
	       complete_ids(&config->chip, why);
}

void trn_function_identity(const struct trn_function *fn, struct trn_identity *identity)
{
	*identity = (struct trn_identity) {
		.vendor = NEURON_PCI_VENDOR,
		.device = fn->config.chip.gen->pci_device,
		.class_code = CLASS_ACCELERATOR,
		.revision = fn->config.silicon ? NEURON_PCI_REVISION_SILICON :
						 NEURON_PCI_REVISION_PLATFORM,
	};
}

/* --- capabilities --- */

#define EXPRESS_OFFSET	0x80
#define EXPRESS_SIZE	0x3c
#define AER_OFFSET	0x100
#define AER_SIZE	0x48
#define AER_MHRC	0x200	/* can record several headers */
#define AER_MHRE	0x400
#define DEVCAP2_FORMATS	0x100000	/* extended format fields */
#define DEVCAP2_PREFIX	0x200000	/* end-to-end prefixes */
#define DEVCTL2_BLOCK	0x8000		/* block them */
#define MSIX_SIZE	12
#define PM_VERSION	3	/* PM 1.2: D0 and D3, no PME */

static void put16(uint8_t *bytes, unsigned int at, uint32_t value)
{
	bytes[at] = (uint8_t)value;
	bytes[at + 1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *bytes, unsigned int at, uint32_t value)
{
	put16(bytes, at, value);
	put16(bytes, at + 2, value >> 16);
}

static void fill_msix(const struct trn_function *fn, struct trn_capability *cap)
{
	uint32_t hole = fn->config.chip.gen->hole_bar0;

	cap->id = PCI_CAP_ID_MSIX;
	cap->size = MSIX_SIZE;
	put16(cap->value, PCI_MSIX_FLAGS, fn->config.vectors - 1);
	put16(cap->writable, PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	put32(cap->value, PCI_MSIX_TABLE, hole + NEURON_HOLE_MSIX_TABLE);
	put32(cap->value, PCI_MSIX_PBA, hole + NEURON_HOLE_MSIX_PBA);
}

/*
 * An endpoint behind a port; on the root bus the front end makes it an integrated one. A write
 * of one to the bit FLR of the device control starts a reset; it reads as zero.
 */
static void fill_express(struct trn_capability *cap)
{
	cap->id = PCI_CAP_ID_EXP;
	cap->express = true;
	cap->offset = EXPRESS_OFFSET;
	cap->size = EXPRESS_SIZE;
	put16(cap->value, PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_ENDPOINT << 4);
	put32(cap->value, PCI_EXP_DEVCAP,
	      PCI_EXP_DEVCAP_EXT_TAG | PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_FLR);
	put16(cap->writable, PCI_EXP_DEVCTL,
	      PCI_EXP_DEVCTL_CERE | PCI_EXP_DEVCTL_NFERE | PCI_EXP_DEVCTL_FERE |
	      PCI_EXP_DEVCTL_URRE);
	put16(cap->cleared, PCI_EXP_DEVSTA,
	      PCI_EXP_DEVSTA_CED | PCI_EXP_DEVSTA_NFED | PCI_EXP_DEVSTA_FED |
	      PCI_EXP_DEVSTA_URD);
	put32(cap->value, PCI_EXP_LNKCAP,
	      PCI_EXP_LNKCAP_SLS_2_5GB | 1 << 4 | PCI_EXP_LNKCAP_ASPM_L0S);
	put16(cap->value, PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_CLS_2_5GB | PCI_EXP_LNKSTA_NLW_X1);
	put32(cap->value, PCI_EXP_DEVCAP2, DEVCAP2_FORMATS | DEVCAP2_PREFIX);
	put16(cap->writable, PCI_EXP_DEVCTL2, DEVCTL2_BLOCK);
}

static void fill_pm(struct trn_capability *cap)
{
	cap->id = PCI_CAP_ID_PM;
	cap->express = true;
	cap->size = PCI_PM_SIZEOF;
	put16(cap->value, PCI_PM_PMC, PM_VERSION);
	put16(cap->value, PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET);
	put16(cap->writable, PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK);
}

static void fill_aer(struct trn_capability *cap)
{
	const uint32_t uncorrectable = PCI_ERR_UNC_DLP | PCI_ERR_UNC_SURPDN |
		PCI_ERR_UNC_POISON_TLP | PCI_ERR_UNC_FCP | PCI_ERR_UNC_COMP_TIME |
		PCI_ERR_UNC_COMP_ABORT | PCI_ERR_UNC_UNX_COMP | PCI_ERR_UNC_RX_OVER |
		PCI_ERR_UNC_MALF_TLP | PCI_ERR_UNC_ECRC | PCI_ERR_UNC_UNSUP | PCI_ERR_UNC_ACSV |
		PCI_ERR_UNC_INTN | PCI_ERR_UNC_MCBTLP | PCI_ERR_UNC_ATOMEG | PCI_ERR_UNC_TLPPRE;
	const uint32_t rare = PCI_ERR_COR_ADV_NFAT | PCI_ERR_COR_INTERNAL | PCI_ERR_COR_LOG_OVER;
	const uint32_t correctable = PCI_ERR_COR_RCVR | PCI_ERR_COR_BAD_TLP |
		PCI_ERR_COR_BAD_DLLP | PCI_ERR_COR_REP_ROLL | PCI_ERR_COR_REP_TIMER | rare;

	cap->id = PCI_EXT_CAP_ID_ERR;
	cap->extended = true;
	cap->express = true;
	cap->version = 2;
	cap->offset = AER_OFFSET;
	cap->size = AER_SIZE;
	put32(cap->cleared, PCI_ERR_UNCOR_STATUS, uncorrectable);
	put32(cap->value, PCI_ERR_UNCOR_MASK, PCI_ERR_UNC_INTN | PCI_ERR_UNC_TLPPRE);
	put32(cap->writable, PCI_ERR_UNCOR_MASK, uncorrectable);
	put32(cap->value, PCI_ERR_UNCOR_SEVER,
	      PCI_ERR_UNC_DLP | PCI_ERR_UNC_SURPDN | PCI_ERR_UNC_FCP | PCI_ERR_UNC_RX_OVER |
	      PCI_ERR_UNC_MALF_TLP | PCI_ERR_UNC_INTN);
	put32(cap->writable, PCI_ERR_UNCOR_SEVER, uncorrectable);
	put32(cap->cleared, PCI_ERR_COR_STATUS, correctable);
	put32(cap->value, PCI_ERR_COR_MASK, rare);
	put32(cap->writable, PCI_ERR_COR_MASK, correctable);
	put32(cap->value, PCI_ERR_CAP, PCI_ERR_CAP_ECRC_GENC | PCI_ERR_CAP_ECRC_CHKC | AER_MHRC);
	put32(cap->writable, PCI_ERR_CAP,
	      PCI_ERR_CAP_ECRC_GENE | PCI_ERR_CAP_ECRC_CHKE | AER_MHRE);
}

unsigned int trn_function_capabilities(const struct trn_function *fn,
				       struct trn_capability capability[TRN_CAPABILITIES])
{
	unsigned int nr = 0;

	memset(capability, 0, TRN_CAPABILITIES * sizeof(*capability));
	if (!trn_function_has_line(fn))
		fill_msix(fn, &capability[nr++]);
	fill_express(&capability[nr++]);
	fill_pm(&capability[nr++]);
	fill_aer(&capability[nr++]);
	return nr;
}
