/** The values that `sessions.patch` accepts for each setting, with their aliases. Pure. Spec: protocol/methods-sessions.md §5. */
import { refusal } from "@svc/sdk/errors";
import { parseThinkingLevel, THINKING_LEVELS } from "@svc/sdk/models";

interface Words {
  readonly values: readonly string[];
  readonly aliases?: Readonly<Record<string, string>>;
  /** Values of the contract that are refused, each with the reason and the alternative. */
  readonly refused?: Readonly<Record<string, string>>;
}

const OFF = { false: "off", no: "off", "0": "off", disable: "off", disabled: "off" };
const ON = { true: "on", yes: "on", "1": "on", enable: "on", enabled: "on" };

const NOT_WIDENED = "session settings can only restrict commands; to allow more, use: svc approvals security";

/** Choice: `on` and `full` of `elevatedLevel` would allow commands more than the policy does, so they are refused. */
const WORDS = {
  verboseLevel: { values: ["off", "on", "full"], aliases: { ...OFF, ...ON, all: "full" } },
  reasoningLevel: { values: ["off", "on", "stream"], aliases: { ...OFF, ...ON } },
  elevatedLevel: {
    values: ["off", "ask"],
    aliases: { ...OFF, ...ON },
    refused: { on: NOT_WIDENED, full: NOT_WIDENED },
  },
  execHost: { values: ["sandbox", "gateway", "node"] },
  execSecurity: { values: ["deny", "allowlist", "full"] },
  execAsk: { values: ["off", "on-miss", "always"] },
} as const satisfies Record<string, Words>;

export type WordField = keyof typeof WORDS;

export const WORD_FIELDS = Object.keys(WORDS) as readonly WordField[]; // the keys of exactly that object

/** @throws GatewayError `INVALID_REQUEST` with the accepted values */
export function wordOf(field: WordField, given: string): string {
  const { values, aliases = {}, refused = {} }: Words = WORDS[field];
  const word = given.trim().toLowerCase();
  const meant = Object.hasOwn(aliases, word) ? aliases[word] : word;
  const why = meant !== undefined && Object.hasOwn(refused, meant) ? refused[meant] : undefined;
  if (why !== undefined) {
    const message = `${field} "${given}" is not accepted: ${why}; use one of ${values.join(", ")}, or null to clear it`;
    throw refusal("INVALID_PARAM", message, { param: field });
  }
  return values.find((value) => value === meant) ?? refuse(field, given, values);
}

/** @throws GatewayError `INVALID_REQUEST` with the accepted levels */
export function thinkingOf(given: string): string {
  return parseThinkingLevel(given) ?? refuse("thinkingLevel", given, THINKING_LEVELS);
}

function refuse(field: string, given: string, values: readonly string[]): never {
  const message = `invalid ${field} "${given}"; use one of ${values.join(", ")}, or null to clear it`;
  throw refusal("INVALID_PARAM", message, { param: field });
}
