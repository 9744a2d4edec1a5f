/**
 * A command as one value: what people see, what is bound and what runs all derive from it. Pure except for the hash.
 * Spec: protocol/methods-node.md §4, methods-exec-approvals.md §2.
 */
import { commandText } from "@svc/sdk/cli";
import { createHash } from "node:crypto";
import type { BoundFile, SystemRunPlan } from "@svc/sdk/approvals";

/** Everything an approval is bound to. */
export interface BoundPlan extends Pick<SystemRunPlan, "argv" | "cwd" | "agentId" | "sessionKey"> {
  /** Hash of the added environment, see `envHash`; `null` without one. */
  readonly envHash: string | null;
  /** Where it runs: a node id, or `null` for this machine. */
  readonly nodeId: string | null;
  /** File contents, sorted by path. Default: none are bound. */
  readonly files?: readonly BoundFile[];
}

export { commandText };

const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "zsh", "dash", "ksh"]);
const INLINE = /^-[a-z]*c$/;

/** Texts by which a client may refer to this command: the command itself, and for `sh -c <text>` that text. */
export function commandTexts(argv: readonly string[]): readonly string[] {
  const [program = "", flag = "", script, ...rest] = argv;
  const name = program.split("/").at(-1) ?? "";
  const isInline = SHELLS.has(name) && INLINE.test(flag) && script !== undefined && rest.length === 0;
  return [commandText(argv), doubleQuoted(argv), ...(isInline ? [script] : [])];
}

/** The format of existing clients: words with blanks or quotes in double quotes. */
function doubleQuoted(argv: readonly string[]): string {
  return argv.map((word) => (word === "" || /[\s"]/.test(word) ? `"${word.replaceAll('"', '\\"')}"` : word)).join(" ");
}

/** Hash of added environment variables: hex SHA-256 of the JSON of the sorted pairs; `null` for none. */
export function envHash(env: Readonly<Record<string, string>> | undefined): string | null {
  const pairs = Object.entries(env ?? {}).sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
  return pairs.length === 0 ? null : createHash("sha256").update(JSON.stringify(pairs)).digest("hex");
}

/** Key under which an approval of this plan is stored: hex SHA-256. Two plans share it only if nothing differs. */
export function planDigest({ argv, cwd, agentId, sessionKey, envHash: env, nodeId, files = [] }: BoundPlan): string {
  const contents = files.map(({ path, sha256 }) => [path, sha256]);
  const parts = [argv, cwd, env, agentId, sessionKey, nodeId, ...(contents.length > 0 ? [contents] : [])];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
