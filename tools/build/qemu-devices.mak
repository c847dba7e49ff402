# SPDX-License-Identifier: MIT
#
# The devices of the minimal QEMU: one x86 machine, its ports, and what the guest needs.
# NEURON is added by tools/build/qemu.
CONFIG_Q35=y
CONFIG_PCIE_PORT=y
CONFIG_XIO3130=y
CONFIG_VTD=y
CONFIG_NVME_PCI=y
CONFIG_EDU=y
CONFIG_ISA_DEBUG=y
CONFIG_PVPANIC_PCI=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_SERIAL=y
CONFIG_VIRTIO_BLK=y
CONFIG_VIRTIO_RNG=y
CONFIG_SERIAL_PCI=y
