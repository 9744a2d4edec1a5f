/** `svc agents files log|diff|restore`. */
import { invalidRequest, type ResultOf } from "@svc/sdk";
import { agents, isIdentityFile } from "@svc/sdk/agents";
import { askingWith, type CommandContext, show, table, time, visible } from "@svc/sdk/cli";
import { detailsCode } from "@svc/sdk/errors";

const READ = ["operator.read"];
const ADMIN = ["operator.read", "operator.admin"];
/** Largest page; a file never has more versions. */
const LISTED = 500;

const ask = askingWith({
  plugin: "agents",
  step(refusal) {
    if (refusal.code !== "NOT_FOUND") return undefined;
    return detailsCode(refusal) === "UNKNOWN_AGENT" ? "svc agents list" : "svc agents files log";
  },
});

type Verb = (context: CommandContext) => Promise<void>;

/**
 * The command for `svc agents files <first> <rest...>`, if it is one about versions. The agent may be omitted, since no
 * agent id equals the name of such a file.
 * @throws GatewayError `INVALID_REQUEST` for a version that is not a number
 */
export function versionVerb(first: string, rest: readonly string[]): Verb | undefined {
  const [agentId, ...words] = rest;
  const hasAgent = agentId !== undefined && !isIdentityFile(agentId);
  const agent = hasAgent ? { agentId } : {};
  const [name, ...versions] = hasAgent ? words : rest;
  if (first === "log" && versions.length === 0) return (context) => log(context, { ...agent, ...named(name) });
  if (name === undefined) return undefined;
  const [one, two] = versions;
  if (first === "diff" && versions.length <= 2) {
    const range = {
      ...(one === undefined ? {} : { from: versionOf(one) }),
      ...(two === undefined ? {} : { to: versionOf(two) }),
    };
    return (context) => diff(context, { ...agent, name, ...range });
  }
  if (first === "restore" && one !== undefined && versions.length === 1) {
    return (context) => restore(context, { ...agent, name, version: versionOf(one) });
  }
  return undefined;
}

const named = (name: string | undefined) => (name === undefined ? {} : { name });

function versionOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  return invalidRequest(`"${visible(text)}" is not a version number\nNext: svc agents files log`);
}

async function log(context: CommandContext, params: { agentId?: string; name?: string }): Promise<void> {
  await ask(context, READ, async (client) =>
    show(context, await client.call(agents.filesLog, { ...params, limit: LISTED }), logLines),
  );
}

async function diff(
  context: CommandContext,
  params: { agentId?: string; name: string; from?: number; to?: number },
): Promise<void> {
  await ask(context, READ, async (client) => show(context, await client.call(agents.filesDiff, params), diffLines));
}

async function restore(
  context: CommandContext,
  params: { agentId?: string; name: string; version: number },
): Promise<void> {
  await ask(context, ADMIN, async (client) =>
    show(context, await client.call(agents.filesRestore, params), ({ file, version }) => [
      `${visible(file.path)} was ${file.missing ? "removed" : "restored"}, as in version ${params.version}; the newest version is ${version}`,
    ]),
  );
}

function logLines({ agentId, versions }: ResultOf<typeof agents.filesLog>): readonly string[] {
  if (versions.length === 0) return [`No versions of files of agent ${visible(agentId)} are stored yet`];
  return table(
    versions.map(({ name, version, at, how, principal, sessionKey, size, isKept }) => [
      visible(name),
      String(version),
      time(at),
      size === undefined ? "no file" : `${size} bytes${isKept ? "" : " (not kept)"}`,
      visible(how),
      visible([principal?.id, sessionKey].filter(Boolean).join(" in ")),
    ]),
  );
}

function diffLines({ name, from, to, diff: text }: ResultOf<typeof agents.filesDiff>): readonly string[] {
  if (text === "") return [`Versions ${from} and ${to} of ${visible(name)} are equal`];
  return text.replace(/\n$/, "").split("\n").map(visibleLine);
}

/** Keeps tabs: they only move the column. */
const visibleLine = (line: string) => line.split("\t").map(visible).join("\t");
