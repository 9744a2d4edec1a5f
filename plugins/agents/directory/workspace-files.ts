/** The files of a workspace that clients may read and write. Spec: protocol/methods-agent.md §6. */
import { type Stats } from "node:fs";
import { join } from "node:path";
import { baseOf, contentHash, diskRefusal, readWithin, statWithin, writeWithin } from "@svc/kit/files";
import { invalidRequest, isGatewayError, type ResultOf } from "@svc/sdk";
import { type agents, IDENTITY_FILES, type IdentityFile } from "@svc/sdk/agents";
import { prepareWorkspace, type SeedOptions } from "./workspace-seed.ts";

/** A file as reported to clients. */
type FileReport = ResultOf<typeof agents.filesGet>["file"];

/** Accepts exact names only: not `agents.md` or `./AGENTS.md`. @throws GatewayError `INVALID_REQUEST` */
export function allowedName(name: string): IdentityFile {
  const known = IDENTITY_FILES.find((allowed) => allowed === name);
  return (
    known ?? invalidRequest(`this file cannot be read or written here; allowed names: ${IDENTITY_FILES.join(", ")}`)
  );
}

function report(workspace: string, name: string, stats: Stats | undefined): FileReport {
  const path = join(workspace, name);
  if (!stats) return { name, path, missing: true };
  return { name, path, missing: false, size: stats.size, updatedAtMs: Math.floor(stats.mtimeMs) };
}

/**
 * In the order of `IDENTITY_FILES`, one memory file last. Choice: a file that must not be read (a link, a FIFO) is listed
 * as missing, so that it does not hide the others; `readFile` reports the reason.
 * Choice: onboarding is over when a workspace has other files but no `BOOTSTRAP.md`.
 */
export async function listFiles(workspace: string): Promise<FileReport[]> {
  const found = new Map<IdentityFile, FileReport>();
  for (const name of IDENTITY_FILES) {
    const stats = await statWithin(workspace, name).catch((error: unknown) => {
      if (isGatewayError(error)) return undefined;
      throw error;
    });
    found.set(name, report(workspace, name, stats));
  }
  const isMissing = (name: IdentityFile) => found.get(name)?.missing ?? true;
  const isOnboarded = isMissing("BOOTSTRAP.md") && !IDENTITY_FILES.every(isMissing);
  const otherMemory = isMissing("MEMORY.md") && !isMissing("memory.md") ? "MEMORY.md" : "memory.md";
  return [...found.values()].filter(({ name }) => name !== otherMemory && !(isOnboarded && name === "BOOTSTRAP.md"));
}

/** @throws GatewayError `INVALID_REQUEST` for a name that is not allowed, and as `readWithin` */
export async function readFile(workspace: string, name: string): Promise<FileReport> {
  const allowed = allowedName(name);
  const file = await readWithin(workspace, allowed);
  const row = report(workspace, allowed, file?.stats);
  return file ? { ...row, content: file.bytes.toString("utf8"), hash: contentHash(file.bytes) } : row;
}

/**
 * Durable when it resolves. Creates a missing workspace with its first files.
 * @param options.baseHash as `baseOf`. Default: any content is replaced
 * @throws GatewayError `INVALID_REQUEST` for a name that is not allowed, and as `writeWithin`; `CONFLICT` as `baseOf`; `UNAVAILABLE`
 * when the disk cannot be written
 */
export async function writeFile(
  workspace: string,
  name: string,
  content: string,
  { baseHash, ...seed }: SeedOptions & { readonly baseHash?: string | undefined },
): Promise<FileReport> {
  const allowed = allowedName(name);
  try {
    // Before the workspace gets its first files: a template is no change by another writer.
    const expected = baseHash === undefined ? undefined : await baseOf(workspace, allowed, baseHash);
    const real = await prepareWorkspace(workspace, seed);
    const stats = await writeWithin(real, allowed, content, expected && { expected });
    return { ...report(workspace, allowed, stats), content, hash: contentHash(content) };
  } catch (error) {
    throw diskRefusal(error, join(workspace, allowed), { permissions: "UNAVAILABLE" }) ?? error;
  }
}
