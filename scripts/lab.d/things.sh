# shellcheck shell=bash
# shellcheck disable=SC2154  # run_dir and here are set by scripts/lab, page and folder by the book
# Loop, zram and tmpfs: making, listing, removing.

create() {
    local kind=$1
    shift
    local status size='' dir=/var/tmp fs='' direct_io=off fill=no mount=no keep='' room=''
    while [ $# -gt 0 ]; do
        case $1 in
            --fill) fill=yes && shift && continue ;;
            --mount) mount=yes && shift && continue ;;
        esac
        [ $# -ge 2 ] || die_usage "$1 takes a value, or lab $kind does not know it"
        case $kind/$1 in
            */--size) size=$(bytes_of "$2") ;;
            loop/--dir | cut-loop/--dir) dir=$2 ;;
            loop/--fs | zram/--fs) fs=$2 ;;
            loop/--direct-io) direct_io=$2 ;;
            cut-loop/--keep) keep=$(bytes_of "$2") ;;
            full-loop/--room) room=$(bytes_of "$2") ;;
            *) die_usage "lab $kind does not know $1" ;;
        esac
        shift 2
    done
    [[ $fs =~ ^(|ext4|xfs|btrfs)$ ]] || die_usage "--fs takes ext4, xfs or btrfs, not '$fs'"
    [[ $direct_io =~ ^(on|off)$ ]] || die_usage "--direct-io takes on or off, not '$direct_io'"
    [ "$mount" = no ] || [ -n "$fs" ] || fs=ext4
    need_root
    [ -z "$fs" ] || need_program "mkfs.$fs"
    # What was begun is taken back when a step fails or somebody interrupts.
    page=''
    trap 'status=$?; trap - EXIT; [ -z "$page" ] || take_back || true; exit $status' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    book_open "$kind"
    case $kind in
        loop) create_loop ;;
        zram) create_zram ;;
        tmpfs) create_tmpfs "$(default "$size" 64M)" ;;
        cut-loop) create_cut_loop ;;
        full-loop) create_full_loop ;;
    esac
    trap - EXIT INT TERM HUP
    book_show
}

default() { if [ -n "$1" ]; then echo "$1"; else bytes_of "$2"; fi; }

# A page cannot make an XFS below 300 MiB, so its default is larger.
default_size() { if [ "$fs" = xfs ]; then default "$size" 512M; else default "$size" 256M; fi; }

create_loop() {
    size=$(default_size)
    folder_make "$dir"
    backing_file "$folder/disk.img"
    attach "$folder/disk.img" "$direct_io"
    format_and_mount
}

create_zram() {
    local number
    [ -e /sys/class/zram-control/hot_add ] ||
        die "this kernel has no zram (no /sys/class/zram-control)" "modprobe zram"
    size=$(default_size)
    number=$(cat /sys/class/zram-control/hot_add)
    book_write device "/dev/zram$number"
    book_write diskseq "$(cat "/sys/block/zram$number/diskseq")"
    echo "$size" >"/sys/block/zram$number/disksize"
    book_write size "$size"
    wait_for_node "/dev/zram$number"
    [ "$fill" = no ] || fill_with_noise "/dev/zram$number" "$size"
    format_and_mount
}

create_tmpfs() {
    book_write size "$1"
    mount_tmpfs "$1"
}

mount_tmpfs() { # bytes
    local where=$page/mount
    mkdir "$where"
    book_write mount "$where"
    mount -t tmpfs -o "size=$1,mode=0755" fathom-lab "$where"
}

create_cut_loop() {
    size=$(default "$size" 64M)
    keep=${keep:-$((size / 2))}
    [ "$keep" -lt "$size" ] || die_usage "--keep must be less than --size"
    fill=yes
    folder_make "$dir"
    backing_file "$folder/disk.img"
    attach "$folder/disk.img" off
    truncate -s "$keep" "$folder/disk.img"
    book_write readable_bytes "$keep"
}

create_full_loop() {
    local loop_size
    loop_size=$(default "$size" 64M)
    room=$(default "$room" 16M)
    [ "$room" -lt "$loop_size" ] || die_usage "--room must be less than --size"
    book_write room_bytes "$room"
    mount_tmpfs "$room"
    size=$loop_size
    backing_file "$page/mount/disk.img"
    attach "$page/mount/disk.img" off
}

# ---- steps ----------------------------------------------------------------------------------------------------------

backing_file() {
    book_write file "$1"
    book_write size "$size"
    if [ "$fill" = yes ]; then
        fill_with_noise "$1" "$size"
    else
        truncate -s "$size" "$1"
    fi
}

# Incompressible, so that neither a thin device nor a compressing one answers without work.
fill_with_noise() {
    head -c "$2" /dev/urandom | dd of="$1" bs=1M iflag=fullblock conv=notrunc,fsync status=none ||
        die "could not write $2 bytes to $1" "is there room? df -h $(dirname "$1")"
}

attach() { # file direct-io
    local device number
    [ "$(stat -c %s "$1")" -ge 512 ] || die_usage "a loop device needs at least 512 bytes"
    device=$(losetup --find --show --direct-io="$2" -- "$1")
    # Whoever had this number before may have left it read-only.
    blockdev --setrw "$device"
    number=${device#/dev/}
    book_write device "$device"
    book_write diskseq "$(cat "/sys/block/$number/diskseq")"
    if [ "$2" = on ] && [ "$(cat "/sys/block/$number/loop/dio")" != 1 ]; then
        die "the file system of $1 does not let a loop device use direct I/O" "another --dir, or --direct-io off"
    fi
    book_write direct_io "$2"
}

# devtmpfs makes the node at once; udev's rules may still be at it.
wait_for_node() {
    local tries
    for tries in $(seq 100); do
        [ ! -b "$1" ] || return 0
        sleep 0.02
    done
    die "no node $1 came after $tries tries" "is /dev a devtmpfs?"
}

# No discard, else a filled backing file would be full of holes again; nothing lazy, else ext4 writes on behind a test.
format_and_mount() {
    local device where=$page/mount
    device=$(book_read device)
    case $fs in
        '') return 0 ;;
        ext4) mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$device" >&2 ;;
        xfs) mkfs.xfs -q -f -K "$device" 2> >(head -n 1 >&2) >&2 ;;
        btrfs) mkfs.btrfs -q -f -K "$device" >/dev/null ;;
    esac
    book_write fs "$fs"
    [ "$mount" = yes ] || return 0
    mkdir "$where"
    book_write mount "$where"
    mount -t "$fs" "$device" "$where"
}

# ---- listing and removing -------------------------------------------------------------------------------------------

list() {
    reap
    while IFS= read -r page; do
        book_show | paste -sd' '
    done < <(book_pages)
}

remove() {
    local wanted failed=0
    [ $# -gt 0 ] || die_usage "lab remove takes a name, a device, or --all"
    need_root
    reap
    if [ "$1" = --all ]; then
        while IFS= read -r page; do
            take_back || failed=1
        done < <(book_pages | tac)
        return $failed
    fi
    for wanted in "$@"; do
        page=$(page_of "$wanted")
        [ -n "$page" ] || die "the lab did not make $wanted: left alone" "lab list"
        take_back || failed=1
    done
    return $failed
}

page_of() {
    while IFS= read -r page; do
        if [ "$(book_name)" = "$1" ] || [ "$(book_read device)" = "$1" ]; then
            echo "$page"
            return
        fi
    done < <(book_pages)
}

# (Every `return` below says its status: in a trap a bare one would give back that of the command before the trap.)
#
# Takes back the thing on $page: each step only if what stands there now is what was made then.
take_back() {
    local where
    if [ "$(book_read kind)" = throttle ]; then
        if throttle_take_back; then return 0; else return 1; fi
    fi
    if [ "$(book_read boot)" = "$(boot_id)" ]; then
        where=$(book_read mount)
        # A full loop's file lies on its mount, so the device goes first there; else the mount does.
        if [ "$(book_read kind)" = full-loop ]; then
            release_device || return 1
            release_mount "$where" || return 1
        else
            release_mount "$where" || return 1
            release_device || return 1
        fi
    fi
    folder_remove || return 1
    book_close
}

release_mount() {
    if [ -z "$1" ] || [ ! -d "$1" ]; then return 0; fi
    if mountpoint -q "$1"; then
        umount "$1" || {
            echo "hint: something still uses $1; end it and say again: lab remove $(book_name)" >&2
            return 1
        }
    fi
    rmdir "$1"
}

release_device() {
    local device number seq file
    device=$(book_read device)
    file=$(book_read file)
    # Its maker may have died between attaching and writing it down.
    if [ -z "$device" ] && [ -n "$file" ]; then
        device=$(losetup -j "$file" -O NAME -n | head -n 1)
        [ -z "$device" ] || losetup -d "$device" || return 1
        return 0
    fi
    [ -n "$device" ] || return 0
    number=${device#/dev/}
    seq=$(cat "/sys/block/$number/diskseq" 2>/dev/null || true)
    # Another sequence number: our device is gone and somebody else's has its name.
    if [ -z "$seq" ] || [ "$seq" != "$(book_read diskseq)" ]; then return 0; fi
    if findmnt -n --source "$device" >/dev/null; then
        echo "error: $device is mounted: kept" >&2
        return 1
    fi
    case $device in
        /dev/loop*) detach_loop "$device" "$number" ;;
        /dev/zram*) remove_zram "$device" "$number" ;;
    esac
}

detach_loop() {
    local tries
    losetup -d "$1" || return 1
    # Detaching is lazy when somebody has the device open.
    for tries in $(seq 50); do
        [ -e "/sys/block/$2/loop/backing_file" ] || return 0
        sleep 0.02
    done
    echo "error: $1 is still open after $tries looks: it goes when it is closed" >&2
    return 1
}

remove_zram() {
    echo 1 >"/sys/block/$2/reset" 2>/dev/null || {
        echo "error: $1 is in use: kept" >&2
        return 1
    }
    echo "${2#zram}" >/sys/class/zram-control/hot_remove
}
