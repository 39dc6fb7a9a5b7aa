# shellcheck shell=bash
# shellcheck disable=SC2154  # run_dir and here are set by scripts/lab, page by the book
# A command under a limit on a disk, by control group v1 (blkio) or v2 (io), whichever has the controller.
#
# The lab enters the group itself and becomes the command, so the command's process number, signals, terminal and exit
# status are its own. A watcher outside the group removes it when it has become empty, however the command ended.

throttle() {
    local read_iops='' write_iops='' read_bps='' write_bps='' disk='' path=. value status
    while [ $# -gt 0 ]; do
        case $1 in
            --) shift && break ;;
            --help | -h) usage && exit 0 ;;
            --*) [ $# -ge 2 ] || die_usage "$1 takes a value" ;;
            *) break ;;
        esac
        value=$2
        case $1 in
            --read-iops) whole_number "$1" "$value" && read_iops=$value ;;
            --write-iops) whole_number "$1" "$value" && write_iops=$value ;;
            --read-bps) read_bps=$(bytes_of "$value") ;;
            --write-bps) write_bps=$(bytes_of "$value") ;;
            --disk) disk=$value ;;
            --path) path=$value ;;
            *) die_usage "lab throttle does not know $1" ;;
        esac
        shift 2
    done
    [ -n "$read_iops$write_iops$read_bps$write_bps" ] ||
        die_usage "lab throttle needs a limit: --read-iops, --write-iops, --read-bps or --write-bps"
    [ $# -gt 0 ] || die_usage "lab throttle needs a command after --"
    need_root
    reap
    local number
    number=$(disk_number "$disk" "$path")

    book_open throttle
    trap 'status=$?; trap - EXIT; throttle_forget; exit $status' EXIT
    group_make
    book_write disk "$number"
    group_limit "$number" "$read_iops" "$write_iops" "$read_bps" "$write_bps"
    watch_from_outside
    echo $$ >"$(book_read group)/cgroup.procs"
    trap - EXIT
    exec -- "$@"
}

# ---- which disk -----------------------------------------------------------------------------------------------------

# The major:minor of the whole disk that is named, or that lies below a path.
disk_number() { # disk path
    local device=$1 uuid count
    if [ -z "$device" ]; then
        [ -e "$2" ] || die "no such path: $2"
        if [ -b "$2" ]; then
            device=$2
        else
            device=$(findmnt -n -o SOURCE --target "$2" | tail -n 1)
            device=${device%%[*}
            uuid=$(findmnt -n -o UUID --target "$2" | tail -n 1)
            if [ -d "/sys/fs/btrfs/$uuid/devices" ] && [ -n "$uuid" ]; then
                count=$(find "/sys/fs/btrfs/$uuid/devices" -mindepth 1 -maxdepth 1 | wc -l)
                [ "$count" -eq 1 ] || die "$2 lies on $count disks" "name the one to limit with --disk"
            fi
            # A root file system named /dev/root has no such node; its number is known all the same.
            if [ ! -b "$device" ]; then
                device=$(lsblk_by_number "$(findmnt -n -o MAJ:MIN --target "$2" | tail -n 1)")
            fi
        fi
    fi
    [ -b "$device" ] || die "no block device lies below ${1:-$2}" "name one with --disk"
    whole_disk "$(basename "$(readlink -f "$device")")"
}

lsblk_by_number() {
    local number=${1// /}
    [ ! -e "/sys/dev/block/$number" ] || echo "/dev/$(basename "$(readlink -f "/sys/dev/block/$number")")"
}

whole_disk() {
    local at
    at=$(readlink -f "/sys/class/block/$1")
    [ -e "$at/dev" ] || die "the kernel knows no disk $1"
    [ ! -e "$at/partition" ] || at=$(dirname "$at")
    cat "$at/dev"
}

# ---- the group ------------------------------------------------------------------------------------------------------

# Makes the group beside or below our own one, so that a limit that holds for us holds for the command too.
group_make() {
    local mount own parent
    mount=$(findmnt -n -t cgroup -O blkio -o TARGET | head -n 1)
    if [ -n "$mount" ]; then
        own=$(sed -n 's/^[0-9]*:\([^:]*,\)\{0,1\}blkio\(,[^:]*\)\{0,1\}://p' /proc/self/cgroup)
        parent=$mount$own
        [ -d "$parent" ] || parent=$mount
        book_write version 1
    else
        parent=$(group_parent_v2)
        book_write version 2
    fi
    parent=${parent%/}
    book_write group "$parent/fathom-lab-$$"
    mkdir "$parent/fathom-lab-$$" || die "cannot make a control group in $parent" "is the hierarchy mounted read-only?"
}

# In v2 a group with processes in it (but the root) has no limited children, so ours stands beside our own group.
group_parent_v2() {
    local mount own parent
    mount=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
    grep -qsw io "$mount/cgroup.controllers" ||
        die "no control group controller for disks: neither v1 blkio nor v2 io" "mount -t cgroup2 none /sys/fs/cgroup"
    own=$(sed -n 's/^0:://p' /proc/self/cgroup)
    parent=${mount}${own%/}
    [ -d "$parent" ] || parent=$mount
    while :; do
        [ "$parent" = "$mount" ] || parent=$(dirname "$parent")
        if grep -qw io "$parent/cgroup.subtree_control" ||
            { echo +io >"$parent/cgroup.subtree_control"; } 2>/dev/null; then
            echo "$parent"
            return
        fi
        [ "$parent" != "$mount" ] ||
            die "the io controller cannot be handed down in $mount" "echo +io > $mount/cgroup.subtree_control"
    done
}

group_limit() { # major:minor read-iops write-iops read-bps write-bps
    local group line=$1
    group=$(book_read group)
    if [ "$(book_read version)" = 1 ]; then
        limit_v1 "$group" read_iops "$1" "$2"
        limit_v1 "$group" write_iops "$1" "$3"
        limit_v1 "$group" read_bps "$1" "$4"
        limit_v1 "$group" write_bps "$1" "$5"
        return
    fi
    [ -z "$2" ] || line+=" riops=$2"
    [ -z "$3" ] || line+=" wiops=$3"
    [ -z "$4" ] || line+=" rbps=$4"
    [ -z "$5" ] || line+=" wbps=$5"
    echo "$line" >"$group/io.max" || die "the kernel refused the limit '$line'" "is $1 a whole disk?"
}

limit_v1() { # group name major:minor limit
    local file=$1/blkio.throttle.$2_device
    [ -n "$4" ] || return 0
    [ -e "$file" ] || die "this kernel cannot throttle disks (no $file)" "a kernel with CONFIG_BLK_DEV_THROTTLING"
    echo "$3 $4" >"$file" || die "the kernel refused the limit $3 $4" "is $3 a whole disk?"
    grep -qx "$3 $4" "$file" || die "the kernel did not keep the limit $3 $4 in $file"
}

# ---- its end --------------------------------------------------------------------------------------------------------

# Reparented to init at once, so that the command has no child that it does not know; holds none of our files open.
watch_from_outside() {
    setsid --fork "$here/lab" watch "$page" </dev/null >/dev/null 2>&1
}

# The watcher itself: until the command has ended and with it all that it started.
watch() {
    page=$1
    while owner_lives || [ -n "$(head -n 1 "$(book_read group)/cgroup.procs" 2>/dev/null)" ]; do
        sleep 0.05
    done
    throttle_forget
}

# Removes the group and its page if nothing runs in it.
throttle_forget() {
    local group
    group=$(book_read group)
    if [ -n "$group" ] && [ -d "$group" ]; then
        rmdir "$group" 2>/dev/null || [ ! -d "$group" ] || return 1
    fi
    book_close
}

# Forgets the throttles whose command has ended (their watcher may have been killed, or be about to).
reap() {
    while IFS= read -r page; do
        [ "$(book_read kind)" = throttle ] || continue
        owner_lives || throttle_forget || true
    done < <(book_pages)
}

# Ends what still runs in the group: it was started by the lab. A command whose first process lives is not ours to end.
throttle_take_back() {
    local group pid round
    group=$(book_read group)
    if owner_lives; then
        echo "error: $(book_name) still runs its command (process $(book_read owner)): kept" >&2
        echo "hint: kill $(book_read owner)" >&2
        return 1
    fi
    for round in TERM TERM KILL KILL; do
        ! throttle_forget || return 0
        while IFS= read -r pid; do
            kill -s "$round" "$pid" 2>/dev/null || true
        done < <(cat "$group/cgroup.procs" 2>/dev/null)
        sleep 0.2
    done
    throttle_forget || {
        echo "error: processes in $group do not end: kept" >&2
        return 1
    }
}
