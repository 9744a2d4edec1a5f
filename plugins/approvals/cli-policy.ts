/** `svc approvals get|set|security`: the policy file of the gateway, or of a node. */
import { readFile } from "node:fs/promises";
import { EXEC_POLICY_WORDS } from "@svc/kit/exec";
import { invalidRequest, matches, notFound, Type } from "@svc/sdk";
import { execApprovals, ExecPolicyFile, ExecPolicySnapshot } from "@svc/sdk/approvals";
import type { CommandContext } from "@svc/sdk/cli";
import { nodes } from "@svc/sdk/nodes";

type Client = Awaited<ReturnType<CommandContext["connect"]>>;

/** What `svc approvals get --json` prints; the hash says which version a change was made from. */
const Printed = Type.Object({ hash: Type.String(), file: ExecPolicyFile });
/** Choice: bytes of a policy file; the gateway takes no larger one. */
const MAX_BYTES = 1024 * 1024;

/**
 * The node whose file is meant: by id, by name, or by a beginning of its id that no other has; without the option the gateway.
 * @throws GatewayError `INVALID_REQUEST` for a blank one, `NOT_FOUND` and `INVALID_REQUEST` naming what there is
 */
export async function nodeNamed(client: Client, options: CommandContext["options"]): Promise<string | undefined> {
  const given = options["node"];
  if (given === undefined) return undefined;
  const name = typeof given === "string" ? given.trim() : "";
  if (name === "") return invalidRequest("--node takes the name or id of a node\nNext: svc nodes list");
  const known = (await client.call(nodes.list, {})).nodes;
  const exact = known.filter(({ nodeId, displayName }) => nodeId === name || displayName === name);
  const fits = exact.length > 0 ? exact : known.filter(({ nodeId }) => nodeId.startsWith(name));
  if (fits.length === 1) return fits[0]?.nodeId;
  if (fits.length === 0) return notFound(`there is no node ${JSON.stringify(name.slice(0, 80))}\nNext: svc nodes list`);
  const ids = fits.slice(0, 5).map(({ nodeId }) => nodeId.slice(0, 12));
  return invalidRequest(`${fits.length} nodes fit: ${ids.join(", ")}\nNext: name one by its id; svc nodes list`);
}

/** A word of the policy; absent stays absent. @throws GatewayError `INVALID_REQUEST` naming the choices */
export function wordOption(key: keyof typeof EXEC_POLICY_WORDS, given: unknown): string | undefined {
  if (given === undefined) return undefined;
  const words: readonly string[] = EXEC_POLICY_WORDS[key];
  const word = words.find((known) => known === given);
  return word ?? invalidRequest(`${key} is ${words.join(", ")}; e.g. svc approvals security allowlist --ask on-miss`);
}

/** The file with other rules for an agent; absent ones stay. */
export function ruledBy(
  file: ExecPolicyFile,
  agentId: string,
  rules: { readonly [K in keyof typeof EXEC_POLICY_WORDS]: string | undefined },
): ExecPolicyFile {
  const said = Object.fromEntries(Object.entries(rules).filter(([, word]) => word !== undefined));
  const own = file.agents && Object.hasOwn(file.agents, agentId) ? file.agents[agentId] : {};
  return { ...file, agents: { ...file.agents, [agentId]: { ...own, ...said } } };
}

/** @throws GatewayError `UNAVAILABLE`, or `INVALID_REQUEST` when a node sends something else */
export async function readPolicy(client: Client, nodeId: string | undefined): Promise<ExecPolicySnapshot> {
  if (nodeId === undefined) return client.call(execApprovals.get, {});
  const snapshot = await client.call(execApprovals.nodeGet, { nodeId });
  if (matches(ExecPolicySnapshot, snapshot)) return snapshot;
  return invalidRequest("the node answered with something that is no policy file\nNext: update what runs on it");
}

/** @returns what stands there now */
export async function writePolicy(
  client: Client,
  nodeId: string | undefined,
  file: ExecPolicyFile,
  baseHash: string,
): Promise<ExecPolicySnapshot> {
  if (nodeId === undefined) return client.call(execApprovals.set, { file, baseHash });
  await client.call(execApprovals.nodeSet, { nodeId, file, baseHash });
  return readPolicy(client, nodeId); // nodes need not answer with it
}

/**
 * Reads `--file`: a policy file, or what `svc approvals get --json` printed, whose hash counts then.
 * @throws GatewayError `INVALID_REQUEST` saying what is wrong with it
 */
export async function givenPolicy({
  options,
  input,
}: CommandContext): Promise<{ file: ExecPolicyFile; hash?: string }> {
  const source = options["file"];
  if (typeof source !== "string" || source === "") {
    return invalidRequest(
      "--file is missing\nNext: svc approvals get --json > policy.json, edit it, then svc approvals set --file policy.json",
    );
  }
  const text = source === "-" ? await readInput(input) : await readFile(source, "utf8").catch(unreadable(source));
  const value = parse(text, source === "-" ? "standard input" : source);
  if (matches(Printed, value)) return { file: value.file, hash: value.hash };
  if (matches(ExecPolicyFile, value)) return { file: value };
  return invalidRequest(`${source} is no policy file\nNext: svc approvals get --json shows one`);
}

function unreadable(source: string) {
  return (error: NodeJS.ErrnoException): never =>
    invalidRequest(
      `${source} cannot be read (${error.code ?? error.message})\nNext: name another file, or - for standard input`,
    );
}

function parse(text: string, name: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return invalidRequest(`${name} is not JSON\nNext: correct it; svc approvals get --json shows how it looks`);
  }
}

async function readInput(input: CommandContext["input"]): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > MAX_BYTES)
      invalidRequest(`standard input has more than ${MAX_BYTES} bytes\nNext: give it a policy file`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}
