/** Stores a version of each change of an identity file: the gateway's own writes with their author, other changes when they are detected. */
import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { join } from "node:path";
import { diskRefusal, MAX_FILE_BYTES, readWithin, removeWithin, statWithin, writeWithin } from "@svc/kit/files";
import { type Clock, invalidRequest, type Logger, messageOf, Turns } from "@svc/sdk";
import { IDENTITY_FILES, type IdentityChange, type IdentityFile, identityFilesAt } from "@svc/sdk/agents";
import type { AgentVersions } from "../directory/admin.ts";
import type { ConfiguredAgents } from "../directory/directory.ts";
import { isSeed, prepareWorkspace } from "../directory/workspace-seed.ts";
import type { FileContent, VersionAuthor, VersionStore } from "./store.ts";

export interface VersionSources {
  readonly store: VersionStore;
  readonly agents: Pick<ConfiguredAgents, "settings" | "config">;
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "warn">;
}

/** A change by an editor, a command or another program. */
const OUTSIDE: VersionAuthor = { how: "outside" };

/** The recorded state of a file in a workspace. */
interface Standing {
  /** `undefined`: there is no such file. */
  readonly stats: Stats | undefined;
  readonly version: number;
  readonly isKept: boolean;
}

export class IdentityVersions implements AgentVersions {
  readonly #sources: VersionSources;
  /** By agent: the versions recorded before and after a write belong to that write. */
  readonly #turns = new Turns();
  /** By agent and path: the last recorded state, so that unchanged files are not read again. */
  readonly #recorded = new Map<string, { readonly signature: string } & Standing>();
  /** By agent and path: why the last version could not be stored, so that the reason is logged once. */
  readonly #failures = new Map<string, string>();

  constructor(sources: VersionSources) {
    this.#sources = sources;
  }

  async change<T>(change: IdentityChange, write: () => Promise<T>): Promise<T> {
    const { agentId, paths, ...author } = change;
    const files = IDENTITY_FILES.filter((file) => paths.some((path) => identityFilesAt(path).includes(file)));
    if (files.length === 0) return write();
    return this.#turns.take(agentId, async () => {
      await this.#tryAll(agentId, files, OUTSIDE);
      try {
        return await write();
      } finally {
        await this.#tryAll(agentId, files, author);
      }
    });
  }

  /** Records changes made outside the gateway. Never throws. */
  notice(agentId: string): Promise<void> {
    return this.#turns.take(agentId, () => this.#tryAll(agentId, IDENTITY_FILES, OUTSIDE));
  }

  created({ agentId, ...author }: Omit<IdentityChange, "paths">, workspace: string): Promise<void> {
    return this.#turns.take(agentId, () => this.#tryAll(agentId, IDENTITY_FILES, author, workspace));
  }

  /**
   * Restores a version of a file, or removes the file if the version has none. Stores the current content as a version first.
   * @returns number of the newest version afterwards: a new one, unless the file already had the wanted content
   * @throws GatewayError `NOT_FOUND` for the version; `INVALID_REQUEST` when the version or the current file is too large to keep
   * or must not be read; `CONFLICT` when another process writes the file meanwhile; `UNAVAILABLE` when the disk or storage cannot be written
   */
  restore(agentId: string, file: IdentityFile, version: number, author: VersionAuthor): Promise<number> {
    return this.#turns.take(agentId, async () => {
      const { agents, store } = this.#sources;
      const { workspace } = agents.settings(agentId);
      const wanted = await store.content(agentId, file, version);
      try {
        const root = await prepareWorkspace(workspace, agents.config.defaults);
        const { stats, isKept } = await this.#record(agentId, file, OUTSIDE, workspace);
        if (!isKept)
          invalidRequest(`${file} has more than ${MAX_FILE_BYTES} bytes and would be lost; move it away first`);
        if (wanted) await writeWithin(root, file, wanted, { mode: "kept", expected: stats ?? null });
        else if (stats) await removeWithin(root, file, stats);
        return (await this.#record(agentId, file, author, workspace)).version;
      } catch (error) {
        throw diskRefusal(error, join(workspace, file), { permissions: "UNAVAILABLE" }) ?? error;
      }
    });
  }

  forget(agentId: string): Promise<void> {
    return this.#turns.take(agentId, async () => {
      await this.#sources.store.forget(agentId);
      this.#recorded.clear();
    });
  }

  async #tryAll(agentId: string, files: readonly IdentityFile[], author: VersionAuthor, at?: string): Promise<void> {
    const { agents, log } = this.#sources;
    const workspace = at ?? agents.settings(agentId).workspace;
    for (const file of files) {
      const key = keyOf(agentId, workspace, file);
      try {
        await this.#record(agentId, file, author, workspace);
        this.#failures.delete(key);
      } catch (error) {
        const why = messageOf(error);
        if (this.#failures.get(key) !== why) {
          log.warn(
            { err: error, agentId, file },
            "the version of an identity file could not be stored; retrying at the next change or prompt",
          );
        }
        this.#failures.set(key, why);
      }
    }
  }

  /** @throws GatewayError `INVALID_REQUEST` for a file that must not be read, `UNAVAILABLE` when storage cannot write */
  async #record(agentId: string, file: IdentityFile, author: VersionAuthor, workspace: string): Promise<Standing> {
    const { store, clock } = this.#sources;
    const key = keyOf(agentId, workspace, file);
    const known = this.#recorded.get(key);
    if (known?.signature === signatureOf(await statWithin(workspace, file))) return known;
    const found = await readWithin(workspace, file, MAX_FILE_BYTES);
    const content = found && contentOf(found.bytes, found.stats.size);
    const isTemplate = author === OUTSIDE && found !== undefined && isSeed(file, found.bytes);
    const by = isTemplate ? { how: "template" } : author;
    const version = await store.add(agentId, file, content, by, clock.now());
    const isKept = content === undefined || content.bytes !== undefined;
    const standing = { signature: signatureOf(found?.stats), stats: found?.stats, version, isKept };
    this.#recorded.set(key, standing);
    return standing;
  }
}

const keyOf = (...parts: readonly string[]) => parts.join("\0");

function signatureOf(stats: Stats | undefined): string {
  return stats ? [stats.dev, stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs].join(":") : "";
}

/** @param size of the whole file; if larger than `bytes`, the content is not kept */
function contentOf(bytes: Buffer, size: number): FileContent {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { sha256, size, ...(size > bytes.length ? {} : { bytes }) };
}
