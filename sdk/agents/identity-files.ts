/** The files that define an agent's identity, and the `IdentityFiles` service, which stores their versions. */
import { posix } from "node:path";
import type { Principal } from "../principal.ts";
import { defineService } from "../service.ts";

/**
 * Names of the identity files, in the root of an agent's workspace. Most of them are included in the prompt as the
 * agent's own instructions. Spec: protocol/methods-agent.md §6.
 */
export const IDENTITY_FILES = [
  "AGENTS.md",
  "SOUL.md",
  "TOOLS.md",
  "IDENTITY.md",
  "USER.md",
  "HEARTBEAT.md",
  "BOOTSTRAP.md",
  "MEMORY.md",
  "memory.md",
] as const;

/** Name of an identity file. */
export type IdentityFile = (typeof IDENTITY_FILES)[number];

/**
 * The identity files that a write to this path can change; empty: none. Spellings that some file systems treat as the
 * same name always match: other letter case, other Unicode compositions, invisible characters, and trailing dots,
 * blanks and slashes.
 * @param path relative to the root of the workspace, links resolved by the caller, e.g. `AGENTS.md`,
 * `./notes/../agents.md`
 */
export function identityFilesAt(path: string): readonly IdentityFile[] {
  const name = folded(path);
  return IDENTITY_FILES.filter((file) => folded(file) === name);
}

/** Whether a write to this path can change an identity file. @param path as in `identityFilesAt` */
export function isIdentityFile(path: string): boolean {
  return identityFilesAt(path).length > 0;
}

/** Converts to upper case first: some letters have more than one lower case form, e.g. `s` and `ſ`. */
function folded(path: string): string {
  const name = posix.normalize(path.replaceAll("\\", "/").replaceAll(/\p{Default_Ignorable_Code_Point}/gu, ""));
  return name
    .replace(/[./ ]+$/, "")
    .normalize("NFC")
    .toUpperCase()
    .toLowerCase();
}

/** A change of identity files: who makes it, and how. */
export interface IdentityChange {
  readonly agentId: string;
  /** Paths below the root of the workspace; paths of other files are ignored. */
  readonly paths: readonly string[];
  /** Name of the tool or method, e.g. `write`, `agents.files.set`. */
  readonly how: string;
  readonly principal: Pick<Principal, "id" | "provenance">;
  readonly sessionKey?: string;
  readonly runId?: string;
}

/** Version history of the identity files of all agents. */
export interface IdentityFiles {
  /**
   * Runs `write` and stores the content of these files before and after it, even if `write` fails. Changes of one
   * agent's files run one after the other; do not call this method from within `write`. If a version cannot be stored,
   * an error is logged and the write proceeds; the next prompt of the agent then records the change as made outside.
   * @returns the result of `write` @throws the error of `write`
   */
  change<T>(change: IdentityChange, write: () => Promise<T>): Promise<T>;
}

/** Token of the service. */
export const IdentityFiles = defineService<IdentityFiles>()("agent.identity-files", "1.0.0", {
  summary:
    "Records versions of identity files. Provided by the plugin `agents`; used by every plugin that writes files of a workspace.",
});
