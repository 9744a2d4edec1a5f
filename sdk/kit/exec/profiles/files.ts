/**
 * Profiles of programs that inspect files and directories. Deliberately omitted: flags that run a program (`find
 * -exec`), write or delete (`find -delete`, `find -fprint`, `tree -o`, `tree -R`, `file -C`), load code (`file -m`),
 * unpack (`file -z`), read file names from a file, or follow links.
 */
import type { Profile, Profiles } from "./profile.ts";

const WHEN = /^(auto|always|never)$/;

const which: Profile = { flags: "-a -s", operands: "text" };

const onFile = "-e -f -d -r -w -x -s -L -h -p -S -b -c -g -k -u -O -G"
  .split(" ")
  .map((flag) => [flag, "path"] as const);
const test: Profile = {
  style: "words",
  flags: "! ( ) ] = == != < > -eq -ne -lt -le -gt -ge -a -o",
  values: { ...Object.fromEntries(onFile), "-n": "text", "-z": "text" },
  operands: "text",
};

export const FILES: Profiles = {
  ls: {
    flags: `-1 -a -A -b -B -c -C -d -f -F -g -G -h -i -k -l -m -n -N -o -p -q -Q -r -R -s -S -t -u -U -v -x -X -Z --all --almost-all
      --author --escape --ignore-backups --directory --full-time --group-directories-first --no-group --human-readable --si --inode
      --kibibytes --numeric-uid-gid --literal --hide-control-chars --quote-name --reverse --recursive --size --context --zero`,
    values: {
      "--sort": /^(none|size|time|version|extension|width|name)$/,
      "--time": /^(atime|access|use|ctime|status|birth|creation|mtime|modification)$/,
      "--format": /^(across|commas|horizontal|long|single-column|verbose|vertical)$/,
      "--time-style": "text",
      "--block-size": /^\d*[A-Za-z]*$/,
      "--ignore": "text",
      "--hide": "text",
    },
    optional: { "--color": WHEN, "--classify": WHEN },
    operands: "path",
    walks: true,
  },
  tree: {
    flags: `-a -d -D -f -F -g -h -i -J -n -N -p -q -Q -r -s -t -u -U -v -x -X -C --dirsfirst --filesfirst --du --gitignore --noreport
      --prune --si --inodes --device`,
    values: { "-L": "number", "--filelimit": "number" },
    operands: "path",
    walks: true,
  },
  find: {
    style: "words",
    flags: `-P ! ( ) , -a -and -o -or -not -print -print0 -prune -empty -true -false -readable -writable -executable -xdev -mount
      -depth -d -ls -daystart -quit -nouser -nogroup -noleaf -warn -nowarn`,
    values: {
      "-name": "text",
      "-iname": "text",
      "-path": "text",
      "-ipath": "text",
      "-wholename": "text",
      "-regex": "text",
      "-iregex": "text",
      "-regextype": /^[a-z][a-z-]*$/,
      "-type": /^[a-zA-Z,]+$/,
      "-maxdepth": "number",
      "-mindepth": "number",
      "-size": "number",
      "-links": "number",
      "-inum": "number",
      "-mtime": "number",
      "-mmin": "number",
      "-ctime": "number",
      "-cmin": "number",
      "-atime": "number",
      "-amin": "number",
      "-newermt": "text",
      "-newer": "path",
      "-perm": /^[-/+]?[\dugoarwxst=,+]+$/,
      "-user": "text",
      "-group": "text",
      "-uid": "number",
      "-gid": "number",
      "-printf": "text",
    },
    operands: "path",
    walks: true,
  },
  stat: {
    flags: "-L -t -x --dereference --terse",
    values: { "-c": "text", "--format": "text", "--printf": "text" },
    operands: "path",
  },
  file: {
    flags: `-b -h -i -I -k -L -N -n -r -0 --brief --mime --mime-type --mime-encoding --keep-going --dereference --no-dereference --no-pad
      --raw --extension --print0`,
    operands: "path",
  },
  du: {
    flags: `-a -b -c -h -k -l -m -s -S -x -0 --all --apparent-size --bytes --total --human-readable --count-links --summarize
      --separate-dirs --one-file-system --si --null --inodes`,
    values: {
      "-d": "number",
      "--max-depth": "number",
      "-B": /^\d*[A-Za-z]*$/,
      "--block-size": /^\d*[A-Za-z]*$/,
      "-t": "number",
      "--threshold": "number",
      "--exclude": "text",
    },
    operands: "path",
    walks: true,
  },
  df: {
    flags: `-a -h -H -i -k -l -m -P -T --all --human-readable --si --inodes --local --portability --print-type --total`,
    optional: { "--output": /^[a-z,]+$/ },
    operands: "path",
  },
  realpath: {
    flags: `-e -L -m -P -q -s -z --canonicalize-existing --logical --canonicalize-missing --physical --quiet --strip --no-symlinks
      --zero`,
    values: { "--relative-to": "path", "--relative-base": "path" },
    operands: "path",
  },
  readlink: {
    flags: `-e -f -m -n -q -s -v -z --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose
      --zero`,
    operands: "path",
  },
  basename: { flags: "-a -z --multiple --zero", values: { "-s": "text", "--suffix": "text" }, operands: "text" },
  dirname: { flags: "-z --zero", operands: "text" },
  pwd: { flags: "-L -P --logical --physical" },
  which,
  "which.debianutils": which, // the target of Debian's links
  test,
  "[": test,
};
