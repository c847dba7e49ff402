/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chip library's port to QEMU.
 *
 * Workers call all of this without the BQL, and none of it may wait for the
 * BQL: whoever waits for a chip to be quiet may hold it. So host memory is
 * reached only where it is plain RAM, by pointer, and a worker has interrupts
 * raised by a bottom half. A vCPU that serves its own doorbell holds the BQL and
 * raises them itself, but only when nothing of the chip runs in it any more: the
 * message may go anywhere, even to what resets this chip and waits for it.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/error-report.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "exec/memory.h"
#include "hw/pci/msix.h"
#include "neuron.h"
#include "trn/port.h"
#include "trace.h"

/*
 * The RAM behind bus address @addr, and in *@len how much of it lies in one
 * piece; NULL when it is not RAM or bus mastering is off (then nothing is
 * mapped). Under the RCU read lock.
 */
static void *neuron_port_ram(NeuronChip *s, uint64_t addr, size_t *len,
                             bool is_write, MemoryRegion **mr)
{
    AddressSpace *as = pci_get_address_space(&s->parent_obj);
    const MemTxAttrs attrs = { .memory = 1 };
    hwaddr offset, plen = *len;

    *mr = address_space_translate(as, addr, &offset, &plen, is_write, attrs);
    if (!memory_access_is_direct(*mr, is_write, attrs)) {
        return NULL;
    }
    *len = plen;
    return memory_region_get_ram_ptr(*mr) + offset;
}

void neuron_ram_written(NeuronChip *s, MemoryRegion *mr, void *ram, size_t len)
{
    memory_region_ref(mr);
    /* Marks the pages dirty, drops code translated from them, unrefs. */
    address_space_unmap(pci_get_address_space(&s->parent_obj), ram, len, true,
                        len);
}

static bool neuron_port_host_read(void *opaque, uint64_t addr, void *buf,
                                  size_t len)
{
    RCU_READ_LOCK_GUARD();

    while (len) {
        MemoryRegion *mr;
        size_t n = len;
        void *ram = neuron_port_ram(opaque, addr, &n, false, &mr);

        if (!ram) {
            return false;
        }
        trn_bulk_move(buf, ram, n);
        buf = (char *)buf + n;
        addr += n;
        len -= n;
    }
    return true;
}

static bool neuron_port_host_write(void *opaque, uint64_t addr,
                                   const void *buf, size_t len)
{
    NeuronChip *s = opaque;

    RCU_READ_LOCK_GUARD();

    while (len) {
        MemoryRegion *mr;
        size_t n = len;
        void *ram = neuron_port_ram(s, addr, &n, true, &mr);

        if (!ram) {
            return false;
        }
        trn_bulk_move(ram, buf, n);
        neuron_ram_written(s, mr, ram, n);
        buf = (const char *)buf + n;
        addr += n;
        len -= n;
    }
    return true;
}

/* The RCU read lock is held until the end of the map: so long the memory stays. */
static void *neuron_port_host_map(void *opaque, uint64_t addr, size_t *len,
                                  bool is_write)
{
    MemoryRegion *mr;
    void *ram;

    rcu_read_lock();
    ram = neuron_port_ram(opaque, addr, len, is_write, &mr);
    if (!ram) {
        rcu_read_unlock();
    }
    return ram;
}

static void neuron_port_host_unmap(void *opaque, void *ptr, size_t len,
                                   size_t changed)
{
    ram_addr_t offset;

    if (changed) {
        neuron_ram_written(opaque, memory_region_from_host(ptr, &offset), ptr,
                           changed);
    }
    rcu_read_unlock();
}

/* A vCPU raises at the end of its own register write; workers cannot. */
static void neuron_host_wake(void *opaque)
{
    NeuronChip *s = opaque;

    qemu_bh_schedule(s->irq_bh);
}

static void neuron_port_irq(void *opaque, unsigned vector)
{
    NeuronChip *s = opaque;

    trace_neuron_irq(s->chip_id, vector);
    if (msix_enabled(&s->parent_obj)) {
        msix_notify(&s->parent_obj, vector);
    }
}

static void neuron_port_deliver(void *opaque)
{
    NeuronChip *s = opaque;

    if (s->function) {
        trn_function_deliver(s->function);
    }
}

/*
 * The MSI-X table and PBA are not regions inside BAR0's: they would cut it into
 * five pieces, and BAR0 and its alias of many chips make every change of the
 * memory map slow. So BAR0's accesses are passed on.
 */
static MemoryRegion *neuron_msix_region(NeuronChip *s, enum trn_area_kind kind)
{
    return kind == TRN_AREA_MSIX_TABLE ? &s->parent_obj.msix_table_mmio :
                                         &s->parent_obj.msix_pba_mmio;
}

static uint64_t neuron_host_msix_read(void *opaque, enum trn_area_kind kind,
                                      uint64_t offset, unsigned size)
{
    uint64_t value;

    if (memory_region_dispatch_read(neuron_msix_region(opaque, kind), offset,
                                    &value, size_memop(size) | MO_LE,
                                    MEMTXATTRS_UNSPECIFIED) != MEMTX_OK) {
        return UINT64_MAX;
    }
    return value;
}

static void neuron_host_msix_write(void *opaque, enum trn_area_kind kind,
                                   uint64_t offset, uint64_t value,
                                   unsigned size)
{
    memory_region_dispatch_write(neuron_msix_region(opaque, kind), offset,
                                 value, size_memop(size) | MO_LE,
                                 MEMTXATTRS_UNSPECIFIED);
}

static void neuron_port_log(void *opaque, enum trn_log_level level,
                            const char *line)
{
    NeuronChip *s = opaque;

    switch (level) {
    case TRN_LOG_GUEST_ERROR:
        trace_neuron_err_guest(s->chip_id, line);
        qemu_log_mask(LOG_GUEST_ERROR, "neuron chip %u: %s\n", s->chip_id,
                      line);
        break;
    case TRN_LOG_WARN:
        trace_neuron_err_warn(s->chip_id, line);
        warn_report("neuron chip %u: %s", s->chip_id, line);
        break;
    case TRN_LOG_INFO:
        trace_neuron_info(s->chip_id, line);
        break;
    case TRN_LOG_TRACE:
        trace_neuron_trace(s->chip_id, line);
        break;
    }
}

static void neuron_port_ring(void *opaque)
{
    NeuronChip *s = opaque;

    if (s->chip) {
        trn_chip_expire(s->chip);
    }
}

static void neuron_port_timer(void *opaque, uint64_t delay_ns)
{
    NeuronChip *s = opaque;

    /* Two workers may call in the wrong order: the earlier time must stay. */
    timer_mod_anticipate(s->timer,
                         qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + delay_ns);
}

void neuron_init_port(NeuronChip *s)
{
    s->irq_bh = qemu_bh_new_guarded(neuron_port_deliver, s,
                                    &DEVICE(s)->mem_reentrancy_guard);
    s->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, neuron_port_ring, s);
}

void neuron_exit_port(NeuronChip *s)
{
    timer_free(s->timer);
    s->timer = NULL;
    qemu_bh_delete(s->irq_bh);
    s->irq_bh = NULL;
}

void neuron_worker_enter(void)
{
    rcu_register_thread();
}

void neuron_worker_exit(void)
{
    rcu_unregister_thread();
}

const struct trn_port neuron_port = {
    .host_read = neuron_port_host_read,
    .host_write = neuron_port_host_write,
    .host_map = neuron_port_host_map,
    .host_unmap = neuron_port_host_unmap,
    .irq = neuron_port_irq,
    .log = neuron_port_log,
    .hbm_alloc = neuron_hbm_alloc,
    .hbm_discard = neuron_hbm_discard,
    .hbm_dirty = neuron_hbm_dirty,
    .timer = neuron_port_timer,
};

const struct trn_function_host neuron_host = {
    .wake = neuron_host_wake,
    .msix_read = neuron_host_msix_read,
    .msix_write = neuron_host_msix_write,
};
