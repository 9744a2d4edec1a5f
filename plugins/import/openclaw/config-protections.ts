/** Settings of OpenClaw that promise a protection which this gateway does not have. Patterns: see `fits`. Pure. */
import { at, dotted, fits, isValues, type Path, type Values } from "./config-paths.ts";

export interface Protection {
  readonly at: string;
  /** What it does in OpenClaw: a sentence without its subject. */
  readonly protects: string;
  /** What stands in its place here: a sentence. */
  readonly instead: string;
  /** Whether this value protects nothing, so that it is dropped. Default: `isOff`. */
  readonly off?: (value: unknown, source: Values) => boolean;
  /** Set when it is given up. */
  readonly substitute?: { readonly path: readonly string[]; readonly value: unknown };
}

const is = (off: unknown) => (value: unknown) => value === off;
const never = () => false;

/** The own mode, else that of the defaults; without one, commands run outside of the sandbox. */
function sandboxOff(value: unknown, source: Values): boolean {
  const mode = at(value, ["mode"]) ?? at(source, ["agents", "defaults", "sandbox", "mode"]) ?? "off";
  return mode === "off";
}

const SANDBOX = {
  protects: "runs commands and files of agents in a container",
  instead:
    "agents run no commands (tools.exec.security deny) until svc config set tools.exec.sandbox.mode require, " +
    "then svc config unset tools.exec.security",
  substitute: { path: ["tools", "exec", "security"], value: "deny" },
} as const;
const ELEVATED = "there are no elevated commands; tools.exec.security and the command policy decide about each command";
const POLICY = "a program that the command policy allows may have any arguments";
const PLUGINS = "only plugins of this gateway are loaded; plugins.use lists the wanted ones";
const COMMANDS = "people listed in channels.<id>.allowFrom give commands";

/** Settings that are never dropped silently; the first that fits counts. */
const PROTECTIONS: readonly Protection[] = [
  { at: "agents.**.sandbox", off: sandboxOff, ...SANDBOX },
  { at: "tools.sandbox", ...SANDBOX, protects: "limits the tools of agents in a container" },
  { at: "**.elevated.enabled", off: is(true), protects: "keeps all commands inside the sandbox", instead: ELEVATED },
  { at: "**.elevated.allowFrom", protects: "lists who may run commands outside of the sandbox", instead: ELEVATED },
  { at: "**.exec.safeBins", protects: "limits programs that need no approval to standard input", instead: POLICY },
  { at: "**.exec.safeBinTrustedDirs", protects: "limits where programs that need no approval lie", instead: POLICY },
  {
    at: "**.exec.safeBinProfiles",
    protects: "limits the arguments of programs that need no approval",
    instead: POLICY,
  },
  {
    at: "**.exec.applyPatch.enabled",
    off: is(true),
    protects: "removes the tool apply_patch",
    instead: "the tool exists; to remove it: svc config set tools.deny '[\"apply_patch\"]'",
  },
  {
    at: "**.exec.applyPatch.workspaceOnly",
    protects: "keeps patches inside the workspace",
    instead: "file tools never leave the workspace, commands may",
  },
  {
    at: "**.exec.{node,host}",
    off: (value) => value === "gateway" || value === "sandbox" || value === "auto",
    protects: "runs commands on another machine",
    instead: "agents run no commands: tools.exec.security is deny",
    substitute: SANDBOX.substitute,
  },
  {
    at: "agents.**.exec.{security,ask}",
    off: (value) => value === "full" || value === "off",
    protects: "limits the commands of one agent",
    instead: "tools.exec and the command policy of the agent count: svc approvals get",
  },
  {
    at: "**.loopDetection",
    off: (value) => at(value, ["enabled"]) === false,
    protects: "stops runs that call the same tool again and again",
    instead: "a run ends after agents.defaults.timeoutSeconds and maxToolRounds",
  },
  {
    at: "tools.message.broadcast.enabled",
    off: is(true),
    protects: "forbids messages to many chats at once",
    instead: "the tool message writes to one chat at a time",
  },
  {
    at: "gateway.remote.tlsFingerprint",
    protects: "pins the certificate of a remote gateway",
    instead: "clients of this gateway have a setting of their own",
  },
  { at: "plugins.enabled", off: is(true), protects: "loads no plugins", instead: PLUGINS },
  { at: "plugins.{allow,deny}", protects: "lists which plugins are loaded", instead: PLUGINS },
  { at: "commands.allowFrom", protects: "lists who gives commands in chats", instead: COMMANDS },
  { at: "commands.ownerAllowFrom", protects: "lists the owners in chats", instead: COMMANDS },
  {
    at: "{bindings,hooks}.**.match",
    off: never,
    protects: "limits what the rule applies to",
    instead: "the rule applies without this condition",
  },
  {
    at: "agents.defaults.skills",
    off: never,
    protects: "limits the skills of agents",
    instead: "agents have all skills",
  },
  {
    at: "channels.**.skills",
    off: never,
    protects: "limits the skills in a chat",
    instead: "the agent has all its skills",
  },
  {
    at: "channels.**.{users,roles}",
    protects: "lists who is read in a group",
    instead: "groupAllowFrom counts, by default everyone",
  },
  {
    at: "channels.**.{groups,topics,direct,guilds,channels}.*.{enabled,allow}",
    off: is(true),
    protects: "excludes one chat",
    instead: "all chats that groups permits are read",
  },
];

/** A setting counts as protective if it is unknown here and its path contains one of these. */
const WORDS = /allow|deny|policy|sandbox|auth|tls|scope|approv|verify|limit|secret/iu;

/** Settings whose paths contain such a word and that protect nothing, or only what does not exist here. */
const HARMLESS: readonly string[] = [
  "channels.**.{textChunkLimit,historyLimit,dmHistoryLimit,dms,errorPolicy,network}",
  "channels.**.{allowBots,dangerouslyAllowNameMatching,allowNameMatching,execApprovals}",
  "agents.**.contextLimits",
  "**.exec.approvalRunningNoticeMs",
  "models.providers.*.auth",
  "models.providers.*.models[].compat",
];

/** Whether a value switches a protection off, or protects nothing. */
function isOff(key: string, value: unknown): boolean {
  if (value === null || value === "" || value === "off") return true;
  if (Array.isArray(value)) return value.length === 0 || (value.includes("*") && !/deny/iu.test(key));
  if (isValues(value)) return Object.keys(value).length === 0;
  return typeof value === "boolean" && value === LOOSENING.test(key);
}

/** Switches that permit something when they are on. */
const LOOSENING = /^(?:allow|dangerous|insecure|no[A-Z]|skip|disable|bypass)/u;

export interface Protected {
  readonly path: Path;
  /** Absent: the value protects nothing. */
  readonly entry?: Pick<Protection, "protects" | "instead" | "substitute">;
}

/**
 * The protective settings among some of the source.
 * @param paths of leaves, see `leaves`
 * @param instead also those that only look protective, with this text; absent: the settings are known to have no effect
 */
export function protectionsAmong(source: Values, paths: readonly Path[], instead?: string): Protected[] {
  const found = new Map<string, Protected>();
  for (const path of paths) {
    const listed = PROTECTIONS.find((one) => fits(one.at, path) !== undefined);
    const word = path.findIndex((step) => WORDS.test(String(step)));
    if (listed) {
      const whole = path.slice(0, fits(listed.at, path));
      const value = at(source, whole);
      const isOffHere = listed.off ? listed.off(value, source) : isOff(String(whole.at(-1)), value);
      found.set(dotted(whole), { path: whole, ...(isOffHere ? {} : { entry: listed }) });
    } else if (instead !== undefined && word >= 0 && !HARMLESS.some((one) => fits(one, path) !== undefined)) {
      const isOffHere = isOff(String(path.at(-1)), at(source, path));
      found.set(dotted(path), {
        path,
        ...(isOffHere ? {} : { entry: { protects: "looks like a protection", instead } }),
      });
    }
  }
  return [...found.values()];
}
