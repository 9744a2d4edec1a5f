/** The allowlist of node commands, by platform and configuration. Pure. Spec: protocol/methods-node.md §4. */

export const PLATFORMS = ["ios", "android", "macos", "linux", "windows", "unknown"] as const;
export type Platform = (typeof PLATFORMS)[number];

/** Commands that the configuration adds and removes: exact names; `*` is an ordinary name and matches nothing. */
export interface CommandRules {
  /** Absent and `[]`: none added. */
  readonly allowCommands?: readonly string[] | undefined;
  /** Absent and `[]`: none removed. Takes precedence over everything else. */
  readonly denyCommands?: readonly string[] | undefined;
}

/** Sent only by the gateway itself, bypassing the allowlist; no client may request them. */
export const POLICY_FILE_COMMANDS = { get: "system.execApprovals.get", set: "system.execApprovals.set" } as const;

/** Whether the command is reserved for the gateway, whatever the configuration says. */
export function isGatewayOnly(command: string): boolean {
  return command === POLICY_FILE_COMMANDS.get || command === POLICY_FILE_COMMANDS.set;
}

const SCREENS: readonly Platform[] = ["ios", "android", "macos", "unknown"];
const PERSONAL: readonly Platform[] = ["ios", "android", "macos"];
const DESKTOPS: readonly Platform[] = ["macos", "linux", "windows"];

const DEFAULTS: readonly (readonly [platforms: readonly Platform[], commands: readonly string[]])[] = [
  [
    SCREENS,
    [
      "canvas.present",
      "canvas.hide",
      "canvas.navigate",
      "canvas.eval",
      "canvas.snapshot",
      "canvas.a2ui.push",
      "canvas.a2ui.pushJSONL",
      "canvas.a2ui.reset",
      "camera.list",
      "location.get",
    ],
  ],
  [
    PERSONAL,
    [
      "device.info",
      "device.status",
      "contacts.search",
      "calendar.events",
      "reminders.list",
      "photos.latest",
      "motion.activity",
      "motion.pedometer",
    ],
  ],
  [["android"], ["device.permissions", "device.health", "notifications.list", "notifications.actions"]],
  [PLATFORMS, ["system.notify"]],
  [DESKTOPS, ["system.run.prepare", "system.run", "system.which", "browser.proxy"]],
];

const BY_PLATFORM: ReadonlyMap<Platform, readonly string[]> = new Map(
  PLATFORMS.map((platform) => [
    platform,
    DEFAULTS.flatMap(([platforms, commands]) => (platforms.includes(platform) ? commands : [])),
  ]),
);

/** Commands allowed for nodes of this platform. */
export function allowlistFor(
  platform: Platform,
  { allowCommands = [], denyCommands = [] }: CommandRules,
): ReadonlySet<string> {
  const allowed = new Set([...(BY_PLATFORM.get(platform) ?? []), ...allowCommands]);
  for (const command of denyCommands) allowed.delete(command);
  return allowed;
}

const PREFIXES: readonly (readonly [prefix: string, platform: Platform])[] = [
  ["ios", "ios"],
  ["android", "android"],
  ["mac", "macos"],
  ["darwin", "macos"],
  ["win", "windows"],
  ["linux", "linux"],
];

const FAMILIES: readonly (readonly [token: string, platform: Platform])[] = [
  ["iphone", "ios"],
  ["ipad", "ios"],
  ["ios", "ios"],
  ["android", "android"],
  ["mac", "macos"],
  ["windows", "windows"],
  ["linux", "linux"],
];

/** Determined by the prefix of `platform`, else by a word in `deviceFamily`, else unknown; ignores case. */
export function platformOf(platform: string | undefined, deviceFamily: string | undefined): Platform {
  const name = platform?.trim().toLowerCase() ?? "";
  const byName = PREFIXES.find(([prefix]) => name.startsWith(prefix));
  if (byName) return byName[1];
  const family = deviceFamily?.trim().toLowerCase() ?? "";
  return FAMILIES.find(([token]) => family.includes(token))?.[1] ?? "unknown";
}

/**
 * The configuration change that allows this command. It has the whole list, since `config set` replaces it. No shell command
 * is generated for names with characters that are special in a shell.
 */
export function allowingStep(command: string, { allowCommands = [], denyCommands = [] }: CommandRules): string {
  const isDenied = denyCommands.includes(command);
  const key = `gateway.nodes.${isDenied ? "denyCommands" : "allowCommands"}`;
  const list = isDenied ? denyCommands.filter((name) => name !== command) : [...allowCommands, command];
  const isPlain = list.every((name) => /^[\w.:-]{1,200}$/.test(name));
  return isPlain
    ? `svc config set ${key} '${JSON.stringify(list)}'`
    : `${isDenied ? "remove it from" : "add it to"} ${key}`;
}
