/** `svc approvals get|set|security`: reads and writes the policy file of the gateway or of a node. */
import { readFile } from "node:fs/promises";
import { EXEC_POLICY_WORDS } from "@svc/kit/exec";
import { invalidRequest, matches, notFound, Type } from "@svc/sdk";
import { execApprovals, ExecPolicyFile, ExecPolicySnapshot } from "@svc/sdk/approvals";
import type { CommandContext } from "@svc/sdk/cli";
import { nodes } from "@svc/sdk/nodes";

type Client = Awaited<ReturnType<CommandContext["connect"]>>;

/** Output of `svc approvals get --json`; the hash identifies the version that a change is based on. */
const Printed = Type.Object({ hash: Type.String(), file: ExecPolicyFile });
/** Choice: maximum bytes of a policy file, as in the gateway. */
const MAX_BYTES = 1024 * 1024;

/**
 * The node given with `--node`: its id, its name, or a unique prefix of its id. Without the option: `undefined`, the gateway.
 * @throws GatewayError `INVALID_REQUEST`: blank or ambiguous; `NOT_FOUND`: no such node
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
  if (fits.length === 0) return notFound(`no node ${JSON.stringify(name.slice(0, 80))}\nNext: svc nodes list`);
  const ids = fits.slice(0, 5).map(({ nodeId }) => nodeId.slice(0, 12));
  return invalidRequest(`${fits.length} nodes match: ${ids.join(", ")}\nNext: give the id of one; svc nodes list`);
}

/** A value of a policy key; absent stays absent. @throws GatewayError `INVALID_REQUEST` naming the choices */
export function wordOption(key: keyof typeof EXEC_POLICY_WORDS, given: unknown): string | undefined {
  if (given === undefined) return undefined;
  const words: readonly string[] = EXEC_POLICY_WORDS[key];
  const word = words.find((known) => known === given);
  return (
    word ??
    invalidRequest(`${key} must be one of ${words.join(", ")}; e.g. svc approvals security allowlist --ask on-miss`)
  );
}

/** The file with changed rules of an agent; rules that are absent here stay. */
export function ruledBy(
  file: ExecPolicyFile,
  agentId: string,
  rules: { readonly [K in keyof typeof EXEC_POLICY_WORDS]: string | undefined },
): ExecPolicyFile {
  const said = Object.fromEntries(Object.entries(rules).filter(([, word]) => word !== undefined));
  const own = file.agents && Object.hasOwn(file.agents, agentId) ? file.agents[agentId] : {};
  return { ...file, agents: { ...file.agents, [agentId]: { ...own, ...said } } };
}

/** @throws GatewayError `UNAVAILABLE`; `INVALID_REQUEST`: the node sent no valid policy file */
export async function readPolicy(client: Client, nodeId: string | undefined): Promise<ExecPolicySnapshot> {
  if (nodeId === undefined) return client.call(execApprovals.get, {});
  const snapshot = await client.call(execApprovals.nodeGet, { nodeId });
  if (matches(ExecPolicySnapshot, snapshot)) return snapshot;
  return invalidRequest("the node did not return a policy file\nNext: update the program on the node");
}

/** @returns the file after the write */
export async function writePolicy(
  client: Client,
  nodeId: string | undefined,
  file: ExecPolicyFile,
  baseHash: string,
): Promise<ExecPolicySnapshot> {
  if (nodeId === undefined) return client.call(execApprovals.set, { file, baseHash });
  await client.call(execApprovals.nodeSet, { nodeId, file, baseHash });
  return readPolicy(client, nodeId); // nodes need not return the new file
}

/**
 * Reads `--file`: a policy file, or the output of `svc approvals get --json`, whose hash is then used.
 * @throws GatewayError `INVALID_REQUEST` with the reason
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
  return invalidRequest(`${source} is not a policy file\nNext: svc approvals get --json prints a valid one`);
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
    return invalidRequest(`${name} is not JSON\nNext: correct it; svc approvals get --json prints a valid file`);
  }
}

async function readInput(input: CommandContext["input"]): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > MAX_BYTES) invalidRequest(`standard input has more than ${MAX_BYTES} bytes\nNext: pass a policy file`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}
