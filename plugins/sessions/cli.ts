/** `svc sessions ...`: shows, changes and deletes conversations of a running gateway. */
import { type GatewayError, invalidRequest, notFound, type ParamsOf } from "@svc/sdk";
import { askingWith, type CommandContext, defineCommands, show } from "@svc/sdk/cli";
import { type DetailCode, detailsCode } from "@svc/sdk/errors";
import { sessions } from "@svc/sdk/sessions";
import { sessionsUsage } from "@svc/sdk/usage";
import { compactLines, entryLines, listLines, previewLines, usageLines } from "./cli-text.ts";

type Client = Awaited<ReturnType<CommandContext["connect"]>>;
type PatchParams = ParamsOf<typeof sessions.patch>;

const READ = ["operator.read"];
const ADMIN = ["operator.admin"];
const ask = askingWith({ plugin: "sessions", step: nextStep });
/** Rows of `sessions list` without `--limit`. Choice. */
const LISTED = 50;
/** Messages of `sessions show` without `--messages`. Choice. */
const SHOWN = 10;

/** Options of `sessions patch`, and the field each one sets. */
const PATCH_OPTIONS = [
  ["label", "label", "<text>", "name to find it by"],
  ["model", "model", "<ref>", "model for this session: provider/model, an id or an alias"],
  ["thinking", "thinkingLevel", "<level>", "off, minimal, low, medium, high, xhigh or adaptive"],
  ["verbose", "verboseLevel", "<level>", "off, on or full"],
  ["reasoning", "reasoningLevel", "<level>", "off, on or stream"],
  ["elevated", "elevatedLevel", "<level>", "off; ask: every command needs approval"],
  ["responseUsage", "responseUsage", "<mode>", "off, tokens or full"],
  ["sendPolicy", "sendPolicy", "<policy>", "allow or deny"],
  ["groupActivation", "groupActivation", "<mode>", "mention or always"],
  ["execHost", "execHost", "<host>", "where commands may run: sandbox, gateway or node"],
  [
    "execSecurity",
    "execSecurity",
    "<mode>",
    "commands that may run at most: none (deny), those on the allowlist (allowlist) or all (full)",
  ],
  ["execAsk", "execAsk", "<mode>", "when approval is required at least: off, on-miss or always"],
  ["execNode", "execNode", "<id>", "the only node that commands may run on"],
] as const;

const CLEARABLE = PATCH_OPTIONS.map(([, field]) => field);
const flagOf = (option: string) => `--${option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

export default defineCommands([
  {
    name: "sessions list",
    summary: "List the newest conversations",
    options: [
      { flags: "--limit <n>", description: `rows to show, default ${LISTED}` },
      { flags: "--agent <id>", description: "only conversations of this agent" },
      { flags: "--search <text>", description: "only conversations with this text in name, label, subject, id or key" },
      { flags: "--active <minutes>", description: "only conversations used within this many minutes" },
      { flags: "--archived", description: "only archived conversations, which are not listed otherwise" },
    ],
    examples: ["svc sessions list", "svc sessions list --agent main --active 60", "svc sessions list --json"],
    async run(context) {
      const { options } = context;
      const search = text(options, "search");
      const agentId = text(options, "agent");
      const activeMinutes = count(options, "active");
      const archived = options["archived"] === true;
      const answer = await ask(context, READ, (client) =>
        client.call(sessions.list, {
          includeGlobal: agentId === undefined,
          includeDerivedTitles: true,
          limit: count(options, "limit") ?? LISTED,
          ...(agentId !== undefined && { agentId }),
          ...(search !== undefined && { search }),
          ...(activeMinutes !== undefined && { activeMinutes }),
          ...(archived && { archived }),
        }),
      );
      const filtered = search !== undefined || agentId !== undefined || activeMinutes !== undefined || archived;
      show(context, answer, ({ sessions: rows, ts }) => listLines(rows, ts, filtered));
    },
  },
  {
    name: "sessions show",
    summary: "Show a conversation's settings and last messages",
    args: "<key>",
    options: [{ flags: "--messages <n>", description: `messages to show, at most 50, default ${SHOWN}` }],
    examples: ["svc sessions show main", "svc sessions show main --messages 30"],
    async run(context) {
      const limit = count(context.options, "messages") ?? SHOWN;
      const answer = await ask(context, READ, (client) => readSession(client, keyOf(context), limit));
      show(context, answer, ({ entry, preview }) => [...entryLines(entry), "", ...previewLines(preview)]);
    },
  },
  {
    name: "sessions patch",
    summary: "Change the settings of a conversation",
    args: "<key>",
    options: [
      ...PATCH_OPTIONS.map(([option, , value, description]) => ({ flags: `${flagOf(option)} ${value}`, description })),
      {
        flags: "--clear <fields>",
        description: `fields to set back to the default, separated by commas: ${CLEARABLE.join(", ")}`,
      },
    ],
    examples: ["svc sessions patch main --thinking high", "svc sessions patch main --clear model,label"],
    async run(context) {
      const params = patchParams(keyOf(context), context.options);
      const answer = await ask(context, ADMIN, (client) => client.call(sessions.patch, params));
      show(context, answer, ({ key, entry, resolved }) => [`changed ${key}`, ...entryLines({ ...entry, ...resolved })]);
    },
  },
  {
    name: "sessions reset",
    summary: "Start a conversation afresh; its messages are archived",
    args: "<key>",
    examples: ["svc sessions reset main"],
    async run(context) {
      const params = { key: keyOf(context), reason: "reset" as const };
      const answer = await ask(context, ADMIN, (client) => client.call(sessions.reset, params));
      show(context, answer, ({ key, entry }) => [`${key} starts afresh with session id ${entry.sessionId}`]);
    },
  },
  {
    name: "sessions delete",
    summary: "Delete a conversation; its messages are archived",
    args: "<key>",
    examples: ["svc sessions delete notes"],
    async run(context) {
      const answer = await ask(context, ADMIN, (client) => client.call(sessions.delete, { key: keyOf(context) }));
      if (!answer.deleted) notFound(`no session "${answer.key}"; to list sessions: svc sessions list`);
      show(context, answer, ({ key, archived }) => [
        `deleted ${key}`,
        ...archived.map((name) => `its messages are archived as ${name}`),
      ]);
    },
  },
  {
    name: "sessions compact",
    summary: "Keep only the last messages of a conversation; the others are archived",
    args: "<key>",
    options: [{ flags: "--keep <n>", description: "messages to keep, default 400" }],
    examples: ["svc sessions compact main --keep 100"],
    async run(context) {
      const maxLines = count(context.options, "keep");
      const params = { key: keyOf(context), ...(maxLines !== undefined && { maxLines }) };
      const answer = await ask(context, ADMIN, (client) => client.call(sessions.compact, params));
      if (answer.reason === "no sessionId") {
        notFound(`no session "${answer.key}"; to list sessions: svc sessions list`);
      }
      show(context, answer, compactLines);
    },
  },
  {
    name: "sessions usage",
    summary: "Show tokens and cost of one conversation or all",
    args: "[key]",
    options: [
      { flags: "--since <date>", description: "first day, YYYY-MM-DD; default: 30 days" },
      { flags: "--until <date>", description: "last day, YYYY-MM-DD" },
      { flags: "--limit <n>", description: `conversations to show, default ${LISTED}` },
    ],
    examples: ["svc sessions usage", "svc sessions usage main --since 2026-03-01 --until 2026-03-31"],
    async run(context) {
      const [key] = context.args;
      const startDate = text(context.options, "since");
      const endDate = text(context.options, "until");
      if ((startDate === undefined) !== (endDate === undefined)) {
        invalidRequest(
          "--since and --until go together; give both: svc sessions usage --since 2026-03-01 --until 2026-03-31",
        );
      }
      const answer = await ask(context, READ, (client) =>
        client.call(sessionsUsage.report, {
          mode: "gateway",
          limit: count(context.options, "limit") ?? LISTED,
          ...(key !== undefined && { key }),
          ...(startDate !== undefined && endDate !== undefined && { startDate, endDate }),
        }),
      );
      if (key !== undefined && answer.sessions.length === 0) {
        notFound(`no session "${key}"; to list sessions: svc sessions list`);
      }
      show(context, answer, usageLines);
    },
  },
]);

const STEPS: Readonly<Partial<Record<DetailCode, string>>> = {
  MAIN_SESSION: "svc sessions reset main",
  INVALID_PARAM: "svc sessions patch --help",
  UNKNOWN_MODEL: "svc models list",
  MODEL_NOT_ALLOWED: "svc models list",
  THINKING_NOT_SUPPORTED: "svc models list",
};

function nextStep(refusal: GatewayError): string {
  if (refusal.code === "UNAVAILABLE") return "wait until its run has ended, or check the gateway: svc gateway status";
  const code = detailsCode(refusal);
  return (code && STEPS[code]) ?? "svc sessions list";
}

/** The settings and last messages of a session; changes nothing. */
async function readSession(client: Client, given: string, limit: number) {
  const special = { includeGlobal: true, includeUnknown: true };
  const found = await client.call(sessions.resolve, { key: given, ...special });
  const key = found.ok ? found.key : given;
  const [list, { previews }] = await Promise.all([
    client.call(sessions.list, { key }),
    client.call(sessions.preview, { keys: [key], limit, maxChars: 2000 }),
  ]);
  const entry = list.sessions[0] ?? { key };
  return { key, entry, preview: previews[0] ?? { key, status: "missing" as const, items: [] } };
}

/** @throws GatewayError `INVALID_REQUEST` for an empty patch, or a field that cannot be cleared */
export function patchParams(key: string, options: Readonly<Record<string, unknown>>): PatchParams {
  const cleared = (text(options, "clear") ?? "")
    .split(",")
    .map((field) => field.trim())
    .filter((field) => field !== "");
  const unknown = cleared.find((field) => !CLEARABLE.some((known) => known === field));
  if (unknown !== undefined) invalidRequest(`--clear: unknown field "${unknown}"; use ${CLEARABLE.join(", ")}`);
  const given = PATCH_OPTIONS.flatMap(([option, field]) => {
    const value = text(options, option);
    return value === undefined ? [] : [[field, value] as const];
  });
  const fields = Object.fromEntries([...cleared.map((field) => [field, null] as const), ...given]);
  if (Object.keys(fields).length === 0) {
    invalidRequest("nothing to change; for the options run: svc sessions patch --help");
  }
  return { ...fields, key } as PatchParams; // the gateway checks every value
}

function keyOf({ args }: CommandContext): string {
  const [key = ""] = args;
  return key.trim() === "" ? invalidRequest("give a session key, e.g. main; to list sessions: svc sessions list") : key;
}

function text(options: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}

function count(options: Readonly<Record<string, unknown>>, name: string): number | undefined {
  const value = text(options, name);
  if (value === undefined) return undefined;
  return /^[1-9]\d{0,8}$/.test(value)
    ? Number(value)
    : invalidRequest(`--${name} takes a whole number from 1, not "${value}"; e.g. --${name} 10`);
}
