/** `svc approvals ...`: answers questions, and configures which commands need none. */
import { bounded, type QuestionAnswer } from "@svc/kit/exec";
import { parseDuration } from "@svc/kit/time";
import { invalidRequest } from "@svc/sdk";
import { execApproval, execApprovals } from "@svc/sdk/approvals";
import { askingWith, type CommandContext, defineCommands, show, showFindings, visible } from "@svc/sdk/cli";
import { approvalFindings } from "./cli-doctor.ts";
import {
  added,
  allowlistNote,
  entryNotes,
  entryOf,
  entryText,
  type EntryWords,
  hashOption,
  removed,
} from "./cli-allowlist.ts";
import { givenPolicy, nodeNamed, readPolicy, ruledBy, wordOption, writePolicy } from "./cli-policy.ts";
import { approvalLines, grantLines, policyLines } from "./cli-text.ts";
import { watchQuestions } from "./cli-watch.ts";

type Client = Awaited<ReturnType<CommandContext["connect"]>>;

const APPROVALS = ["operator.approvals"];
const ADMIN = ["operator.admin"];
const ask = askingWith({ plugin: "approvals", step: "svc approvals list" });
/** Questions searched for the prefix of an id. */
const SEARCHED = 500;
const MAX_LISTED = 500;
const NODE = {
  flags: "--node <node>",
  description: "use the policy file of this node (name or id) instead of the gateway's",
};
const AGENT = { flags: "--agent <id>", description: "agent to which it applies, * for all; default main" };
const ENTRY = [
  { flags: "--exact", description: "allow exactly the given arguments, possibly none" },
  { flags: "--any-arguments", description: "allow every argument, and thereby any command" },
  {
    flags: "--sha256 <hex>",
    description: "hash of the program or its script; required when agents can write that file",
  },
];

export default defineCommands([
  {
    name: "approvals list",
    summary: "List pending approval requests, and the latest decisions",
    options: [{ flags: "--limit <n>", description: `maximum rows, up to ${MAX_LISTED}; default 50` }],
    examples: ["svc approvals list", "svc approvals list --json"],
    async run(context) {
      const limit = limitOption(context);
      const params = limit === undefined ? {} : { limit };
      show(context, await ask(context, APPROVALS, (client) => client.call(execApproval.list, params)), approvalLines);
    },
  },
  {
    name: "approvals watch",
    summary: "Show each approval request as it arrives, and answer it",
    help: [
      "While it runs, an approver is connected; a question counts as a no at once when no approver is connected.",
      "Each input line answers the oldest question: y, n or always; s allows what the question offers for the session, for one hour.",
      "With --json, prints one event per line and reads no answers.",
    ],
    examples: ["svc approvals watch", "svc approvals watch --json"],
    run: watchQuestions,
  },
  {
    name: "approvals allow",
    summary: "Allow a request: once, for a time, for the session, or always",
    args: "<id>",
    options: [
      { flags: "--for <time>", description: "also allow exactly the same without asking, for this time: 1m to 90d" },
      {
        flags: "--session",
        description: "allow what the question offers for the session: for 1h, or the time of --for, at most 24h",
      },
      { flags: "--always", description: "also allow exactly the same without asking, for 90 days" },
    ],
    examples: [
      "svc approvals allow 3f1c",
      "svc approvals allow 3f1c --for 1h",
      "svc approvals allow 3f1c --session",
      "svc approvals allow 3f1c --always",
    ],
    run: async (context) => decide(context, allowance(context.options)),
  },
  {
    name: "approvals deny",
    summary: "Deny a request",
    args: "<id>",
    examples: ["svc approvals deny 3f1c"],
    run: (context) => decide(context, { decision: "deny" }),
  },
  {
    name: "approvals grants",
    summary: "List grants: what is allowed, where, until when and by whom",
    examples: ["svc approvals grants", "svc approvals grants --json"],
    async run(context) {
      const found = await ask(context, ADMIN, (client) => client.call(execApprovals.grants, {}));
      show(context, found, (all) => grantLines(all, Date.now()));
    },
  },
  {
    name: "approvals forget",
    summary: "Revoke a grant",
    args: "<digest>",
    examples: ["svc approvals grants", "svc approvals forget 9be2"],
    run: forget,
  },
  {
    name: "approvals get",
    summary: "Show the command policy of this gateway or of a node",
    options: [NODE],
    examples: ["svc approvals get", "svc approvals get --json > policy.json", "svc approvals get --node my-laptop"],
    async run(context) {
      const read = async (client: Client) => readPolicy(client, await nodeNamed(client, context.options));
      show(context, await ask(context, ADMIN, read), policyLines);
    },
  },
  {
    name: "approvals set",
    summary: "Replace the command policy of this gateway or of a node",
    options: [
      { flags: "--file <path>", description: "policy file, or output of get --json; - reads standard input" },
      NODE,
    ],
    examples: ["svc approvals set --file policy.json", "svc approvals set --file - --node my-laptop"],
    async run(context) {
      const given = await givenPolicy(context);
      const after = await ask(context, ADMIN, async (client) => {
        const node = await nodeNamed(client, context.options);
        const baseHash = given.hash ?? (await readPolicy(client, node)).hash;
        return writePolicy(client, node, given.file, baseHash);
      });
      show(context, after, policyLines);
    },
  },
  {
    name: "approvals security",
    summary: "Set which commands an agent may run: none, its allowlist, or all",
    args: "<deny|allowlist|full>",
    options: [
      { flags: "--ask <when>", description: "off, on-miss or always: when people are asked" },
      { flags: "--fallback <what>", description: "deny, allowlist or full: rule when nobody answers" },
      AGENT,
      NODE,
    ],
    examples: ["svc approvals security allowlist --ask on-miss --node my-laptop", "svc approvals security deny"],
    run: changeSecurity,
  },
  {
    name: "approvals allowlist add",
    summary: "Add a program to an agent's allowlist",
    args: "<pattern> [arguments...]",
    options: [...ENTRY, AGENT, NODE],
    help: [
      "Without arguments the program needs a profile, which lists the arguments that only read, and only in the workspace. Arguments after --",
      "are allowed exactly as given. --any-arguments allows any command through that program. If agents can write the program, or the script that",
      "it runs, --sha256 is required as well: the entry applies while that file has this content.",
    ],
    examples: [
      "svc approvals allowlist add /usr/bin/rg",
      "svc approvals allowlist add /usr/bin/systemctl -- is-active nginx",
      "svc approvals allowlist add '~/tools/*' --any-arguments --agent ops",
      'svc approvals allowlist add ~/deploy.sh --exact --sha256 "$(sha256sum ~/deploy.sh | cut -c1-64)"',
    ],
    run: (context) => changeAllowlist(context, "add"),
  },
  {
    name: "approvals allowlist remove",
    summary: "Remove a program from an agent's allowlist",
    args: "<pattern> [arguments...]",
    options: [...ENTRY, AGENT, NODE],
    help: ["A pattern alone removes all its entries."],
    examples: [
      "svc approvals allowlist remove /usr/bin/rg",
      "svc approvals allowlist remove /usr/bin/systemctl -- is-active nginx",
    ],
    run: (context) => changeAllowlist(context, "remove"),
  },
  {
    name: "approvals doctor",
    summary: "Check that somebody can answer approval requests",
    options: [{ flags: "--running", description: "query the running gateway of the state directory" }],
    examples: ["svc approvals doctor --running", "svc approvals doctor --running --json"],
    async run(context) {
      if (context.options["running"] !== true) {
        show(context, { findings: [] }, () => ["Approvals are checked only in a running gateway."]);
        return 0;
      }
      return showFindings(context, await ask(context, ADMIN, approvalFindings));
    },
  },
]);

/** @throws GatewayError `INVALID_REQUEST`: invalid time, or conflicting options */
function allowance({ always, session, for: given }: CommandContext["options"]): QuestionAnswer {
  if (always === true && (session === true || given !== undefined))
    return invalidRequest(
      "--always grants 90 days and cannot be combined with --for or --session\nNext: svc approvals allow <id> --for 1h",
    );
  if (always === true) return { decision: "allow-always" };
  if (session !== true && given === undefined) return { decision: "allow-once" };
  const what = session === true ? "session" : "this";
  return {
    decision: "allow-always",
    grant: { for: what, ...(given !== undefined && { durationMs: timeOption(given) }) },
  };
}

function timeOption(given: unknown): number {
  const ms = typeof given === "string" ? parseDuration(given, "") : Number.NaN; // "": a bare number has no unit
  if (ms >= 60_000 && ms <= 90 * 86_400_000) return ms;
  return invalidRequest("--for takes a time from 1m to 90d; e.g. --for 1h");
}

async function decide(context: CommandContext, answer: QuestionAnswer): Promise<void> {
  const [given = ""] = context.args;
  const done = await ask(context, APPROVALS, async (client) => {
    const { approvals } = await client.call(execApproval.list, { limit: SEARCHED });
    const waiting = approvals.filter(({ status }) => status === "pending");
    const id = oneOf(
      given,
      waiting.map((row) => row.id),
      "svc approvals list",
    );
    await client.call(execApproval.resolve, { id, ...answer });
    const { command, session } = approvals.find((row) => row.id === id)?.request ?? {};
    const what = answer.grant?.for === "session" ? session : command;
    return { id, ...answer, ...(what !== undefined && { command: what }) };
  });
  const { for: time = "1h" } = context.options;
  const word = { "allow-once": "allowed once", "allow-always": "allowed always", deny: "denied" }[answer.decision];
  const how = answer.grant ? `allowed for ${visible(String(time))}` : word;
  show(context, done, ({ id, command }) => [`${how}: ${bounded(command ?? id, 300)}`]);
}

async function forget(context: CommandContext): Promise<void> {
  const [given = ""] = context.args;
  const gone = await ask(context, ADMIN, async (client) => {
    const { grants } = await client.call(execApprovals.grants, {});
    const digest = oneOf(
      given,
      grants.map((grant) => grant.digest),
      "svc approvals grants",
    );
    return client.call(execApprovals.forget, { digest });
  });
  show(context, gone, ({ digest }) => [visible(`ended the grant ${digest}; people are asked again`)]);
}

/** The known id that equals `given` or is the only one with this prefix. An unknown id is returned unchanged, so that the gateway reports it. */
function oneOf(given: string, known: readonly string[], next: string): string {
  if (given.trim() === "") return invalidRequest(`an id, or the beginning of one, is missing\nNext: ${next}`);
  const candidates = known.includes(given) ? [given] : [...new Set(known.filter((id) => id.startsWith(given)))];
  if (candidates.length > 1) {
    const some = candidates
      .slice(0, 5)
      .map((id) => bounded(id, 80))
      .join(", ");
    return invalidRequest(
      `${candidates.length} ids start with ${bounded(given, 80)}: ${some}\nNext: give more characters; ${next}`,
    );
  }
  return candidates[0] ?? given;
}

async function changeAllowlist(context: CommandContext, what: "add" | "remove"): Promise<void> {
  const words = entryWords(context);
  const agent = agentOption(context.options);
  const entry = what === "add" ? entryOf(words) : undefined;
  const shown = entry ? entryText(entry) : bounded(words.pattern, 300);
  const { before, after } = await ask(context, ADMIN, async (client) => {
    const node = await nodeNamed(client, context.options);
    const current = await readPolicy(client, node);
    const file = entry ? added(current.file, agent, entry) : removed(current.file, agent, words);
    const written = file === undefined ? current : await writePolicy(client, node, file, current.hash);
    return { before: current, after: written };
  });
  show(context, after, () => {
    if (before.hash === after.hash) return [`${shown} is already allowed; nothing changed`];
    const done = `${what === "add" ? "added" : "removed"} ${shown} for ${bounded(agent, 60)}`;
    const note = entry && allowlistNote(after.file, agent);
    return [done, ...(entry ? entryNotes(entry) : []), ...(note === undefined ? [] : [bounded(note, 500)])];
  });
}

function entryWords({ args: [pattern = "", ...args], options }: CommandContext): EntryWords {
  const [isExact, isAny] = [options["exact"] === true, options["anyArguments"] === true];
  return { pattern, args, isExact, isAny, sha256: hashOption(options["sha256"]) };
}

async function changeSecurity(context: CommandContext): Promise<void> {
  const agent = agentOption(context.options);
  const rules = {
    security: wordOption("security", context.args[0]),
    ask: wordOption("ask", context.options["ask"]),
    askFallback: wordOption("askFallback", context.options["fallback"]),
  };
  const after = await ask(context, ADMIN, async (client) => {
    const node = await nodeNamed(client, context.options);
    const current = await readPolicy(client, node);
    return writePolicy(client, node, ruledBy(current.file, agent, rules), current.hash);
  });
  show(context, after, policyLines);
}

function agentOption(options: CommandContext["options"]): string {
  const agent = options["agent"] ?? "main";
  if (typeof agent === "string" && agent.trim() !== "") return agent;
  return invalidRequest("--agent takes the id of an agent, or * for all\nNext: svc agents list");
}

function limitOption({ options }: CommandContext): number | undefined {
  const text = options["limit"];
  if (text === undefined) return undefined;
  const limit = typeof text === "string" && /^[1-9]\d{0,3}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MAX_LISTED) return limit;
  return invalidRequest(`--limit takes a whole number from 1 to ${MAX_LISTED}; e.g. --limit 20`);
}
