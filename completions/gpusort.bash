# bash completion of gpusort; made by completions/make_completions.sh.
_gpusort() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} option
    # Bash cuts --type=f64 in three.
    if [ "$word" = = ]; then
        option=$before= word=
    elif [ "$before" = = ]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}=
    else
        option=$before
    fi
    COMPREPLY=()
    case $option in
    --files0-from= | --files0-from) compopt -o default ;;
    --input= | --input | -i) compopt -o default ;;
    --output= | --output | -o) compopt -o default ;;
    --endian= | --endian) mapfile -t COMPREPLY < <(compgen -W 'little big' -- "$word") ;;
    --format= | --format) mapfile -t COMPREPLY < <(compgen -W 'auto raw npy text' -- "$word") ;;
    --long=) ;;
    --output-format= | --output-format) mapfile -t COMPREPLY < <(compgen -W 'same raw npy text' -- "$word") ;;
    --type= | --type) mapfile -t COMPREPLY < <(compgen -W 'i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 bool datetime64 timedelta64' -- "$word") ;;
    --zstd=) ;;
    --argsort=) mapfile -t COMPREPLY < <(compgen -W 'u32 u64 i32 i64' -- "$word") ;;
    --nan= | --nan) mapfile -t COMPREPLY < <(compgen -W 'first last error' -- "$word") ;;
    --top= | --top) ;;
    --header=) ;;
    --key= | --key | -k) ;;
    --sort= | --sort) mapfile -t COMPREPLY < <(compgen -W 'general-numeric numeric human-numeric' -- "$word") ;;
    --field-separator= | --field-separator | -t) ;;
    --check=) mapfile -t COMPREPLY < <(compgen -W 'diagnose-first quiet silent' -- "$word") ;;
    --algorithm= | --algorithm | -a) mapfile -t COMPREPLY < <(compgen -W 'auto radix bitonic direct-merge segmented-merge rank heap column column-single column-min column-pairs' -- "$word") ;;
    --batch-size= | --batch-size) ;;
    --compress-program= | --compress-program) compopt -o default ;;
    --device= | --device) mapfile -t COMPREPLY < <(compgen -W 'auto cpu gpu' -- "$word") ;;
    --device-memory= | --device-memory) ;;
    --parallel= | --parallel) ;;
    --buffer-size= | --buffer-size | -S) ;;
    --temporary-directory= | --temporary-directory | -T) compopt -o dirnames ;;
    --stats=) mapfile -t COMPREPLY < <(compgen -W 'text json' -- "$word") ;;
    --trace= | --trace) compopt -o default ;;
    *)
        if [ "${word:0:1}" = - ]; then
            mapfile -t COMPREPLY < <(compgen -W '--files0-from= --force --in-place --input= --output= --verify --endian= --format= --long --no-zstd --output-format= --type= --zstd --argsort --nan= --reverse --top= --ignore-leading-blanks --general-numeric-sort --header --human-numeric-sort --key= --numeric-sort --sort= --stable --field-separator= --unique --zero-terminated --check --merge --algorithm= --batch-size= --compress-program= --device= --device-memory= --parallel= --buffer-size= --temporary-directory= --explain --list --no-progress --progress --quiet --stats --trace= --verbose --help --usage --version' -- "$word")
            [ "${COMPREPLY[0]: -1}" != = ] || compopt -o nospace
        else
            compopt -o default
        fi
        ;;
    esac
} && complete -F _gpusort gpusort
