/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the claims of one user take on a device, those that were given back included:
 * claiming again does not start the account anew.
 */
#ifndef _NEURON_USER_H_
#define _NEURON_USER_H_

struct neuron_device;
struct neuron_user;

/* The caller's user, referenced; NULL without memory. */
struct neuron_user *neuron_user_get(struct neuron_device *ndev);
void neuron_user_put(struct neuron_device *ndev, struct neuron_user *user);

#endif /* _NEURON_USER_H_ */
