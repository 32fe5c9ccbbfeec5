#!/bin/sh
# rootfs.sh VENV TO: a root file system for a virtual environment: the system's Python, every system library that
# Python or the packages ask for, a user without rights, /tmp and /data. The notices of what is copied come along.
set -eu
venv=$1 to=$2
mkdir -p "$to"/etc "$to"/usr/bin "$to"/usr/lib "$to"/usr/share/doc "$to"/var/lib/dpkg/status.d "$to"/data "$to"/tmp
for folder in bin lib lib64; do ln -s "usr/$folder" "$to/$folder"; done
cp -a /usr/bin/python3* "$to/usr/bin"
cp -a /usr/lib/python3* "$to/usr/lib"
for unused in test pydoc_data lib2to3 idlelib ensurepip distutils tkinter turtledemo; do
    rm -rf "$to"/usr/lib/python3*/"$unused"
done
cp -a --parents /etc/python3* /etc/os-release /etc/ssl /usr/lib/os-release "$to"
find /usr/bin/python3 /usr/lib/python3*/lib-dynload "$venv" \( -name '*.so*' -o -name python3 \) -exec ldd {} + 2>/dev/null |
    grep -oE '(=> |^[[:space:]]+)/[^ ]+' | grep -oE '/.*' | grep -v "^$venv" | sort -u >/tmp/libraries
while read -r library; do
    case $library in /usr/*) path=$library ;; *) path=/usr$library ;; esac
    mkdir -p "$to$(dirname "$path")"
    cp -L "$library" "$to$path"
    dpkg -S "$library" "$path" 2>/dev/null | cut -d: -f1
done </tmp/libraries | sort -u >/tmp/packages
dpkg -S /usr/bin/python3.* /usr/lib/python3.*/os.py | cut -d: -f1 >>/tmp/packages
sort -u /tmp/packages | while read -r package; do
    dpkg-query -s "$package" >"$to/var/lib/dpkg/status.d/$package"
    if [ -f "/usr/share/doc/$package/copyright" ]; then cp --parents -L "/usr/share/doc/$package/copyright" "$to"; fi
done
echo 'ringmt:x:10001:10001::/tmp:/usr/sbin/nologin' >"$to/etc/passwd"
echo 'ringmt:x:10001:' >"$to/etc/group"
echo 'hosts: files dns' >"$to/etc/nsswitch.conf"
chown 10001:10001 "$to/data"
chmod 1777 "$to/tmp"
