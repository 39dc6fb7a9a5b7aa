# shellcheck shell=bash
# shellcheck disable=SC2154  # run_dir and here are set by scripts/lab
# What all parts of the lab share: messages, sizes, and the book of things made (one folder a thing, key=value a line).

die() { # message [hint]
    echo "error: $1" >&2
    [ -z "${2:-}" ] || echo "hint: $2" >&2
    exit 1
}

die_usage() {
    echo "error: $1" >&2
    echo "hint: lab help" >&2
    exit 2
}

need_root() {
    [ "$(id -u)" -eq 0 ] || die "the lab makes devices and control groups, and that needs root" "sudo $0 ..."
}

need_program() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null 2>&1 ||
            die "$program is not installed" "scripts/setup installs what the tests and the lab need"
    done
}

# 256M, 256MiB, 1G or 4096 -> bytes.
bytes_of() {
    local given=$1 number
    number=${given%B}
    number=${number%i}
    [[ $number =~ ^[0-9]+[KMGTkmgt]?$ ]] || die_usage "'$given' is not a size (4096, 8K, 256M, 1G)"
    numfmt --from=iec "${number^^}"
}

whole_number() {
    [[ $2 =~ ^[1-9][0-9]*$ ]] || die_usage "$1 takes a whole number above 0, not '$2'"
}

# ---- the book -------------------------------------------------------------------------------------------------------

boot_id() { cat /proc/sys/kernel/random/boot_id; }

# Opens a page for a new thing of a kind; its folder's path is left in $page.
book_open() {
    mkdir -p "$run_dir"
    chmod 0755 "$run_dir"
    page=$(mktemp -d "$run_dir/$1-XXXXXX")
    chmod 0755 "$page"
    # One write: another lab that looks in between must not see a throttle without its owner.
    printf 'kind=%s\nboot=%s\nowner=%s\nowner_start=%s\n' "$1" "$(boot_id)" "$$" "$(start_of $$)" >"$page/facts"
}

book_write() {
    [[ $2 != *$'\n'* ]] || die "a path with a line break in it cannot be written down: $2"
    printf '%s=%s\n' "$1" "$2" >>"$page/facts"
}

book_read() { # key -> value, or nothing
    [ -f "$page/facts" ] || return 0
    sed -n "s/^$1=//p" "$page/facts" 2>/dev/null | tail -n 1 || true
}

book_name() { basename "$page"; }

# Prints the page for a caller.
book_show() {
    echo "name=$(book_name)"
    # It may go while we look: a throttle ends by itself.
    sed '/^boot=/d; /^owner/d; /^diskseq=/d; /^token=/d' "$page/facts" 2>/dev/null || true
}

# All pages, oldest first. A folder that only has such a name is not a page: a page has facts, or nothing in it.
book_pages() {
    local found
    [ -d "$run_dir" ] || return 0
    find "$run_dir" -mindepth 1 -maxdepth 1 -type d -printf '%C@ %p\n' | sort -n | cut -d' ' -f2- |
        while IFS= read -r found; do
            [[ ${found##*/} =~ ^(loop|zram|tmpfs|cut-loop|full-loop|throttle)-[A-Za-z0-9]{6}$ ]] || continue
            [ -f "$found/facts" ] || [ -z "$(ls -A "$found")" ] || continue
            echo "$found"
        done
}

start_of() { # pid -> its start time in ticks, or nothing
    sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20
}

owner_lives() {
    local owner
    owner=$(book_read owner)
    [ -n "$owner" ] && [ "$(book_read boot)" = "$(boot_id)" ] &&
        [ "$(start_of "$owner")" = "$(book_read owner_start)" ]
}

# A watcher may close the same page at the same moment.
book_close() {
    rm -f -- "$page/facts"
    rmdir -- "$page" 2>/dev/null || [ ! -e "$page" ]
}

# The folder for a backing file, marked as ours; its path is left in $folder.
folder_make() {
    local token
    token=$(cat /proc/sys/kernel/random/uuid)
    [ -d "$1" ] || die "no folder $1 to put a backing file in" "make it, or name another with --dir"
    folder=$(readlink -f "$1")/fathom-$(book_name)
    book_write token "$token"
    book_write folder "$folder"
    mkdir "$folder"
    echo "$token" >"$folder/.made-by-fathom-lab"
}

# Removes that folder if the mark in it is ours.
folder_remove() {
    local folder token
    folder=$(book_read folder)
    token=$(book_read token)
    if [ -z "$folder" ] || [ ! -d "$folder" ]; then return 0; fi
    if [ "$(cat "$folder/.made-by-fathom-lab" 2>/dev/null)" != "$token" ]; then
        # Made and not yet marked when its maker died: empty, so rmdir is enough; else it is not ours.
        rmdir "$folder" 2>/dev/null || {
            echo "error: $folder does not carry this lab's mark: left alone" >&2
            return 1
        }
        return 0
    fi
    rm -f -- "$folder/disk.img" "$folder/.made-by-fathom-lab"
    rmdir -- "$folder"
}
