# SPDX-License-Identifier: Apache-2.0
# bench/rules.mk - the programs that measure; included by the Makefile.
.PHONY: bench
bench_sources := $(wildcard bench/*.c)
bench_cuda_sources := $(filter-out bench/%_peers.cu,$(wildcard bench/*.cu))
bench_objects := $(call objects,$(BUILD),$(bench_sources))

bench: $(addprefix $(BUILD)/bench/,bench_cpu gpusort_unproved)
ifeq ($(CUDA),1)
bench: $(BUILD)/bench/bench_sort
$(BUILD)/bench/bench_sort: $(bench_objects) $(host_objects) $(backend_objects) \
		$(call objects,$(BUILD),$(bench_cuda_sources) bench/cub_peers.cu)
	$(link) -o $@ $^ $(backend_libraries) $(libraries)
else
bench:
	@echo "bench_sort needs nvcc; make simt builds build/simt/bench_sort, which shows that it works"
endif
# gpusort without the proof of output, to measure what the proof costs (scripts/measure_files.sh).
summing_items := formats/lines/lines.c formats/lines/lines_write.c
$(BUILD)/bench/gpusort_unproved: $(cli_objects) $(BUILD)/bench/unproved/without_proof.c.o \
		$(call objects,$(BUILD)/bench/unproved,$(summing_items)) \
		$(filter-out $(call objects,$(BUILD),core/check/check_kernels.cc \
		core/check/check_line.c $(summing_items)),$(host_objects)) $(backend_objects)
	$(link) -o $@ $^ $(backend_libraries) $(libraries)
$(BUILD)/bench/unproved/%.c.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile_c) -include bench/unproved/no_items.h -c -o $@ $<
# Flags for the other sort libraries that this machine has.
peer_flags = $(foreach peer,HWY:libhwy-contrib TBB:tbb,$(shell \
	pkg-config --exists $(lastword $(subst :, ,$(peer))) 2>/dev/null && \
	echo -DHAVE_$(firstword $(subst :, ,$(peer))) $$(pkg-config $(1) $(lastword $(subst :, ,$(peer))))))
$(BUILD)/bench/bench_cpu: $(bench_objects) $(host_objects) $(BUILD)/core/backends.cpu.o \
		$(BUILD)/bench/bench_cpu.cc.o
	$(link) -o $@ $^ $(filter-out -D%,$(call peer_flags,--libs)) $(libraries)
$(BUILD)/bench/bench_cpu.cc.o: bench/bench_cpu.cc $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile_cxx) $(call peer_flags,--cflags) -c -o $@ $<
