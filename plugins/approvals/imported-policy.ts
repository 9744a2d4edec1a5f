/**
 * A policy file of another gateway, as it may be written here. Pure. Never allows more than it did there.
 *
 * Choice: all of it. A value that is unknown here becomes the strictest one. An allowlist entry with an unknown key is
 * left out, because the key may restrict it. Any other unknown key is dropped, unless its name says that it
 * restricts commands: then the file is refused.
 */
import { entryFault, EXEC_POLICY_WORDS } from "@svc/kit/exec";
import { describeViolations, invalidRequest, matches } from "@svc/sdk";
import { AllowedProgram, ExecPolicyFile } from "@svc/sdk/approvals";
import { cut, visible } from "@svc/sdk/cli";

type Fields = Readonly<Record<string, unknown>>;
type Agents = NonNullable<ExecPolicyFile["agents"]>;
type Level = Agents[string];
type Entry = NonNullable<Level["allowlist"]>[number];
/** Records what differs from the file, for people. */
type Note = (change: string) => void;

export interface ImportedPolicy {
  /** Without `socket`. */
  readonly file: ExecPolicyFile;
  /** What differs from the given file, for people; empty: nothing. */
  readonly changes: readonly string[];
}

const WORDS = ["security", "ask", "askFallback"] as const;
/** Parts of the names of keys that restrict commands. */
const PROTECTIVE = [
  "allow",
  "ask",
  "deny",
  "block",
  "policy",
  "security",
  "sandbox",
  "scope",
  "approv",
  "limit",
  "mode",
];
/** Keys of entries that say where an entry is from and when it was used. They restrict nothing. */
const ORIGINS = ["source", "commandText"];
const USAGE = ["lastUsedCommand", "lastResolvedPath"] as const;
const PROGRAM = Object.keys(AllowedProgram.properties);
const ENTRY = new Set(["id", "lastUsedAt", ...USAGE, ...ORIGINS, ...PROGRAM]);

/** @throws GatewayError `INVALID_REQUEST` for a file that cannot be used without allowing more */
export function importedPolicy({ version, socket: _socket, defaults, agents, ...others }: Fields): ImportedPolicy {
  const changes: string[] = [];
  const note: Note = (change) => void changes.push(change);
  dropUnknown("", others, note);
  const named = isFields(agents) ? Object.entries(agents) : [];
  const levels = named.map(([id, level]) => [id, levelOf(`agents.${shown(id)}`, level, note)] as const);
  const file = {
    version,
    ...(defaults === undefined ? {} : { defaults: withoutList(levelOf("defaults", defaults, note)) }),
    ...(agents === undefined ? {} : { agents: isFields(agents) ? Object.fromEntries(levels) : agents }),
  };
  if (!matches(ExecPolicyFile, file)) return refuse(describeViolations(ExecPolicyFile, file));
  return { file: isAskCertain({ defaults, agents }) ? file : withoutFull(file, note), changes };
}

/** Whether a file says anything: a missing rule means that commands are denied. */
export function hasRules({ defaults = {}, agents = {} }: ExecPolicyFile): boolean {
  return [defaults, ...Object.values(agents)].some((level) =>
    Object.values(level).some((value) => !Array.isArray(value) || value.length > 0),
  );
}

/** The rules of an agent, or the defaults. @param place its name, for people */
function levelOf(place: string, given: unknown, note: Note): Level {
  if (!isFields(given)) {
    note(`${place} has no rules that can be read, so it denies all commands`);
    return { security: "deny" };
  }
  const { security: _security, ask: _ask, askFallback: _fallback, autoAllowSkills, allowlist, ...others } = given;
  dropUnknown(`${place}.`, others, note);
  const level: Level = {};
  for (const key of WORDS) {
    const value = given[key];
    if (value !== undefined) level[key] = wordOf(`${place}.${key}`, key, value, note);
  }
  if (typeof autoAllowSkills === "boolean") level.autoAllowSkills = autoAllowSkills;
  else if (autoAllowSkills !== undefined) {
    level.autoAllowSkills = false;
    note(`${place}.autoAllowSkills has an unknown value, so it is false`);
  }
  if (allowlist === undefined) return level;
  if (!Array.isArray(allowlist)) note(`${place}.allowlist is no list, so it is empty`);
  const entries: readonly unknown[] = Array.isArray(allowlist) ? allowlist : [];
  return { ...level, allowlist: entries.flatMap((entry) => entryOf(`${place}.allowlist`, entry, note)) };
}

function wordOf(place: string, key: (typeof WORDS)[number], value: unknown, note: Note): string {
  const [strictest, ...others] = EXEC_POLICY_WORDS[key];
  const known = [strictest, ...others].find((word) => word === value);
  if (known === undefined) note(`${place} has an unknown value, so it is ${strictest}`);
  return known ?? strictest;
}

/** @returns an empty list for an entry that is left out */
function entryOf(place: string, given: unknown, note: Note): readonly Entry[] {
  const entry = typeof given === "string" ? { pattern: given } : given;
  const leaveOut = (why: string) => {
    note(`${place} is without ${isFields(entry) ? shown(entry["pattern"]) : "an entry"}: ${why}`);
    return [];
  };
  if (!isFields(entry)) return leaveOut("it is no entry");
  const unknown = Object.keys(entry).filter((key) => !ENTRY.has(key));
  if (unknown.length > 0) return leaveOut(`${unknown.map(shown).join(", ")} may restrict it`);
  const program = Object.fromEntries(Object.entries(entry).filter(([key]) => PROGRAM.includes(key)));
  if (!matches(AllowedProgram, program)) return leaveOut(describeViolations(AllowedProgram, program));
  const fault = entryFault(program);
  if (fault !== undefined) return leaveOut(fault);
  const { id, lastUsedAt } = entry;
  const texts = USAGE.map((key) => [key, entry[key]] as const).filter(([, text]) => typeof text === "string");
  return [
    {
      ...(typeof id === "string" && id !== "" ? { id } : {}),
      ...program,
      ...(typeof lastUsedAt === "number" && Number.isInteger(lastUsedAt) ? { lastUsedAt } : {}),
      ...Object.fromEntries(texts),
    },
  ];
}

/** @throws GatewayError `INVALID_REQUEST` for a key that seems to restrict commands */
function dropUnknown(place: string, keys: Fields, note: Note): void {
  for (const key of Object.keys(keys)) {
    const name = `${place}${shown(key)}`;
    if (PROTECTIVE.some((part) => key.toLowerCase().includes(part)))
      refuse(`${name} is unknown here and may restrict commands; remove it from the file to go on without it`);
    note(`${name} is unknown here and left out`);
  }
}

/**
 * Whether every agent has an `ask` that means the same here. An unknown word may have meant `off`, and newer
 * versions of the other product read an absent one as `off`: then they deny a miss without a question.
 */
function isAskCertain({ defaults, agents }: Fields): boolean {
  const levels = [defaults, ...(isFields(agents) ? Object.values(agents) : [])];
  const said = levels.flatMap((level) => (isFields(level) && level["ask"] !== undefined ? [level["ask"]] : []));
  const words: readonly unknown[] = EXEC_POLICY_WORDS.ask;
  const all = isFields(agents) ? agents["*"] : undefined;
  const isStated = [defaults, all].some((level) => isFields(level) && level["ask"] !== undefined);
  return isStated && said.every((word) => words.includes(word));
}

/** Where nobody may have been asked, nobody's silence allows a command that is not on the list. */
function withoutFull(file: ExecPolicyFile, note: Note): ExecPolicyFile {
  const capped = (place: string, level: Level): Level => {
    if (level.askFallback !== "full") return level;
    note(`${place}.askFallback is allowlist instead of full, because the file does not say for all agents when to ask`);
    return { ...level, askFallback: "allowlist" };
  };
  const agents = Object.entries(file.agents ?? {}).map(([id, level]) => [id, capped(`agents.${shown(id)}`, level)]);
  return {
    ...file,
    ...(file.defaults ? { defaults: capped("defaults", file.defaults) } : {}),
    ...(file.agents ? { agents: Object.fromEntries(agents) as Agents } : {}), // of the same agents
  };
}

function withoutList({ allowlist: _list, ...level }: Level): Level {
  return level;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Shortens what may be long. */
function shown(name: unknown): string {
  return typeof name === "string" ? visible(cut(name, 100)) : "an entry";
}

function refuse(why: string): never {
  return invalidRequest(`the policy file cannot be used: ${why}`);
}
