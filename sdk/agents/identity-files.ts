/** The files that say who an agent is, and the `IdentityFiles` service, which keeps their versions. */
import { posix } from "node:path";
import type { Principal } from "../principal.ts";
import { defineService } from "../service.ts";

/**
 * Names of the identity files, in the root of an agent's workspace. Most of them stand in the prompt as the agent's own
 * instructions. Spec: protocol/methods-agent.md §6.
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
 * The identity files that a write to this path can change; empty: none. Spellings that some file systems take for the same
 * name count everywhere: another case, other compositions of accents, characters that cannot be seen, dots, blanks and
 * slashes at the end.
 * @param path relative to the root of the workspace, links resolved by the caller, e.g. `AGENTS.md`, `./notes/../agents.md`
 */
export function identityFilesAt(path: string): readonly IdentityFile[] {
  const name = folded(path);
  return IDENTITY_FILES.filter((file) => folded(file) === name);
}

/** Whether a write to this path can change an identity file. @param path as `identityFilesAt` */
export function isIdentityFile(path: string): boolean {
  return identityFilesAt(path).length > 0;
}

/** Upper case first: some letters have more than one lower case form, e.g. `s` and `ſ`. */
function folded(path: string): string {
  const name = posix.normalize(path.replaceAll("\\", "/").replaceAll(/\p{Default_Ignorable_Code_Point}/gu, ""));
  return name
    .replace(/[./ ]+$/, "")
    .normalize("NFC")
    .toUpperCase()
    .toLowerCase();
}

/** Who changes identity files, and by what. */
export interface IdentityChange {
  readonly agentId: string;
  /** Paths below the root of the workspace; those that are no identity files are ignored. */
  readonly paths: readonly string[];
  /** Name of the tool or method, e.g. `write`, `agents.files.set`. */
  readonly how: string;
  readonly principal: Pick<Principal, "id" | "provenance">;
  readonly sessionKey?: string;
  readonly runId?: string;
}

/** Versions of the identity files of all agents. */
export interface IdentityFiles {
  /**
   * Runs `write` and keeps what stood in these files before it and what stands there afterwards, also when it fails. Changes
   * of one agent's files run one after the other; do not call it from within `write`. A version that cannot be kept is
   * logged: the write goes on, and the next prompt of the agent records the change as made outside.
   * @returns what `write` returns @throws what `write` throws
   */
  change<T>(change: IdentityChange, write: () => Promise<T>): Promise<T>;
}

/** Versions of identity files. Provided by the plugin `agents`. */
export const IdentityFiles = defineService<IdentityFiles>()("agent.identity-files", "1.0.0");
