/**
 * Profiles of programs that report on the machine, or only print. Deliberately omitted: options that set the clock or
 * the name (`date -s`, `hostname x`).
 */
import type { Profile, Profiles } from "./profile.ts";

const raw: Profile = { style: "raw" };
const cal: Profile = { flags: "-1 -3 -h -j -y", operands: /^[A-Za-z0-9]+$/, most: 2 };

export const SYSTEM: Profiles = {
  echo: raw,
  printf: raw,
  expr: raw,
  true: raw,
  false: raw,
  seq: {
    flags: "-w --equal-width",
    values: { "-f": "text", "--format": "text", "-s": "text", "--separator": "text" },
    operands: /^[\d.+eE-]+$/,
    most: 3,
  },
  sleep: { operands: /^[\d.]+[smhd]?$/ },
  // An operand without + sets the clock.
  date: {
    flags: "-u -R -I -Idate -Ihours -Iminutes -Iseconds -Ins --utc --universal --rfc-email",
    values: {
      "-d": "text",
      "--date": "text",
      "-r": "path",
      "--reference": "path",
      "--rfc-3339": /^(date|seconds|ns)$/,
    },
    optional: { "--iso-8601": /^(date|hours|minutes|seconds|ns)$/ },
    operands: /^\+[^]*$/,
    most: 1,
  },
  cal,
  ncal: cal,
  whoami: {},
  logname: {},
  tty: { flags: "-s --silent --quiet" },
  nproc: { flags: "--all", values: { "--ignore": "number" } },
  id: { flags: "-a -g -G -n -r -u -z --group --groups --name --real --user --zero", operands: "text" },
  groups: { operands: "text" },
  uname: {
    flags: `-a -i -m -n -o -p -r -s -v --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor
      --hardware-platform --operating-system`,
  },
  // An operand sets the host name.
  hostname: {
    flags: "-a -A -d -f -i -I -s --alias --all-fqdns --domain --fqdn --long --ip-address --all-ip-addresses --short",
  },
  uptime: { flags: "-p -s --pretty --since" },
  free: {
    flags:
      "-b -k -m -g -h -l -t -v -w --bytes --kibi --mebi --gibi --kilo --mega --giga --human --si --lohi --total --wide",
  },
};
