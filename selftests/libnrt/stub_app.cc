// SPDX-License-Identifier: MIT
/*
 * An application in C++ that knows only what is public: it executes a model with all inputs of one
 * byte value, and prints the sum of the bytes of each output. test_stub.py links it with a library
 * that is not ours.
 *
 *   stub_app NEFF BYTE
 */
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>

namespace {

using bytes = std::vector<uint8_t>;

void check(NRT_STATUS status, const char *call)
{
	if (status != NRT_SUCCESS)
		throw std::runtime_error(std::string(call) + ": " + nrt_get_status_as_str(status));
}

bytes read_file(const char *path)
{
	std::ifstream file(path, std::ios::binary);

	return bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

/* The tensors of a model that have one use, in a set. */
class tensors {
public:
	tensors(const nrt_tensor_info_array_t *infos, nrt_tensor_usage_t usage)
	{
		check(nrt_allocate_tensor_set(&set_), "nrt_allocate_tensor_set");
		for (uint64_t i = 0; i < infos->tensor_count; i++)
			if (infos->tensor_array[i].usage == usage)
				add(infos->tensor_array[i]);
	}

	~tensors()
	{
		nrt_destroy_tensor_set(&set_);
		for (nrt_tensor_t *&tensor : list_)
			nrt_tensor_free(&tensor);
	}

	tensors(const tensors &) = delete;
	tensors &operator=(const tensors &) = delete;

	nrt_tensor_set_t *set() const
	{
		return set_;
	}

	void fill(uint8_t value) const
	{
		for (nrt_tensor_t *tensor : list_) {
			const bytes content(nrt_tensor_get_size(tensor), value);

			check(nrt_tensor_write(tensor, content.data(), 0, content.size()),
			      "nrt_tensor_write");
		}
	}

	std::vector<uint64_t> sums() const
	{
		std::vector<uint64_t> result;

		for (nrt_tensor_t *tensor : list_) {
			bytes content(nrt_tensor_get_size(tensor));

			check(nrt_tensor_read(tensor, content.data(), 0, content.size()),
			      "nrt_tensor_read");
			result.push_back(std::accumulate(content.begin(), content.end(),
							 uint64_t(0)));
		}
		return result;
	}

private:
	void add(const nrt_tensor_info_t &info)
	{
		nrt_tensor_t *tensor = nullptr;

		check(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, info.size, info.name,
					  &tensor), "nrt_tensor_allocate");
		list_.push_back(tensor);
		check(nrt_add_tensor_to_tensor_set(set_, info.name, tensor),
		      "nrt_add_tensor_to_tensor_set");
	}

	nrt_tensor_set_t *set_ = nullptr;
	std::vector<nrt_tensor_t *> list_;
};

void run(const char *path, uint8_t value)
{
	const bytes neff = read_file(path);
	nrt_tensor_info_array_t *infos = nullptr;
	nrt_model_t *model = nullptr;

	check(nrt_load(neff.data(), neff.size(), 0, -1, &model), "nrt_load");
	check(nrt_get_model_tensor_info(model, &infos), "nrt_get_model_tensor_info");
	{
		const tensors inputs(infos, NRT_TENSOR_USAGE_INPUT);
		const tensors outputs(infos, NRT_TENSOR_USAGE_OUTPUT);

		inputs.fill(value);
		check(nrt_execute(model, inputs.set(), outputs.set()), "nrt_execute");
		for (uint64_t sum : outputs.sums())
			std::cout << sum << '\n';
	}
	nrt_free_model_tensor_info(infos);
	check(nrt_unload(model), "nrt_unload");
}

} // namespace

int main(int argc, char **argv)
{
	int status = 0;

	if (argc != 3)
		return 2;
	try {
		check(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), "nrt_init");
		run(argv[1], uint8_t(std::strtoul(argv[2], nullptr, 0)));
	} catch (const std::exception &error) {
		std::cerr << "stub_app: " << error.what() << '\n';
		status = 1;
	}
	nrt_close();
	return status;
}
