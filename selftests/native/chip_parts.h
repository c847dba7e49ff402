/* SPDX-License-Identifier: MIT */
/*
 * The parts of a chip that tests look into and drive by themselves.
 */
#ifndef CHIP_PARTS_H
#define CHIP_PARTS_H

#include "base/trn_chip.h"
#include "core/trn_core.h"
#include "core/trn_gang.h"
#include "dma/trn_udma.h"
#include "exec/trn_seq.h"
#include "fabric/trn_fabric.h"
#include "fabric/trn_link_count.h"
#include "isa/trn_pe_array.h"
#include "job/trn_job.h"
#include "mem/trn_bus.h"
#include "mem/trn_access.h"
#include "mem/trn_domain.h"
#include "mem/trn_touched.h"
#include "sync/trn_irq.h"
#include "sync/trn_sem.h"
#include "time/trn_time.h"

#endif /* CHIP_PARTS_H */
