/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the claims of one user take on a device, those that were given back included:
 * claiming again does not start the account anew.
 */
#ifndef _NEURON_ACCOUNT_H_
#define _NEURON_ACCOUNT_H_

struct neuron_device;
struct neuron_account;

/* The caller's user, referenced; NULL without memory. */
struct neuron_account *neuron_account_get(struct neuron_device *ndev);
void neuron_account_put(struct neuron_device *ndev,
			struct neuron_account *account);

#endif /* _NEURON_ACCOUNT_H_ */
