#!/usr/bin/env bash
# make: builds without CUDA from the sources alone, installs, uninstalls, makes an archive.
. "$(dirname "$0")/lib.sh"
[ "$test_size" = full ] || skip_all 'tested with the full build'
unset MAKEFLAGS MFLAGS MAKELEVEL BUILD SANITIZE # of the make that runs the tests

# The tree without what was built in it.
root=$(cd "$tests_dir/.." && pwd)
mkdir tree
tar -C "$root" -c --exclude=./build --exclude=./.git --exclude=./gpusort . | tar -C tree -x
cd tree

ok_says 'make CUDA=0 says that the GPU paths are left out' 'without the GPU paths' -- \
    make -j2 CUDA=0 CFLAGS=-O1 CXXFLAGS=-O1
ok 'make leaves ./gpusort' test -x gpusort
ok 'make starts nothing that it has built, which may be for another machine' \
    bash -c 'make -nB CUDA=0 >made && ! grep "build/gpusort " made | grep -v -e " -o build/gpusort " -e "^test "'
ok_prints 'it sorts' '1\n2\n' -- ./gpusort <<<$'2\n1'
ok_fails_with 'a test that there is not' 2 "^tests/run.sh: there is no test 'nosuch'" -- \
    env BUILD=build tests/run.sh style nosuch
ok 'the second make has nothing to build' \
    bash -c 'make CUDA=0 CFLAGS=-O1 CXXFLAGS=-O1 >made && ! grep -- "-c -o" made'
for object in core/ring.c.o tests/faults/flips.c.o core/backends.cpu.o; do
    ok "flags that change build $object anew" bash -c 'make CUDA=0 CFLAGS=-O1 CXXFLAGS=-O1 "$1" &&
        make CUDA=0 CFLAGS=-O2 CXXFLAGS=-O1 "$1" | grep -- "-O2 -c -o"' bash "build/$object"
done
ok 'make install' make CUDA=0 CFLAGS=-O1 CXXFLAGS=-O1 install DESTDIR="$work/root" prefix=/usr
ok_prints 'what make install installs' \
    './usr/bin/gpusort
./usr/share/bash-completion/completions/gpusort
./usr/share/fish/vendor_completions.d/gpusort.fish
./usr/share/man/man1/gpusort.1
./usr/share/zsh/site-functions/_gpusort
' -- bash -c 'cd "$0" && find . -type f | sort' "$work/root"
ok_prints 'modes of what make install installs' '644\n755\n' -- \
    bash -c 'find "$0" -type f -printf "%m\n" | sort -u' "$work/root"
ok_output 'completions are installed as they are stored' \
    <(cat completions/{gpusort.bash,gpusort.fish,_gpusort}) -- \
    cat "$work/root/usr/share/"{bash-completion/completions/gpusort,fish/*/*,zsh/*/*}
ok_says 'the program installed' '^gpusort [0-9]' -- "$work/root/usr/bin/gpusort" --version
ok 'make uninstall' make CUDA=0 uninstall DESTDIR="$work/root" prefix=/usr
ok_prints 'make uninstall leaves no file' '' -- find "$work/root" -type f
ok 'make clean' make CUDA=0 clean
ok 'make clean leaves no build' test ! -e build
ok 'make distclean' make CUDA=0 distclean
ok 'make distclean leaves no program' test ! -e gpusort
cd ..

if git -C "$root" rev-parse -q --verify HEAD >/dev/null 2>&1; then
    git clone -q "$root" clone
    ok 'make dist' make -C clone dist
    ok_says 'the archive has the Makefile in its directory' '^gpusort-[0-9.]+/Makefile$' -- \
        bash -c 'tar tzf clone/gpusort-*.tar.gz'
else
    skip 'make dist' 'not a git checkout with a commit'
fi

done_testing
