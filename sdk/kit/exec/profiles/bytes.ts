/**
 * Profiles of programs that print bytes, checksums and encodings. Deliberately omitted: flags that write (`xxd -r`),
 * and lists of files to check (`sha256sum -c`).
 */
import type { Profile, Profiles } from "./profile.ts";

const hash: Profile = { flags: "-b -t -z --binary --text --zero --tag", operands: "path" };
const base: Profile = {
  flags: "-d -D -i --decode --ignore-garbage",
  values: { "-w": "number", "--wrap": "number" },
  operands: "path",
  most: 1,
};

export const BYTES: Profiles = {
  md5sum: hash,
  sha1sum: hash,
  sha224sum: hash,
  sha256sum: hash,
  sha384sum: hash,
  sha512sum: hash,
  b2sum: { ...hash, values: { "-l": "number", "--length": "number" } },
  cksum: {
    flags: "-z --zero --tag --untagged --raw --base64",
    values: { "-a": /^[a-z0-9]+$/, "--algorithm": /^[a-z0-9]+$/ },
    operands: "path",
  },
  sum: { flags: "-r -s --sysv", operands: "path" },
  base64: base,
  base32: base,
  od: {
    flags: "-b -c -d -o -v -x --output-duplicates",
    values: {
      "-A": /^[doxn]$/,
      "-j": "number",
      "-N": "number",
      "-t": /^[acdfoux0-9zCFDILS]+$/,
    },
    operands: "path",
  },
  hexdump: {
    flags: "-b -c -C -d -o -v -x",
    values: { "-n": "number", "-s": "number" },
    operands: "path",
  },
  // A second operand is an output file.
  xxd: {
    flags: "-a -b -e -i -p -u",
    values: { "-c": "number", "-g": "number", "-l": "number", "-s": "number" },
    operands: "path",
    most: 1,
  },
  strings: {
    flags: "-a -f -w --all --print-file-name",
    values: { "-n": "number", "-t": /^[dox]$/, "-e": /^[sSblBL]$/ },
    digits: true,
    operands: "path",
  },
};
