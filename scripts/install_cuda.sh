#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine without nvcc, with an NVIDIA GPU and a driver for CUDA 13 or newer, installs the compiler of
# the CUDA Toolkit from PyPI into build/cuda-toolkit, where the Makefile looks for it (350 MB). Changes
# nothing on other machines. If the compiler cannot be had, gpusort is built for the CPU alone.
set -euo pipefail
cd "$(dirname "$0")/.."

# The packages put everything into nvidia/cu13 there, in the layout of the toolkit.
packages=(nvidia-cuda-{nvcc,crt,runtime,cccl}'==13.*' nvidia-nvvm'==13.*')

[ -z "$(make -s --eval='nvcc: ; @echo $(NVCC)' nvcc)" ] && nvidia-smi -L >/dev/null 2>&1 || exit 0
driver=$(nvidia-smi 2>/dev/null | sed -nE 's/.*CUDA Version: *([0-9]+).*/\1/p')
if [ "${driver:-13}" -lt 13 ]; then
    echo "no nvcc, and the GPU's driver is for CUDA $driver: install the CUDA Toolkit $driver to build for it"
    exit 0
fi
echo '== a GPU and no nvcc: installing the compiler from PyPI into build/cuda-toolkit'
python3 -m pip --version >/dev/null 2>&1 || scripts/install_packages.sh python3-pip
rm -rf build/cuda-toolkit
if ! python3 -m pip install -q --no-deps --only-binary :all: --target build/cuda-toolkit "${packages[@]}"; then
    rm -rf build/cuda-toolkit
    echo 'it cannot be installed: building for the CPU alone'
fi
